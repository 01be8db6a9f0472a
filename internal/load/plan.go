// Package load is the load generator. For one load on one cluster, it combines the schedule (pace),
// the choice of keys (keys) and of operations (mix), and the event loops (engine).
//
// The caller describes a load in an Assignment and passes it to a Worker. A Local generates the
// load in this process, a remote worker on another machine, and Workers on several machines:
//
//	job, err := worker.Prepare(ctx, assignment, reports)
//	err = job.Connect(ctx)
//	result, err := job.Run(ctx, time.Time{})
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

// plan is an assignment together with the objects that a worker creates to execute it.
type plan struct {
	grants *store.Grants // leases that were granted to a script; nil for any other load
	Assignment
	store    store.Store
	access   store.Access
	versions *keys.Versions // nil if the load has no compare-and-sets
	reports  Reports
	inAgent  bool // Local.InAgent
	now      func() time.Time
	// recorder creates the recorder for a loop's operations. It is nil if operations are not
	// recorded.
	recorder func() *history.Recorder
	final    bool  // the operations are final reads, which are sent after a load
	world    World // nil if the load runs on this machine
	// length is the duration, in nanoseconds, of an open loop's window that ends after a total
	// number of operations. It is 0 until it is computed.
	length int64

	script app.Script // nil if the load's mix, keys and arrivals define its operations
	// chronicler creates the History for a script's loop. If it is nil, newChronicle does.
	chronicler func(*history.Recorder) engine.History

	// wrap returns the source to use instead of a loop's source. If it is nil, the loop's own
	// source is used.
	wrap func(*source) engine.Source
	// poller creates the pollers. If it is nil, poll.NewPoller is used.
	poller func(conns int, base time.Time, d poll.Dialer) (poll.Poller, error)
}

// World provides a different clock and different connections than this machine, for example
// simulated ones.
type World interface {
	// Poller returns the poller for the next loop.
	Poller(conns int) (poll.Poller, error)
	// Now returns the time on the World's clock, in nanoseconds.
	Now() int64
	// Begin is called when all loops have received their start time or a request to stop.
	Begin()
}

// drainOnStop is the longest time for which an interrupted load waits for operations in flight.
const drainOnStop = time.Second

// maxWarmupExtension is the maximum time by which a closed loop extends its warm-up while its
// throughput is not steady. The maximum is smaller for a short warm-up.
const maxWarmupExtension = 10 * time.Second

// phases returns the warm-up, if there is one, and the measurement window. Each loop needs its own
// phases, because a pacer must be used by only one goroutine.
func (p *plan) phases() []engine.Phase {
	l := &p.Load
	window := engine.Phase{Kind: measure.Measured, Duration: int64(l.Duration), Total: l.Total}
	window.Pacer = p.pacer("measured")
	if window.Pacer != nil && l.Total > 0 {
		// The window closes at the end of the schedule.
		if p.length == 0 {
			p.length = p.pacer("measured").Due(l.Total)
		}
		window.Duration = p.length
	}
	if l.Warmup <= 0 {
		return []engine.Phase{window}
	}
	warmup := engine.Phase{Kind: measure.Warmup, Duration: int64(l.Warmup), Pacer: p.pacer("warm-up")}
	// A shard cannot find out in time whether the total throughput of all shards is steady.
	if warmup.Pacer == nil && !p.Shard.isPart() {
		warmup.MaxDuration = int64(l.Warmup + min(4*l.Warmup, maxWarmupExtension))
	}
	return []engine.Phase{warmup, window}
}

// pacer returns a new schedule, or nil for a closed loop.
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

// config returns the configuration of loop i of n loops.
func (p *plan) config(i, n int, shared *engine.Shared, w *loadWatchers, caughtUp func()) (engine.Config, error) {
	src, err := newSource(&p.Load)
	if err != nil {
		return engine.Config{}, err
	}
	first, stride := p.Shard.loop(i, n)
	src.versions, src.stm = p.versions, stmSettings(&p.Load)
	src.leases, src.loops = loopLeases(p, p.Leases, first, stride), uint64(stride)
	for _, name := range loopLeases(p, p.LeaseNames, first, stride) {
		src.names = append(src.names, []byte(name))
	}
	src.answers.preloaded, src.allKeysExist = p.Preloaded, p.Preloaded != nil && !mixHas(&p.Load, kv.Delete)
	src.answers.listings.ascending = p.store.Capabilities().Ascending
	c := engine.Config{
		Codecs: p.store.Codecs(p.loadAccess()), Source: src,
		Endpoints: loopEndpoints(p.Endpoints, p.Load.Connections, first, stride),
		Offset:    uint64(i), Stride: uint64(n), Places: p.Load.Connections, Shared: shared,
		Shard: uint64(p.Shard.I), Shards: uint64(p.Shard.count()),
		Phases: p.phases(), Timeout: int64(p.Load.Timeout),
		NewConnection: p.Load.NewConnection, RecordSlotDetail: len(p.Load.Faults) > 0,
		MaxInFlight: int(p.Shard.share(uint64(p.Load.MaxInFlight))), DrainOnStop: int64(drainOnStop),
		Seed: keys.DeriveSeed(p.Load.Seed, "backoff") + uint64(first),
	}
	c.MaxBuffered = p.maxBuffered() / n
	if p.wrap != nil {
		c.Source = p.wrap(src)
	}
	if c.RecordSlotDetail && NeedsLeases(&p.Load, p.store.Capabilities()) {
		c.LeaseNumber = src.leaseFor
	}
	c.MemberAt = func(endpoint string) uint64 { return p.Members[endpoint] }
	c.OnClusterChange = p.reports.OnClusterChange
	if p.Load.Arrival == scenario.Closed {
		c.Clients = clientConnections(p.Load.Clients, p.Load.Connections, first, stride)
	}
	h := p.newChronicle(src)
	if h != nil {
		c.History = h
	}
	if p.chronicler != nil && p.recorder != nil {
		c.History = p.chronicler(p.recorder())
	}
	if w != nil {
		w.add(&c, src, h, i, n, caughtUp)
	}
	return c, nil
}

