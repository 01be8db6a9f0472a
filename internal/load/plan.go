// Package load is the generator: when operations are due (pace), which keys
// they touch (keys), what they are (mix), and the event loops that drive them
// (engine), put together for one load on one cluster.
package load

import (
	"slices"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/app"
	"github.com/quorumbench/quorumbench/internal/load/engine"
	"github.com/quorumbench/quorumbench/internal/load/engine/poll"
	"github.com/quorumbench/quorumbench/internal/load/keys"
	"github.com/quorumbench/quorumbench/internal/load/pace"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/measure/history"

	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
)

// plan is an assignment with all that is live: what a worker makes of it.
type plan struct {
	grants *store.Grants // of a script; nil of any other load
	Assignment
	store    store.Store
	access   store.Access
	versions *keys.Versions // nil unless the load compares and sets
	reports  Reports
	attended bool // as in Local
	now      func() time.Time
	// recorder makes what a loop records its operations with; nil: nothing does.
	recorder func() *history.Recorder
	final    bool  // they are reads after the load
	world    World // nil is this machine
	length   int64 // of an open loop's window that a total bounds, once it is known

	script app.Script // nil: the load is what its mix, keys and arrivals say
	// chronicler makes what a loop's operations are recorded by that are a script's; nil:
	// a chronicle does it.
	chronicler func(*history.Recorder) engine.History

	// wrap replaces a loop's source; nil leaves it.
	wrap func(*source) engine.Source
	// poller replaces the system's poller; nil leaves it.
	poller func(conns int, base time.Time, d poll.Dialer) (poll.Poller, error)
}

// World is a clock and connections other than this machine's, such as
// simulated ones.
type World interface {
	// Poller returns the next loop's poller.
	Poller(conns int) (poll.Poller, error)
	// Now is its clock, in nanoseconds.
	Now() int64
	// Begin says that all loops have been given the time at which to begin, or
	// have been asked to end.
	Begin()
}

// drainOnStop is how long an interrupted load waits for what is in flight.
const drainOnStop = time.Second

// longestBeyond is how much longer than asked for a closed loop warms up, at
// most, until its throughput is steady; a short warm-up less.
const longestBeyond = 10 * time.Second

// phases are the warm-up and the measured window. Each loop has its own,
// because a pacer belongs to one goroutine.
func (p *plan) phases() []engine.Phase {
	l := &p.Load
	window := engine.Phase{Kind: measure.Measured, Duration: int64(l.Duration), Total: l.Total}
	window.Pacer = p.pacer("measured")
	if window.Pacer != nil && l.Total > 0 {
		// The schedule's end closes the window.
		if p.length == 0 {
			p.length = p.pacer("measured").Due(l.Total)
		}
		window.Duration = p.length
	}
	if l.Warmup <= 0 {
		return []engine.Phase{window}
	}
	warmup := engine.Phase{Kind: measure.Warmup, Duration: int64(l.Warmup), Pacer: p.pacer("warm-up")}
	if warmup.Pacer == nil && !p.Shard.part() { // whether all shards' throughput is steady nobody knows in time
		warmup.Most = int64(l.Warmup + min(4*l.Warmup, longestBeyond))
	}
	return []engine.Phase{warmup, window}
}

func (p *plan) pacer(use string) pace.Pacer {
	if p.script != nil {
		return p.script.Pacer()
	}
	switch p.Load.Arrival {
	case scenario.Constant:
		return pace.NewConstant(p.Load.Rate.PerSecond)
	case scenario.Poisson:
		return pace.NewPoisson(p.Load.Rate.PerSecond, keys.DeriveSeed(p.Load.Seed, "arrivals "+use))
	}
	return nil
}

// config is loop number i's part of the load, of n.
func (p *plan) config(i, n int, shared *engine.Shared, w *watching, caught func()) (engine.Config, error) {
	src, err := newSource(&p.Load)
	if err != nil {
		return engine.Config{}, err
	}
	first, stride := p.Shard.loop(i, n)
	src.versions, src.stm = p.versions, stmOf(&p.Load)
	src.leases, src.loops = leasesOf(p, p.Leases, first, stride), uint64(stride)
	for _, name := range leasesOf(p, p.LeaseNames, first, stride) {
		src.names = append(src.names, []byte(name))
	}
	src.answers.before, src.whole = p.Preloaded, p.Preloaded != nil && !has(&p.Load, kv.Delete)
	src.answers.listings.ascending = p.store.Capabilities().Ascending
	c := engine.Config{
		Codecs: p.store.Codecs(p.loadAccess()), Source: src,
		Endpoints: part(p.Endpoints, p.Load.Connections, first, stride),
		Offset:    uint64(i), Stride: uint64(n), Places: p.Load.Connections, Shared: shared,
		Shard: uint64(p.Shard.I), Shards: uint64(p.Shard.of()),
		Phases: p.phases(), Timeout: int64(p.Load.Timeout),
		NewConnection: p.Load.NewConnection, Fine: len(p.Load.Faults) > 0,
		MaxInFlight: int(p.Shard.share(uint64(p.Load.MaxInFlight))), DrainOnStop: int64(drainOnStop),
		Seed: keys.DeriveSeed(p.Load.Seed, "backoff") + uint64(first),
	}
	c.MaxHeld = p.maxHeld() / n
	if p.wrap != nil {
		c.Source = p.wrap(src)
	}
	if c.Fine && NeedsLeases(&p.Load, p.store.Capabilities()) {
		c.LeaseOf = src.leaseOf
	}
	c.MemberAt = func(endpoint string) uint64 { return p.Members[endpoint] }
	c.Changed = p.reports.Changed
	if p.Load.Arrival == scenario.Closed {
		c.Clients = clientsOf(p.Load.Clients, p.Load.Connections, first, stride)
	}
	h := p.newChronicle(src)
	if h != nil {
		c.History = h
	}
	if p.chronicler != nil && p.recorder != nil {
		c.History = p.chronicler(p.recorder())
	}
	if w != nil {
		w.add(&c, src, h, i, n, caught)
	}
	return c, nil
}

