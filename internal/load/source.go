package load

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/engine"
	"github.com/quorumbench/quorumbench/internal/load/keys"
	"github.com/quorumbench/quorumbench/internal/load/watch"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Operation numbers start at 0 in each phase. The numbers that values contain are marked with
// warmupMark or preloadMark to distinguish the phases. The number of operations in a phase is
// always below these marks.
const (
	warmupMark  = 1 << 40
	preloadMark = 1 << 41
)

// source generates a load's operations for one loop. The kind and the key of an operation depend
// only on the seed and the operation's number. The value also contains the number of the client.
type source struct {
	load     *scenario.Load
	space    keys.Space
	values   *keys.Values
	mixes    [2]keys.Mix // by phase
	shares   []engine.Share
	choosers [2]keys.Chooser // by phase
	end      []byte          // end of the key space, for ranges inside it
	// versions is shared by all loops. It is nil if the load has no compare-and-sets.
	versions  *keys.Versions
	pairs     []store.Pair // writes of a transaction; reused memory
	stm       *scenario.STM
	stmPairs  []store.Pair // keys of an STM; reused memory
	stmKeys   []uint64     // numbers of the keys in stmPairs
	stmValues [][]byte     // values that the STM writes
	lock      []byte       // name of the STM's lock
	leases    []int64      // leases of this loop's clients; in an open loop, all leases
	names     [][]byte     // names of the leases, if leases have names
	loops     uint64
	stmReads  store.STMObserver // records what STMs read and commit; may be nil
	board     *watch.Board      // shared with the watchers; nil if there are none

	answers      answers // checks replies
	allKeysExist bool    // all keys of the key space exist during the whole load

	// Memory that all operations reuse.
	key, value []byte
	rangeOp    store.RangeOp
	stmOp      store.STMOp
}

// newSource returns the source for a loop. It returns an error if the key size is too small for
// distinct keys.
func newSource(l *scenario.Load) (*source, error) {
	space, err := keys.NewSpace(l.Prefix, l.KeySize, l.KeySpace)
	if err != nil {
		return nil, err
	}
	s := &source{load: l, space: space, values: keys.NewValues(l.ValueSize, keys.DeriveSeed(l.Seed, "values"))}
	for phase, use := range map[measure.Phase]string{measure.Warmup: "warm-up", measure.Measured: "measured"} {
		seed := keys.DeriveSeed(l.Seed, use)
		s.mixes[phase] = keys.NewMix(l.Mix, keys.DeriveSeed(seed, "mix"))
		s.choosers[phase] = newChooser(l.Distribution, space.N(), keys.DeriveSeed(seed, "keys"))
	}
	s.shares = mixShares(&s.mixes[0], l.Mix)
	for _, o := range l.Mix {
		if o.Kind == kv.Txn {
			s.pairs = make([]store.Pair, l.TxnKeys)
		}
	}
	s.end = append(space.Append(nil, space.N()-1), 0)
	s.answers = newAnswers(s)
	return s, nil
}

// newChooser returns the chooser for a distribution over n keys.
func newChooser(d scenario.Distribution, n, seed uint64) keys.Chooser {
	switch d.Name {
	case "uniform":
		return keys.Uniform{N: n, Seed: seed}
	case "zipfian":
		return keys.NewZipfian(n, d.Theta, seed)
	case "hotspot":
		return keys.NewHotspot(n, d.HotKeys, d.HotOps, seed)
	}
	return keys.Sequential{N: n}
}

// Fill implements engine.Source.
func (s *source) Fill(phase measure.Phase, n uint64, client uint32, op *store.Op) uint64 {
	operation := s.mixes[phase].Operation(n)
	number := s.choosers[phase].Choose(n)
	switch operation.Kind {
	case kv.STM:
		*op = store.Op{Kind: kv.STM}
		s.fillSTM(phase, n, client, op)
		return number
	case kv.KeepAlive:
		*op = store.Op{Kind: kv.KeepAlive, Lease: s.leaseFor(n, client), LeaseName: s.leaseNameFor(n, client)}
		return number
	}
	if phase == measure.Warmup {
		n |= warmupMark
	}
	s.fill(operation, number, n, client, op)
	return encodeRef(number, op.Consistency)
}