// These constants limit the total size, in bytes, of the incomplete replies that a load buffers.
// The size of the load's own replies is added to defaultBuffer or watchBuffer.
const (
	defaultBuffer = poll.DefaultMaxBuffered
	// watchBuffer replaces defaultBuffer if there are watchers, because a single message can
	// contain the events for thousands of watchers.
	watchBuffer = 64 << 20
	maxBuffer   = 1 << 30
)

// maxBuffered returns the maximum number of bytes in incomplete replies that the load may buffer.
// It assumes that an almost complete reply is buffered for every operation in flight. It multiplies
// the size of a reply by two for the most verbose protocol, and again by two because the buffer
// doubles if the length is not known in advance (as with HTTP chunks).
func (p *plan) maxBuffered() int {
	l := &p.Load
	if p.script != nil {
		return maxBuffer // a list contains all existing keys, whose number is unknown
	}
	keyCount := 1.0
	if (mixHas(l, kv.Range) || mixHas(l, kv.TxnGet)) && !l.Scan.CountOnly {
		switch {
		case l.Scan.PageSize > 0:
			keyCount = float64(l.Scan.PageSize)
		// Stores without RangeForms return all keys, and the codec skips the keys beyond the limit.
		case l.RangeLimit > 0 && p.store.Capabilities().Has(kv.RangeForms):
			keyCount = float64(l.RangeLimit)
		case len(l.RangeKey) > 0: // the number of keys in the interval is unknown
			return maxBuffer
		default:
			keyCount = float64(l.KeySpace)
		}
	}
	for _, o := range l.Mix {
		switch o.Kind {
		case kv.Txn:
			keyCount = max(keyCount, float64(l.TxnKeys))
		case kv.STM:
			keyCount = max(keyCount, float64(stmSettings(l).KeysPerTxn))
		}
	}
	base := float64(defaultBuffer)
	if l.Watch != nil {
		base = watchBuffer
	}
	open := float64(l.Clients)
	if l.Arrival != scenario.Closed {
		open = float64(l.MaxInFlight)
	}
	return int(min(base+open*keyCount*4*float64(l.KeySize+l.ValueSize+200), maxBuffer))
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

// dialer returns the dialer for the load's connections.
func (p *plan) dialer() poll.Dialer {
	d := Dialer(p.store, p.access)
	d.SingleUse, d.MaxBuffered = p.Load.NewConnection, p.maxBuffered()
	return d
}

// Dialer returns a dialer that opens connections to a store.
func Dialer(st store.Store, access store.Access) poll.Dialer {
	d := poll.Dialer{Timeout: access.Timeout(), TLS: access.TLS, Connect: access.Dial}
	if d.TLS != nil {
		d.TLS = d.TLS.Clone()
		d.TLS.NextProtos = st.Capabilities().ALPN
	}
	return d
}

// loopEndpoints returns the endpoints of loop i's connections. n is the number of loops in all
// shards, and connection k belongs to loop k modulo n.
func loopEndpoints(endpoints []string, connections, i, n int) (mine []string) {
	for k := i; k < connections; k += n {
		mine = append(mine, endpoints[k%len(endpoints)])
	}
	return mine
}

// clientConnections returns, for each client of loop i, the index of the client's connection
// within the loop. Client j uses connection j modulo connections. Clients and connections are
// counted over all loops.
func clientConnections(clients, connections, i, n int) (mine []int) {
	for j := range clients {
		if k := j % connections; k%n == i {
			mine = append(mine, k/n)
		}
	}
	return mine
}

// mixHas reports whether the load's mix contains operations of the given kind.
func mixHas(l *scenario.Load, kind kv.Kind) bool {
	return slices.ContainsFunc(l.Mix, func(o scenario.Operation) bool { return o.Kind == kind })
}