// Bounds of what a load keeps of answers that are not whole, in bytes, besides
// what its own answers may have.
const (
	heldDefault = poll.DefaultMaxHeld
	// heldWatching is the same where there are watchers: one message can have
	// the events of thousands of them.
	heldWatching = 64 << 20
	heldAtMost   = 1 << 30
)

// maxHeld is what the load keeps at most of answers that are not whole: each of
// its operations may be under way with all that it asks for, twice as long as the
// wordiest protocol says it, in a buffer that may be twice as long again: it
// doubles where the length was not announced, as in HTTP's chunks.
func (p *plan) maxHeld() int {
	l := &p.Load
	if p.script != nil {
		return heldAtMost // lists of whatever is there
	}
	keys := 1.0
	if (has(l, kv.Range) || has(l, kv.TxnGet)) && !l.Scan.CountOnly {
		switch {
		case l.Scan.PageSize > 0:
			keys = float64(l.Scan.PageSize)
		case l.RangeLimit > 0 && p.store.Capabilities().Has(kv.RangeForms): // others list all, and the codec passes over the rest
			keys = float64(l.RangeLimit)
		case len(l.RangeKey) > 0: // whatever is there
			return heldAtMost
		default:
			keys = float64(l.KeySpace)
		}
	}
	for _, o := range l.Mix {
		switch o.Kind {
		case kv.Txn:
			keys = max(keys, float64(l.TxnKeys))
		case kv.STM:
			keys = max(keys, float64(stmOf(l).KeysPerTxn))
		}
	}
	base := float64(heldDefault)
	if l.Watch != nil {
		base = heldWatching
	}
	open := float64(l.Clients)
	if l.Arrival != scenario.Closed {
		open = float64(l.MaxInFlight)
	}
	return int(min(base+open*keys*4*float64(l.KeySize+l.ValueSize+200), heldAtMost))
}

// newPoller returns a loop's poller for the given number of connections.
func (p *plan) newPoller(conns int, base time.Time) (poll.Poller, error) {
	switch {
	case p.world != nil:
		return p.world.Poller(conns)
	case p.poller != nil:
		return p.poller(conns, base, p.dialer())
	}
	return poll.NewPoller(conns, base, p.dialer())
}

// dialer makes the load's connections.
func (p *plan) dialer() poll.Dialer {
	d := Dialer(p.store, p.access)
	d.Brief, d.MaxHeld = p.Load.NewConnection, p.maxHeld()
	return d
}

// Dialer makes connections to a store.
func Dialer(st store.Store, access store.Access) poll.Dialer {
	d := poll.Dialer{Timeout: access.Timeout(), TLS: access.TLS, Connect: access.Dial}
	if d.TLS != nil {
		d.TLS = d.TLS.Clone()
		d.TLS.NextProtos = st.Capabilities().ALPN
	}
	return d
}

// part is the endpoints of loop i's connections: connection k of all belongs
// to loop k modulo n, of the loops of all shards.
func part(endpoints []string, connections, i, n int) (mine []string) {
	for k := i; k < connections; k += n {
		mine = append(mine, endpoints[k%len(endpoints)])
	}
	return mine
}

// clientsOf is the connection, by its index in loop i, of each of loop i's
// clients: client j of all uses connection j modulo connections.
func clientsOf(clients, connections, i, n int) (mine []int) {
	for j := range clients {
		if k := j % connections; k%n == i {
			mine = append(mine, k/n)
		}
	}
	return mine
}

// has reports whether operations of the kind are in the load's mix.
func has(l *scenario.Load, kind kv.Kind) bool {
	return slices.ContainsFunc(l.Mix, func(o scenario.Operation) bool { return o.Kind == kind })
}
