package record

import (
	"math"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
)

// StoreCosts holds what the writes in the window cost the members, summed over all members, in
// total and per key. Unknown costs are null.
type StoreCosts struct {
	// KeysWritten counts the keys that operations done in the window wrote or deleted. UserBytes is
	// the size of these keys and values.
	KeysWritten *uint64 `json:"keys_written,omitempty"`
	UserBytes   *uint64 `json:"user_bytes_written,omitempty"`
	// Written is the number of bytes that the members' processes wrote to disk.
	Written *int64 `json:"store_written_bytes,omitempty"`
	// Amplification is Written / UserBytes.
	Amplification *float64 `json:"write_amplification,omitempty"`
	// DatabaseGrowth is the growth of the members' databases on disk, and RSSGrowth the growth of
	// their resident memory. DiskPerKey and RSSPerKey are these numbers divided by KeysWritten, if
	// above 0.
	DatabaseGrowth *int64   `json:"store_database_growth_bytes,omitempty"`
	RSSGrowth      *int64   `json:"store_rss_growth_bytes,omitempty"`
	DiskPerKey     *float64 `json:"store_database_bytes_per_key,omitempty"`
	RSSPerKey      *float64 `json:"store_rss_bytes_per_key,omitempty"`
}

// storeCosts returns the costs of a trial whose counts have been set. Written is not known if the
// data is on a file system in memory, because the system counts no disk writes there.
func (t *Trial) storeCosts(o *Observed, m *measure.Totals) (c StoreCosts) {
	if !t.hasKind(kv.Kind.Writes) {
		return c
	}
	keys, bytes := t.written(m)
	c.KeysWritten, c.UserBytes, c.DatabaseGrowth = &keys, &bytes, o.DatabaseGrowth
	if s := o.Store; s != nil {
		c.RSSGrowth = &s.GrowthRSSBytes
		if t.Durability == nil || !t.Durability.Volatile {
			c.Written = s.WrittenBytes
		}
	}
	if c.Written != nil && bytes > 0 {
		c.Amplification = new(float64(*c.Written) / float64(bytes))
	}
	perKey := func(growth *int64) *float64 {
		if growth == nil || *growth <= 0 || keys == 0 {
			return nil
		}
		return new(float64(*growth) / float64(keys))
	}
	c.DiskPerKey, c.RSSPerKey = perKey(c.DatabaseGrowth), perKey(c.RSSGrowth)
	return c
}

// written returns the number of keys that the window's operations wrote, and their bytes. Kinds of
// operations are counted in the second in which they were due, but disk writes are observed from
// the start to the end of the window. The result is therefore scaled to the number of operations
// done in the window.
func (t *Trial) written(m *measure.Totals) (keys, bytes uint64) {
	var of [kv.NumKinds]uint64
	for _, c := range m.Cells {
		of[c.Kind] += count(c.Response)
	}
	of[kv.CAS] -= min(of[kv.CAS], m.Outcomes[kv.Conflict])
	of[kv.Delete] -= min(of[kv.Delete], m.Missed[kv.Delete])
	of[kv.Txn] *= uint64(max(t.TxnKeys, 0))
	if t.STM != nil {
		of[kv.STM] *= uint64(max(t.STM.KeysPerTxn*t.STM.WritePercent/100, 0))
	}
	keySize, valueSize := uint64(max(len(t.Prefix)+t.KeySize, 0)), uint64(max(t.ValueSize, 0))
	for kind, n := range of {
		switch kind := kv.Kind(kind); {
		case !kind.Writes():
		case kind == kv.Delete:
			keys, bytes = keys+n, bytes+n*keySize
		default:
			keys, bytes = keys+n, bytes+n*(keySize+valueSize)
		}
	}
	if t.Operations == 0 {
		return keys, bytes
	}
	done := float64(t.Completed) / float64(t.Operations)
	return uint64(math.Round(done * float64(keys))), uint64(math.Round(done * float64(bytes)))
}
