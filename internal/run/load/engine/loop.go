package engine

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/printable"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/wire/parts"
)

const never = math.MaxInt64

// Live is what a loop tells while it runs; others may read it at any time.
type Live struct {
	Done, Failed atomic.Uint64 // operations ended, warm-up included
	Events       atomic.Uint64 // that watchers got
	InFlight     atomic.Int64
	Phase        atomic.Int32 // measure.Phase; -1 before the start and when draining
	Thread       atomic.Int64 // the system's number of the loop's thread
}

// Loop is one event loop. Run runs it; the other exported methods may be
// called from any goroutine.
type Loop struct {
	Live Live

	cfg    Config
	first  uint64 // of the operations, clients and places of all loops and shards, this loop's
	stride uint64 // and from each of them to the next
	poller Poller
	mail   mailbox

	conns   []*conn
	places  []int // the connection that a place has now
	spare   []int // connections that have ended and belong to no place
	slots   slots
	secs    seconds
	dirty   []int // connections with something to write
	events  []store.Event
	discard []store.Event // of connections that end with nothing open
	ready   []Ready
	left    []Ready // of them: connections that have more than was read in their turn
	op      store.Op

	stamped  Stamped // the poller, if it knows when bytes arrived
	buf      []byte
	used     int       // of buf
	readings []reading // read, and not acted on yet
	sample   sampling
	lag      int64 // of the reading that is acted on
	weight   int64 // likewise
	asked    int64 // when the loop wanted to wake, or woke earlier
	woke     int64
	turned   int64 // when the turn before ended
	owed     int   // operations that slot.owed marks
	beat     int64 // the poller ends a wait at each multiple of it; 0: it does not

	watching   *watching // nil: this loop has no watchers
	eventsLive uint64
	parts      *parts.Budget // of answers that are not whole, on all connections

	now               int64
	clock             clockwork // phases and seconds, by time
	sched             cursor    // open loop: what is due next
	more              bool      // the last turn did not come to all that was due
	abandoned         abandoning
	closed            closedLoop
	bytesIn, bytesOut uint64 // of the current second
	rr                int    // open loop: the connection used last in place of another
	blockedBy         blocker
	roomBy            blocker // what blocked before roomAt
	roomAt            int64   // open loop: when something became free the last time that nothing had been
	maxTerm           uint64
	epoch             atomic.Uint64 // Epoch
	tickAt            int64
	redial            int64

	draining  bool // nothing becomes due any more
	stopped   bool
	slot      int    // of the warm-up's slots, the one that runs
	slotDone  uint64 // doneLive when it began
	drainTill int64
	measuring bool
	idle      bool // before the start, nothing is counted
	areaAt    int64
	doneLive  uint64
	failLive  uint64
	res       Result
}

// New returns a loop on the given poller, which the loop releases at its end.
func New(cfg Config, p Poller) *Loop {
	if cfg.Changed == nil {
		cfg.Changed = func(uint64, bool) {}
	}
	if cfg.MemberAt == nil {
		cfg.MemberAt = func(string) uint64 { return 0 }
	}
	if cfg.Mark == nil {
		cfg.Mark = func(Mark) {}
	}
	if cfg.Shared == nil {
		total := uint64(0)
		if n := len(cfg.Phases); n > 0 {
			total = cfg.Phases[n-1].Total
		}
		cfg.Shared = NewShared(1, total, cfg.MaxInFlight)
	}
	if cfg.MaxHeld <= 0 {
		cfg.MaxHeld = DefaultMaxHeld
	}
	if cfg.Places == 0 {
		cfg.Places = (len(cfg.Endpoints) - cfg.WatchOnly) * int(cfg.Stride)
	}
	if cfg.Shards == 0 {
		cfg.Shards = 1
	}
	l := &Loop{
		cfg: cfg, poller: p,
		first: cfg.Shard + cfg.Shards*cfg.Offset, stride: cfg.Shards * cfg.Stride,
		slots:  newSlots(len(cfg.Clients)),
		secs:   seconds{recycle: cfg.Recycle, hand: cfg.Hand},
		buf:    make([]byte, readBuffer),
		sample: sampling{every: 1},
		parts:  parts.New(cfg.MaxHeld),
		tickAt: never, redial: never,
		res: Result{ErrorTexts: map[kv.Outcome]string{}, MemberOf: map[string]uint64{}},
	}
	l.stamped, _ = p.(Stamped)
	for i, e := range cfg.Endpoints {
		l.conns = append(l.conns, &conn{place: i, endpoint: e, want: e})
		l.places = append(l.places, i)
	}
	if w := cfg.Watching; w != nil && w.Sink != nil {
		l.watching = newWatching(w, len(l.conns))
	}
	l.Live.Phase.Store(-1)
	cfg.Shared.loops[l.me()] = l
	return l
}

