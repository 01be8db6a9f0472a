package record

import (
	"math"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
)

// StoreCosts holds the costs that the writes in the window caused at the members: in total and per
// key, summed over all members. Costs that are not known are null.
type StoreCosts struct {
	// KeysWritten is the number of keys that the operations done in the window wrote or deleted.
	// UserBytes is the total size of these keys and their values.
	KeysWritten *uint64 `json:"keys_written,omitempty"`
	UserBytes   *uint64 `json:"user_bytes_written,omitempty"`
	// Written is the number of bytes that the members' processes wrote to disk.
	Written *int64 `json:"store_written_bytes,omitempty"`
	// Amplification is Written / UserBytes.
	Amplification *float64 `json:"write_amplification,omitempty"`
	// DatabaseGrowth is the growth of the members' databases on disk, and RSSGrowth is the growth
	// of their resident memory. DiskPerKey and RSSPerKey are these numbers divided by KeysWritten.
	// They are null if there was no growth.
	DatabaseGrowth *int64   `json:"store_database_growth_bytes,omitempty"`
	RSSGrowth      *int64   `json:"store_rss_growth_bytes,omitempty"`
	DiskPerKey     *float64 `json:"store_database_bytes_per_key,omitempty"`
	RSSPerKey      *float64 `json:"store_rss_bytes_per_key,omitempty"`
}

// storeCosts returns the costs of a trial. The counts of the trial must be set. If the data is in a
// file system in memory, Written is not known, because the system counts no disk writes there.
func (t *Trial) storeCosts(o *Observed, m *measure.Totals) (c StoreCosts) {
	if !t.HasKind(kv.Kind.Writes) {
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

// written returns the number of keys that the operations in the window wrote, and the size of these
// keys and values. Operations of each kind are counted by the time at which they were due. Disk
// writes, however, are measured from the start to the end of the window. Therefore, the results are
// scaled to the number of operations that were done in the window.
func (t *Trial) written(m *measure.Totals) (keys, bytes uint64) {
	var of [kv.NumKinds]uint64
	for _, c := range m.Cells {
		of[c.Kind] += measure.Count(c.Response)
	}
	of[kv.CAS] -= min(of[kv.CAS], m.Outcomes[kv.Conflict])
	of[kv.Delete] -= min(of[kv.Delete], m.Misses[kv.Delete])
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