// Kind implements engine.Source.
func (s *source) Kind(phase measure.Phase, n uint64) (kv.Kind, kv.Consistency) {
	what := s.mixes[phase].Operation(n)
	return what.Kind, operationLevel(what)
}

// Shares implements engine.Source.
func (s *source) Shares(measure.Phase) []engine.Share {
	return s.shares
}

// mixShares returns the shares of the operations in a mix.
func mixShares(m *keys.Mix, operations []scenario.Operation) (shares []engine.Share) {
	for i, fraction := range m.Shares() {
		what := &operations[i]
		shares = append(shares, engine.Share{Kind: what.Kind, Consistency: operationLevel(what), Fraction: fraction})
	}
	return shares
}

// operationLevel returns the consistency that Fill sets for an operation.
func operationLevel(operation *scenario.Operation) kv.Consistency {
	if operation.Kind == kv.STM || operation.Kind == kv.KeepAlive {
		return kv.NoConsistency
	}
	return operation.Consistency
}

// levelShift is the position of the consistency in a reference. The lower bits contain the key's
// number, which always fits.
const levelShift = 62

// encodeRef returns the reference that identifies an operation's key and consistency.
func encodeRef(number uint64, level kv.Consistency) uint64 {
	return number | uint64(level)<<levelShift
}

// keyAndLevel decodes a reference that encodeRef returned.
func keyAndLevel(ref uint64) (number uint64, level kv.Consistency) {
	return ref & (1<<levelShift - 1), kv.Consistency(ref >> levelShift)
}

// fill sets op to an operation on the key with the given number.
func (s *source) fill(operation *scenario.Operation, number, n uint64, client uint32, op *store.Op) {
	s.key = s.space.Append(s.key[:0], number)
	*op = store.Op{Kind: operation.Kind, Consistency: operation.Consistency, Key: s.key}
	if operation.Kind.HasValue() {
		s.value = s.values.Append(s.value[:0], s.key, client, n)
		op.Value = s.value
	}
	switch operation.Kind {
	case kv.CAS:
		op.Revision = keys.Unknown
		if s.versions != nil {
			op.Revision = s.versions.Get(number)
		}
	case kv.Txn:
		op.Pairs = s.fillPairs(number, n, client)
	case kv.Range, kv.TxnGet:
		how := &s.load.Scan
		first, end := s.interval()
		s.rangeOp = store.RangeOp{
			End: end, Limit: s.load.RangeLimit, PageSize: how.PageSize,
			CountOnly: how.CountOnly, KeysOnly: how.KeysOnly, Streamed: how.Streamed,
		}
		if op.Range = &s.rangeOp; first != nil {
			op.Key = first
		}
		if len(end) > 0 {
			s.rangeOp.Keys = &s.answers.listings
		}
	}
}

// fillPairs returns the writes of a transaction. They apply to the chosen key and the keys that
// follow it.
func (s *source) fillPairs(number, n uint64, client uint32) []store.Pair {
	for i := range s.pairs {
		p := &s.pairs[i]
		p.Key = s.space.Append(p.Key[:0], (number+uint64(i))%s.space.N())
		p.Value = s.values.Append(p.Value[:0], p.Key, client, n)
	}
	return s.pairs
}

// storeVersions stores the versions that a reply contains. It removes the stored versions that the
// operation has made out of date without returning the new ones.
func (s *source) storeVersions(kind kv.Kind, number uint64, ev *store.Event) {
	switch {
	case kind == kv.Txn:
		for i := range s.pairs { // all writes of a transaction have the same revision
			s.storeVersion(kind, (number+uint64(i))%s.space.N(), ev)
		}
	case kind.HasOneKey():
		s.storeVersion(kind, number, ev)
	}
}

// storeVersion stores or removes the version of one key.
func (s *source) storeVersion(kind kv.Kind, number uint64, ev *store.Event) {
	switch {
	case kind == kv.Delete:
		s.versions.Forget(number)
	case ev.Revision > 0:
		s.versions.Set(number, ev.Revision)
	case ev.Outcome == kv.Conflict, kind.Writes():
		s.versions.Forget(number)
	}
}
