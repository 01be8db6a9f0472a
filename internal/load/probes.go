package load

import (
	"fmt"
	"slices"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
)

// ProbeName follows the prefix in the names of the keys that probes use. The key space contains no
// such key.
const ProbeName = "quorumbench-probe"

// ProbeKey returns the key that a load's probes use. If a probe uses several keys, all of them
// begin with this key.
func ProbeKey(prefix string) []byte { return []byte(prefix + ProbeName) }

// Lease is a granted lease. Name is empty if the store does not name leases.
type Lease struct {
	ID   int64
	Name string
}

// ProbeOperations returns one operation of each form that the load sends. The values have the
// load's size, and the keys are outside the key space. Writes come first, so that reads find a key,
// and the delete comes last. Operations that need a lease use the given lease. An application or a
// recording has no probes, because it defines its operations one by one.
func ProbeOperations(l *scenario.Load, capabilities kv.Capabilities, lease Lease) (ops []store.Op, err error) {
	if l.Arrival == scenario.Recorded {
		return nil, nil
	}
	mix := slices.Clone(l.Mix)
	if l.Preload && l.WritesKeys() {
		mix = append(mix, scenario.Operation{Kind: kv.Put}, scenario.Operation{Kind: kv.Get, Consistency: capabilities.Strongest()})
	}
	for i := range mix {
		mix[i].Weight = 1
	}
	slices.SortStableFunc(mix, func(a, b scenario.Operation) int { return probeRank(a.Kind) - probeRank(b.Kind) })
	for i, o := range mix {
		if slices.Contains(mix[:i], o) {
			continue
		}
		op, err := newProbe(l, o, lease)
		if err != nil {
			return nil, err
		}
		ops = append(ops, op)
	}
	if w := l.Watch; w != nil {
		op := store.Op{Kind: kv.Watch, Key: ProbeKey(l.Prefix), Watch: &store.WatchOp{PrevKV: w.PrevKV, Mode: w.Mode}}
		if w.KeysPerWatcher > 1 {
			op.Watch.End = append(ProbeKey(l.Prefix), 0)
		}
		ops = append(ops, op)
	}
	return ops, nil
}

// probeRank returns a number by which probes are sorted: first puts, then other writes, reads, and
// deletes.
func probeRank(k kv.Kind) int {
	switch {
	case k == kv.Put:
		return 0
	case k == kv.Delete:
		return 3
	case k.Writes():
		return 1
	}
	return 2
}

// newProbe returns the first operation that the load would send if its mix contained only o. The
// probes' keys replace the keys of the operation.
func newProbe(l *scenario.Load, o scenario.Operation, lease Lease) (op store.Op, err error) {
	singleLoad := *l
	singleLoad.Mix = []scenario.Operation{o}
	src, err := newSource(&singleLoad)
	if err != nil {
		return op, err
	}
	src.stm, src.loops = stmSettings(l), 1
	if lease.ID != 0 {
		src.leases = []int64{lease.ID}
		if lease.Name != "" {
			src.names = [][]byte{[]byte(lease.Name)}
		}
	}
	src.Fill(measure.Measured, 0, 0, &op)
	key := ProbeKey(l.Prefix)
	if op.Key != nil {
		op.Key = key
	}
	pairs := op.Pairs
	if op.STM != nil {
		pairs = op.STM.Pairs
	}
	for i := range pairs {
		pairs[i].Key = fmt.Appendf(nil, "%s-%d", key, i)
	}
	if r := op.Range; r != nil {
		if r.Keys = nil; len(r.End) > 0 {
			r.End = append(ProbeKey(l.Prefix), 0)
		}
	}
	return op, nil
}

// ProbeKeys returns the keys that a probe writes.
func ProbeKeys(op *store.Op) (keys []string) {
	if !op.Kind.Writes() {
		return nil
	}
	pairs := op.Pairs
	if op.STM != nil {
		pairs = op.STM.Pairs
	}
	for i := range pairs {
		keys = append(keys, string(pairs[i].Key))
	}
	if len(pairs) == 0 && len(op.Key) > 0 {
		keys = append(keys, string(op.Key))
	}
	return keys
}