// Run connects, tells connected how that went, waits for Start, runs the
// phases, drains and returns. It keeps its thread.
func (l *Loop) Run(connectBy int64, connected func(error)) *Result {
	defer l.poller.Release()
	l.Live.Thread.Store(int64(l.poller.Attach()))
	if thread := int(l.Live.Thread.Load()); thread > 0 && l.opens() {
		prefer(thread)
	}
	l.now = l.poller.Now()
	err := l.connectAll(connectBy)
	if err == nil {
		err = l.watchFirst(connectBy)
	}
	if err != nil {
		connected(err)
		l.closeAll()
		return nil
	}
	l.idle = true
	connected(nil)
	for !l.finished() {
		l.turn()
	}
	l.abandonOpen()
	l.releaseTail()
	l.abandonSpilled(l.res.Closed)
	l.abandonSchedule(l.res.Closed)
	l.cfg.Shared.spill.cursors[l.me()].due.Store(never)
	l.secs.release(never)
	l.closeAll()
	l.Live.Phase.Store(-1)
	return &l.res
}

// opens reports whether the load is an open loop.
func (l *Loop) opens() bool {
	for i := range l.cfg.Phases {
		if l.cfg.Phases[i].Pacer != nil {
			return true
		}
	}
	return false
}

// turn is one round: wait, then do all that there is to do.
func (l *Loop) turn() {
	until := l.nextWake()
	asked := l.nextBeat(max(until, l.now, l.turned))
	l.wait(until)
	now := l.poller.Now()
	l.awake(asked, now)
	l.warm(now)
	ended := l.doneLive + l.failLive
	l.to(now)
	l.takeMail()
	l.attendAll()
	l.expire()
	l.maintain()
	if !l.draining && !l.idle {
		l.fire()
		l.wakeRested()
		l.shareWork()
	}
	l.flushDirty()
	l.release()
	l.tellLive()
	l.worked(l.poller.Now(), l.doneLive+l.failLive-ended)
}

// nextWake is the time by which the loop has something to do.
func (l *Loop) nextWake() int64 {
	if l.more && !l.draining {
		return l.now
	}
	until := l.now + heartbeat
	if l.measuring && l.slots.open > 0 && l.beat == 0 {
		until = l.now + beat
	}
	if l.slots.head != none {
		until = min(until, l.slots.table[l.slots.head].start+l.cfg.Timeout)
	}
	if due := l.sched.due; !l.draining && !l.idle && due < until && l.canSend() {
		until = due
	}
	if !l.draining {
		until = min(until, l.closed.resting.until())
	}
	until = min(until, l.clock.next, l.tickAt, l.redial)
	return until
}

// release hands over the seconds that are complete. What another loop has due
// and cannot take up may still come into this loop's books.
func (l *Loop) release() {
	pending := l.pending()
	if s := l.cfg.Shared; s.several() && l.sched.pacer != nil {
		s.spill.cursors[l.me()].due.Store(pending)
		if !l.secs.complete(pending) {
			return
		}
		pending = min(pending, s.spill.pending())
	}
	l.secs.release(pending)
}

// pending is the earliest time at which an operation that does not exist yet
// can be due.
func (l *Loop) pending() int64 {
	if l.draining {
		return l.sched.due // of what is abandoned at the end; never without that
	}
	return min(l.now, l.sched.due)
}

func (l *Loop) tellLive() {
	l.Live.Done.Store(l.doneLive)
	l.Live.Failed.Store(l.failLive)
	l.Live.Events.Store(l.eventsLive)
	l.Live.InFlight.Store(int64(l.slots.open))
	l.res.MaxInFlight = max(l.res.MaxInFlight, l.slots.open)
}

