// Package load is the generator: when operations are due (pace), which keys
// they touch (keys), what they are (mix), and the event loops that drive them
// (engine), put together for one load on one cluster.
package load

import (
	"runtime"
	"slices"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/run/load/engine"
	"github.com/quorumbench/quorumbench/internal/run/load/keys"
	"github.com/quorumbench/quorumbench/internal/run/load/pace"
	"github.com/quorumbench/quorumbench/internal/run/load/random"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Plan is a load and where it goes.
type Plan struct {
	Load scenario.Load
	// Store talks; Access says how to reach the cluster.
	Store  store.Store
	Access store.Access
	// Endpoints are those that the target has now, HOST:PORT each; connection i
	// goes to the endpoint i modulo their number.
	Endpoints []string
	// Members says which member is at an endpoint, by its number, as far as it
	// is known: for stores whose answers do not say it.
	Members map[string]uint64
	// Versions is what VersionsFor returned.
	Versions *keys.Versions
	// Preloaded is what Preload returned; nil without a preload.
	Preloaded *Preloaded
	// Watch is what is watched beside the load; nil for nothing.
	Watch *Watch
	// STM is what the load's kv.STM operations are; nil for the defaults.
	STM *STM
	// Leases are those that kv.KeepAlive operations keep alive; client i has
	// the i-th. Who granted them revokes them (store.Leaser).
	Leases []int64
	// Each takes every second, merged over the loops, when nothing due in it is
	// open any more. Its histograms are used again afterwards.
	Each func(*measure.Second)
	// Changed is told, from a loop and so without blocking, that a connection
	// was lost, or that an answer carried a higher term than any before.
	Changed func(term uint64, lost bool)
	// Mark is told, from a loop's thread and so without taking long, that a
	// phase began there, or that the last one ended.
	Mark func(Mark)

	// World is where the load runs; nil is this machine.
	World World

	length int64 // of an open loop's window that a total bounds, once it is known

	// wrap replaces a loop's source; nil leaves it.
	wrap func(*source) engine.Source
	// poller replaces the system's poller; nil leaves it.
	poller func(conns int, base time.Time, d engine.Dialer) (engine.Poller, error)
}

// World is a clock and connections other than this machine's, such as
// simulated ones.
type World interface {
	// Poller returns the next loop's poller.
	Poller(conns int) (engine.Poller, error)
	// Now is its clock, in nanoseconds.
	Now() int64
	// Begin says that all loops have been given the time at which to begin, or
	// have been told to end.
	Begin()
}

// Mark is the beginning of a phase in one of the loops, or the end of the last.
type Mark struct {
	Loop, Loops int
	Thread      int // the system's number of the loop's thread
	Phase       measure.Phase
	Ended       bool
	At          time.Time
}

// drainOnStop is how long an interrupted load waits for what is in flight.
const drainOnStop = time.Second

// threads is how many event loops the plan has: one loop sends several hundred
// thousand operations a second, and each takes a processor from a store on the
// same machine.
func (p *Plan) threads() int {
	n := p.Load.Threads
	if n == 0 {
		n = min(runtime.NumCPU()/4, 8)
	}
	return min(max(n, 1), p.Load.Connections)
}

// longestBeyond is how much longer than asked for a closed loop warms up, at
// most, until its throughput is steady; a short warm-up less.
const longestBeyond = 10 * time.Second

// phases are the warm-up and the measured window. Each loop has its own,
// because a pacer belongs to one goroutine.
func (p *Plan) phases() []engine.Phase {
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
	if warmup.Pacer == nil {
		warmup.Most = int64(l.Warmup + min(4*l.Warmup, longestBeyond))
	}
	return []engine.Phase{warmup, window}
}

func (p *Plan) pacer(use string) pace.Pacer {
	switch p.Load.Arrival {
	case scenario.Constant:
		return pace.NewConstant(p.Load.Rate.PerSecond)
	case scenario.Poisson:
		return pace.NewPoisson(p.Load.Rate.PerSecond, random.Derive(p.Load.Seed, "arrivals "+use))
	}
	return nil
}

// config is loop number i's part of the load, of n.
func (p *Plan) config(i, n int, shared *engine.Shared, w *watching, caught func()) (engine.Config, error) {
	src, err := newSource(&p.Load)
	if err != nil {
		return engine.Config{}, err
	}
	src.versions, src.stm = p.Versions, p.stm()
	src.leases, src.loops = p.leasesOf(i, n), uint64(n)
	src.answers.before, src.whole = p.Preloaded, p.Preloaded != nil && !has(&p.Load, kv.Delete)
	src.answers.listings.ascending = p.Store.Capabilities().Ascending
	c := engine.Config{
		Codecs: p.Store.Codecs(p.Access), Source: src,
		Endpoints: part(p.Endpoints, p.Load.Connections, i, n),
		Offset:    uint64(i), Stride: uint64(n), Places: p.Load.Connections, Shared: shared,
		Phases: p.phases(), Timeout: int64(p.Load.Timeout),
		NewConnection: p.Load.NewConnection,
		MaxInFlight:   p.Load.MaxInFlight, DrainOnStop: int64(drainOnStop),
		Seed: random.Derive(p.Load.Seed, "backoff") + uint64(i),
	}
	c.MaxHeld = p.maxHeld() / n
	if p.wrap != nil {
		c.Source = p.wrap(src)
	}
	c.MemberAt = func(endpoint string) uint64 { return p.Members[endpoint] }
	c.Changed = p.Changed
	if p.Load.Arrival == scenario.Closed {
		c.Clients = clientsOf(p.Load.Clients, p.Load.Connections, i, n)
	}
	if w != nil {
		if err := w.add(&c, src, i, n, caught); err != nil {
			return engine.Config{}, err
		}
	}
	return c, nil
}

// Bounds of what a load keeps of answers that are not whole, in bytes, beside
// what its own answers may have.
const (
	heldBeside = engine.DefaultMaxHeld
	// heldWatching is the same where there are watchers: one message can have
	// the events of thousands of them.
	heldWatching = 64 << 20
	heldAtMost   = 1 << 30
)

// maxHeld is what the load keeps at most of answers that are not whole: each of
// its operations may be under way with all that it asks for, twice as long as the
// wordiest protocol says it, in a buffer that may be twice as long again: it
// doubles where the length was not announced, as in HTTP's chunks.
func (p *Plan) maxHeld() int {
	l := &p.Load
	keys := 1.0
	if (has(l, kv.Range) || has(l, kv.TxnGet)) && !l.Scan.CountOnly {
		switch {
		case l.Scan.PageSize > 0:
			keys = float64(l.Scan.PageSize)
		case l.RangeLimit > 0 && p.Store.Capabilities().Has(kv.RangeForms): // others list all, and the codec passes over the rest
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
			keys = max(keys, float64(p.stm().KeysPerTxn))
		}
	}
	beside := float64(heldBeside)
	if l.Watch != nil {
		beside = heldWatching
	}
	open := float64(l.Clients)
	if l.Arrival != scenario.Closed {
		open = float64(l.MaxInFlight)
	}
	return int(min(beside+open*keys*4*float64(l.KeySize+l.ValueSize+200), heldAtMost))
}

// newPoller returns a loop's poller for the given number of connections.
func (p *Plan) newPoller(conns int, base time.Time) (engine.Poller, error) {
	switch {
	case p.World != nil:
		return p.World.Poller(conns)
	case p.poller != nil:
		return p.poller(conns, base, p.dialer())
	}
	return engine.NewPoller(conns, base, p.dialer())
}

// dialer makes the load's connections.
func (p *Plan) dialer() engine.Dialer {
	d := engine.Dialer{Timeout: dialTimeout(p.Access), TLS: p.Access.TLS, Brief: p.Load.NewConnection, MaxHeld: p.maxHeld()}
	if d.TLS != nil {
		d.TLS = d.TLS.Clone()
		d.TLS.NextProtos = p.Store.Capabilities().ALPN
	}
	return d
}

// part is the endpoints of loop i's connections: connection k of all belongs
// to loop k modulo n.
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
