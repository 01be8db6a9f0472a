package cli

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// Bounds of an interval that holds every key of a load, and nearly every other.
var (
	firstOfAll = []byte{0}
	afterAll   = []byte{0xff}
)

// transactionKinds are the commands of transactions and leases.
func transactionKinds() []benchKind {
	return []benchKind{
		{
			name: "txn-mixed", args: "[KEY] [END]", most: 2, takes: "KEY, from which transactions read, and END, up to which",
			short: "Write one key, or read an interval, in a transaction each",
			kinds: []kv.Kind{kv.TxnGet, kv.Txn}, distribution: scenario.Sequential, valueSize: etcdValueSize,
			flags: (*benchFlags).registerTxnMixed, fill: (*benchFlags).fillTxnMixed,
		},
		{
			name: "stm", short: "Read keys and write some of them in an optimistic transaction, again where another was quicker",
			kinds: []kv.Kind{kv.STM}, distribution: scenario.Uniform, keySize: 16, valueSize: etcdValueSize,
			flags: (*benchFlags).registerSTM, fill: (*benchFlags).fillSTM,
			renamed: []string{"--key-space-size", "--keys"},
		},
		{
			name: "lease-keepalive", short: "Keep leases alive, each client one of its own",
			kinds: []kv.Kind{kv.KeepAlive}, distribution: scenario.Sequential,
			flags: func(*benchFlags, flags) {}, fill: (*benchFlags).fillKeepAlive,
		},
	}
}

func (f *benchFlags) registerTxnMixed(r flags) {
	f.registerConsistency(r)
	f.registerKeys(r)
	f.limit, f.rwRatio = 1000, 1
	r.long("limit", &f.limit, "at most so many keys in each answer; 0 for all")
	r.number("rw-ratio", &f.rwRatio, "R", "reads for each write")
	r.text("end-key", &f.endKey, "KEY", "the first key after what is read; the same as END")
}

// fillTxnMixed settles what is read: all keys, or all with the prefix, unless
// KEY or an end is given.
func (f *benchFlags) fillTxnMixed(l *scenario.Load, args []string) error {
	l.Preload = !f.noPreload
	l.RangeKey, l.RangeEnd = firstOfAll, afterAll
	if end := prefixEnd([]byte(l.Prefix)); end != nil {
		l.RangeKey, l.RangeEnd = []byte(l.Prefix), end
	}
	if len(args) > 0 {
		l.RangeKey = []byte(args[0])
	}
	switch {
	case len(args) > 1 && f.endKey != "":
		return usage("END %q and --end-key %q are the same; give one of them", args[1], f.endKey)
	case len(args) > 1:
		l.RangeEnd = []byte(args[1])
	case f.endKey != "":
		l.RangeEnd = []byte(f.endKey)
	}
	if !(f.rwRatio >= 0) || f.rwRatio > scenario.MaxRate {
		return usage("--rw-ratio is %g and must be from 0 to %d", f.rwRatio, scenario.MaxRate)
	}
	if l.Mix[0].Weight = f.rwRatio; f.rwRatio == 0 {
		l.Mix, l.RangeKey, l.RangeEnd = l.Mix[1:], nil, nil
	}
	return nil
}

func (f *benchFlags) registerSTM(r flags) {
	f.stm, f.keySpace = scenario.DefaultSTM(), 1
	r.long("keys", &f.keySpace, "how many keys there are")
	r.whole("keys-per-txn", &f.stm.KeysPerTxn, "different keys that one transaction reads")
	r.whole("txn-wr-percent", &f.stm.WritePercent, "percent of them that it writes")
	add(r, "isolation", &f.stm.Isolation, "c|r|s|ss", kv.ParseIsolation, kv.Isolation.String,
		"read committed, repeatable reads, serializable or serializable snapshot")
	add(r, "stm-locker", &f.stm.Locker, "stm|lock-client|lock-rpc", kv.ParseLocker, kv.Locker.String,
		"what keeps transactions apart beside their comparisons: nothing, a mutex of the client's, or the store's lock service")
	r.size("key-size", &f.load.KeySize, "bytes of a key, after its prefix")
	r.size("val-size", &f.load.ValueSize, "bytes of a value")
	r.text("prefix", &f.load.Prefix, "TEXT", "what every key begins with")
}

func (f *benchFlags) fillSTM(l *scenario.Load, _ []string) error {
	stm := f.stm
	switch {
	case f.keySpace < 1:
		return usage("--keys must be at least 1, not %d", f.keySpace)
	case stm.KeysPerTxn < 1 || int64(stm.KeysPerTxn) > f.keySpace:
		return usage("--keys-per-txn is %d and must be from 1 to the number of keys, %d (--keys)", stm.KeysPerTxn, f.keySpace)
	case stm.KeysPerTxn > scenario.MaxSTMKeys:
		return usage("--keys-per-txn is %d and can be at most %d", stm.KeysPerTxn, scenario.MaxSTMKeys)
	case stm.WritePercent < 0 || stm.WritePercent > 100:
		return usage("--txn-wr-percent is %d and must be from 0 to 100", stm.WritePercent)
	case stm.Locker != kv.LockNone && f.rate > 0:
		return usage("--stm-locker %s makes clients wait for each other, so they cannot follow a --rate; drop one of them", stm.Locker)
	}
	l.KeySpace, l.STM = uint64(f.keySpace), &stm
	return nil
}

// fillKeepAlive: there are no keys, but for the one that is read to find out
// whether the store is there.
func (f *benchFlags) fillKeepAlive(l *scenario.Load, _ []string) error {
	l.KeySpace = 1
	return nil
}