func (l *Loop) finished() bool {
	return l.draining && (l.slots.open == 0 && l.watchSettled() || l.stopped && l.now >= l.drainTill)
}

// to moves the loop's clock on: seconds and phases that have ended meanwhile
// are closed in their order.
func (l *Loop) to(now int64) {
	if now < l.now {
		return // read before something that was acted on already
	}
	l.now = now
	if l.measuring {
		l.res.InFlightArea += float64(now-l.areaAt) * float64(l.slots.open)
		l.res.RestingArea += float64(now-l.areaAt) * float64(len(l.closed.resting))
		l.areaAt = now
	}
	for !l.draining && now >= l.clock.next {
		l.boundary()
	}
}

// finishOp ends an operation that was due, whatever its outcome, and frees the
// client that waited for it.
func (l *Loop) finishOp(tag uint32, placeFree bool, ev *store.Event, at int64) {
	sl := &l.slots.table[tag]
	outcome := ev.Outcome
	if !outcome.Failed() {
		outcome = l.cfg.Source.Check(sl.kind, sl.ref, ev)
	}
	if sl.state == waiting { // it was never made
		sl.kind, sl.level = l.cfg.Source.Kind(sl.acc.Phase, sl.n)
	}
	series := measure.Series{Kind: sl.kind, Consistency: sl.level, Member: ev.Member, Term: ev.Term}
	if ev.Member == 0 && sl.conn >= 0 {
		series.Member = l.conns[sl.conn].member
	}
	if ev.Term == 0 {
		series.Term = sl.term
		if sl.state != written {
			series.Term = l.term()
		}
	}
	l.held(sl, at)
	acc := sl.acc
	acc.Outcomes[outcome]++
	acc.open--
	if outcome.Failed() {
		l.failLive++
		l.secs.failed(acc, series, outcome, at-sl.due)
		l.explain(outcome, ev.Text)
	} else {
		l.doneLive++
		l.secs.succeeded(acc, series, at-sl.due, at-sl.sent)
		if l.weight > 0 {
			l.disturbed(sl, at)
		}
		l.clock.completed(sl.kind, at)
		acc.Extra += uint64(ev.Extra)
		acc.Retries += uint64(ev.Retries)
		if outcome == kv.Miss {
			acc.Missed[sl.kind]++
		}
		if sl.kind.Reads() {
			acc.Keys += uint64(max(ev.Count, 0))
		}
	}
	client, measured := sl.client, sl.measured
	rest := int64(0)
	if client >= 0 {
		rest = l.restAfter(sl, outcome, at)
	}
	owed := sl.owed
	l.slots.finish(tag, placeFree)
	if client < 0 {
		switch {
		case owed:
			l.owed--
		case l.cfg.Shared.several():
			l.cfg.Shared.limit.give(l.me())
		}
		l.freed()
		return
	}
	if measured {
		l.closed.inWindow--
		l.closed.lastAt = at
	}
	l.goOn(client, at, rest)
	if measured && l.closed.inWindow == 0 {
		l.endWork()
	}
}

// explain keeps the first text of each kind of error.
func (l *Loop) explain(o kv.Outcome, text []byte) {
	if l.res.ErrorTexts[o] != "" {
		return
	}
	switch {
	case len(text) > 0:
		l.res.ErrorTexts[o] = printable.Line(string(text[:min(len(text), printable.OfServer+1)]), printable.OfServer)
	case o == kv.TimedOut && l.stopped:
		l.res.ErrorTexts[o] = "no answer until the load was stopped"
	case o == kv.TimedOut:
		l.res.ErrorTexts[o] = "no answer within " + time.Duration(l.cfg.Timeout).String()
	case o == kv.NotSent:
		l.res.ErrorTexts[o] = "no connection took it before its timeout or the window's end"
		for i := range l.conns {
			if c := l.conns[i]; c.state == down && c.err != nil {
				l.res.ErrorTexts[o] += ": " + printable.Line(c.err.Error(), printable.OfServer)
				break
			}
		}
	case o == kv.WrongAnswer:
		l.res.ErrorTexts[o] = "another key, or a value that was never written to this key"
	}
}

// fail ends an operation that got no answer.
func (l *Loop) fail(tag uint32, placeFree bool, outcome kv.Outcome, at int64) {
	l.finishOp(tag, placeFree, &store.Event{Outcome: outcome}, at)
}
