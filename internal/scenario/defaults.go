package scenario

import (
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
)

// DefaultKeySpace is how many keys a load bounded by a duration uses when it
// does not say; a load bounded by a total uses as many as it has operations.
const DefaultKeySpace = 100_000

// DefaultMembers is how many members a cluster that we start has.
const DefaultMembers = 3

// DefaultDuration is the window of a load that says neither duration nor total.
const DefaultDuration = 10 * time.Second

// DefaultTxnKeys is how many keys a transaction writes.
const DefaultTxnKeys = 2

// DefaultLoad is a load of one client on one connection, without an operation:
// what a command starts from. KeySpace is left for Complete.
func DefaultLoad() Load {
	return Load{
		Connections:  1,
		Clients:      1,
		KeySize:      8,
		ValueSize:    256,
		Distribution: Distribution{Name: Uniform},
		Duration:     DefaultDuration,
		Timeout:      10 * time.Second,
		MaxInFlight:  100_000,
		TxnKeys:      DefaultTxnKeys,
	}
}

// fileLoad is what a trial of a scenario file starts from: a load that can
// fill a cluster, on keys that exist, after a warm-up.
func fileLoad() Load {
	l := DefaultLoad()
	l.Connections = 100
	l.Clients = 1000
	l.Warmup = 2 * time.Second
	l.Preload = true
	return l
}

// Complete fills in what is left open and depends on the rest: the key space,
// a distribution's name and parameters, and the consistency of reads.
func (l *Load) Complete() {
	if l.KeySpace == 0 {
		l.KeySpace = DefaultKeySpace
		if l.Total > 0 {
			l.KeySpace = l.Total
		}
	}
	if l.Distribution.Name == "" {
		l.Distribution.Name = Uniform
	}
	if full, err := newDistribution(l.Distribution.Name); err == nil {
		if l.Distribution.Theta == 0 {
			l.Distribution.Theta = full.Theta
		}
		if l.Distribution.HotKeys == 0 && l.Distribution.HotOps == 0 {
			l.Distribution.HotKeys, l.Distribution.HotOps = full.HotKeys, full.HotOps
		}
	}
	for i := range l.Mix {
		if o := &l.Mix[i]; o.Kind.Reads() && o.Consistency == kv.None {
			o.Consistency = kv.Linearizable
		}
	}
}

// has reports whether the mix has an operation of which is is true.
func (l *Load) has(is func(kv.Kind) bool) bool {
	for _, o := range l.Mix {
		if is(o.Kind) {
			return true
		}
	}
	return false
}

func isRange(k kv.Kind) bool { return k == kv.Range || k == kv.TxnGet }

func isPlainRange(k kv.Kind) bool { return k == kv.Range }

func isTxn(k kv.Kind) bool { return k == kv.Txn }

// usesKeySpace reports whether any operation chooses its key from the key
// space: all do but those that keep leases alive, and ranges over an interval
// that was given.
func (l *Load) usesKeySpace() bool {
	return l.has(func(k kv.Kind) bool { return k != kv.KeepAlive && (l.RangeKey == nil || !isRange(k)) })
}

// Meant is the load without what has no meaning for it, and with what it leaves
// to defaults: what a record holds.
func (l *Load) Meant() Load {
	out := *l
	if out.Arrival == Closed {
		out.MaxInFlight = 0
	}
	if !out.has(isTxn) {
		out.TxnKeys = 0
	}
	switch {
	case !out.has(isSTM):
		out.STM = nil
	case out.STM == nil:
		t := DefaultSTM()
		out.STM = &t
	}
	if w := out.Watch; w != nil {
		watch := *w
		watch.Span = max(watch.Span, 1)
		out.Watch = &watch
	}
	switch out.Distribution.Name {
	case Zipfian:
		out.Distribution.HotKeys, out.Distribution.HotOps = 0, 0
	case Hotspot:
		out.Distribution.Theta = 0
	default:
		out.Distribution = Distribution{Name: out.Distribution.Name}
	}
	return out
}
