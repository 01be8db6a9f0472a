package engine

import (
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/keys"
	"github.com/quorumbench/quorumbench/internal/load/watch"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/store"
)

// watchBench is a simulated server that has one key, and watchers on connection 0.
type watchBench struct {
	*bench
	space    keys.Space
	values   *keys.Values
	board    *watch.Board
	sink     *watch.Sink
	value    map[uint32][]byte // by tag of the put
	sent     []store.Event     // by event number
	watching map[uint32]bool   // watchers that exist on the server
	creates  map[uint32][]int64
	watchers int // index of the watchers' connection
	version  int64
	revision int64
	// deliver sends a put's event to the watchers. If it is nil, the event arrives after 10 µs.
	deliver func(w *watchBench, number uint32)
}

const warmupBit = 1 << 40

func newWatchBench(t *testing.T, conns, watchers int, phases ...Phase) *watchBench {
	t.Helper()
	w := &watchBench{bench: newBench(conns, 0, phases...), value: map[uint32][]byte{}, watching: map[uint32]bool{}, creates: map[uint32][]int64{}, revision: 100}
	var err error
	if w.space, err = keys.NewSpace("k", 4, 1); err != nil {
		t.Fatal(err)
	}
	w.values = keys.NewValues(32, 1)
	w.board = watch.NewBoard(1, 1, 0)
	cfg := watch.Config{Board: w.board, Space: w.space, Values: w.values, WarmupMark: warmupBit}
	part := &WatchSetup{Board: w.board}
	for range watchers {
		cfg.Watchers = append(cfg.Watchers, watch.Watcher{Keys: 1})
		part.Conns = append(part.Conns, 0)
	}
	w.sink = watch.NewSink(cfg)
	part.Sink, part.Fill = w.sink, func(n uint32, op *store.Op) { op.Key = w.space.Append(nil, 0) }
	w.cfg.Watching, w.cfg.Source = part, w
	w.setup = func(c *simCodec) {
		c.submitted = func(op *store.Op) {
			if op.Kind == kv.Watch {
				w.creates[op.Watch.Watcher] = append(w.creates[op.Watch.Watcher], op.Watch.Start)
			} else {
				w.value[op.Tag] = append([]byte(nil), op.Value...)
			}
		}
		c.notify = func(number uint32) store.Event { return w.sent[number] }
	}
	w.serve = w.answer
	return w
}

// Fill implements Source. All operations are puts of the one key.
func (w *watchBench) Fill(phase measure.Phase, n uint64, client uint32, op *store.Op) uint64 {
	key := w.space.Append(nil, 0)
	if phase == measure.Warmup {
		n |= warmupBit
	}
	*op = store.Op{Kind: kv.Put, Key: key, Value: w.values.Append(nil, key, client, n)}
	return 0
}

func (w *watchBench) Kind(measure.Phase, uint64) (kv.Kind, kv.Consistency) {
	return kv.Put, kv.NoConsistency
}

func (w *watchBench) Shares(measure.Phase) []Share { return []Share{{Kind: kv.Put, Fraction: 1}} }

func (w *watchBench) Check(_ kv.Kind, _ uint64, ev *store.Event) kv.Outcome {
	if ev.Outcome == kv.OK {
		w.board.Acknowledge(0)
	}
	return ev.Outcome
}

// answer plays the server: it creates watchers, executes puts, sends the events of the puts, and
// replies after 1 ms.
func (w *watchBench) answer(s *sim, conn int, request []byte) {
	s.reply(conn, s.wire+millisecond, reply(request, kv.OK))
	tag := uint32(request[0])<<24 | uint32(request[1])<<16 | uint32(request[2])<<8 | uint32(request[3])
	if kv.Kind(request[4]) == kv.Watch {
		w.watching[tag&^watchMark], w.watchers = true, conn
		return
	}
	w.version++
	w.revision++
	for n := range uint32(len(w.watching)) {
		w.sent = append(w.sent, store.Event{
			Type: store.WatchChange, Watcher: n, Key: w.space.Append(nil, 0), Value: w.value[tag], Version: w.version, Revision: w.revision,
		})
		number := uint32(len(w.sent) - 1)
		if w.deliver != nil {
			w.deliver(w, number)
		} else {
			s.reply(w.watchers, s.wire, event(number))
		}
	}
}

func (w *watchBench) allEvents(t *testing.T) *measure.WatchTotals {
	t.Helper()
	return w.board.Summarize([]*watch.Sink{w.sink})
}

func (w *watchBench) window() *measure.Watch { return &w.totals.Watch }

// The measured latencies of events are exact. The latency from `sent` is the time of one message in
// each direction, because the event does not wait for the reply to its put. The latency from `due`
// also includes the loop's lateness.
func TestWatchLatencyIsExact(t *testing.T) {
	w := newWatchBench(t, 1, 3, open(100, 2*secondNS))
	w.lag = func(int64) int64 { return 300_000 }
	w.run(t)
	if got := w.window(); got.Delivered != 600 || got.Untimed+got.Reordered+got.Duplicated != 0 {
		t.Fatalf("%+v", got)
	}
	sent, due := w.window().FromSent, w.window().FromDue
	near(t, "the mean latency from sent", sent.Mean(), 20_000, 0.001)
	near(t, "the longest latency from sent", float64(sent.Max()), 20_000, 0.002) // the histogram's resolution
	// The loop is rarely awake when an operation becomes due.
	near(t, "the mean latency from due", due.Mean(), 320_000, 0.005)
	if got := w.allEvents(t); got.Expected != 600 || got.Delivered != 600 || got.Lost+got.Impossible+got.Untimed != 0 {
		t.Errorf("%+v", got)
	}
}

// The server stalls for half a second. During the stall, twenty puts are in flight, and the puts
// after them wait. This wait is part of the events' latencies from `due`, but not of their
// latencies from `sent`.
func TestWatchLatencyHasNoCoordinatedOmission(t *testing.T) {
	w := newWatchBench(t, 1, 5, open(500, 2*secondNS))
	w.cfg.MaxInFlight = 20
	w.serve = func(s *sim, conn int, request []byte) {
		if from, to := int64(2.5e9), int64(3e9); s.now >= from && s.now < to {
			s.schedule(to-s.now, func() { w.answer(s, conn, request) })
			return
		}
		w.answer(s, conn, request)
	}
	w.run(t)
	if got := w.window(); got.Delivered != 5000 || got.Untimed+got.Reordered+got.Duplicated != 0 {
		t.Fatalf("%+v", got)
	}
	due, sent := w.window().FromDue, w.window().FromSent
	// 250 of the 1,000 puts waited: the first for 500 ms, and each following put for less time.
	near(t, "p95 from due", float64(due.ValueAtQuantile(95)), 0.4e9, 0.05)
	near(t, "the mean latency from due", due.Mean(), 0.25*0.25e9, 0.08)
	near(t, "p90 from sent", float64(sent.ValueAtQuantile(90)), 20_000, 0.01)
	near(t, "the longest latency from sent", float64(sent.Max()), 0.5e9, 0.01)
}

// The events for the window's last writes arrive after the window has ended. The loop waits for
// these events and counts them.
func TestLateEventsBelongToTheWindow(t *testing.T) {
	w := newWatchBench(t, 1, 2, open(100, secondNS))
	w.deliver = func(w *watchBench, number uint32) { w.reply(0, 3*secondNS, event(number)) }
	w.run(t)
	if got := w.window(); got.Delivered != 200 || got.FromSent.Min() < 3*secondNS-10*millisecond {
		t.Errorf("%d delivered", got.Delivered)
	}
	if got := w.allEvents(t); got.Lost != 0 || got.Delivered != 200 {
		t.Errorf("%+v", got)
	}
}

// Events for writes in the warm-up count in the totals. They never count in the window, however
// late they arrive.
func TestWarmupEventsAreNotInTheWindow(t *testing.T) {
	w := newWatchBench(t, 1, 1, Phase{Kind: measure.Warmup, Duration: secondNS, Pacer: open(100, secondNS).Pacer}, open(50, secondNS))
	w.deliver = func(w *watchBench, number uint32) { w.reply(0, 700*millisecond, event(number)) }
	w.run(t)
	if got := w.window().Delivered; got != 50 {
		t.Errorf("%d events are in the window, want 50", got)
	}
	if got := w.allEvents(t); got.Delivered != 150 || got.Expected != 150 || got.Lost+got.Untimed != 0 {
		t.Errorf("%+v", got)
	}
}

// The loop waits until the timeout for events that are lost, and then counts them as lost. It also
// counts duplicate and reordered events.
func TestWatchFaultsAreCounted(t *testing.T) {
	w := newWatchBench(t, 1, 2, open(100, secondNS))
	w.cfg.Timeout = 2 * secondNS
	w.deliver = func(w *watchBench, number uint32) {
		put := number / 2
		switch {
		// Lost: the last put's event for both watchers, and another put's event for one watcher.
		case put == 99 || put == 20 && number%2 == 0:
		case put == 30: // duplicate
			w.reply(0, w.wire, event(number))
			w.reply(0, 2*w.wire, event(number))
		case put == 40: // arrives after the next two events
			w.reply(0, 25*millisecond, event(number))
		default:
			w.reply(0, w.wire, event(number))
		}
	}
	w.run(t)
	got := w.allEvents(t)
	if got.Expected != 200 || got.Delivered != 197 || got.Lost != 3 || got.Duplicated != 2 || got.Reordered != 2 {
		t.Errorf("%+v", got)
	}
	if s := w.window(); s.Delivered != 197 || s.Duplicated != 2 || s.Reordered != 2 {
		t.Errorf("%+v", s)
	}
	if waited := w.now - w.res.WindowEnd; waited < 2*secondNS || waited > 3*secondNS {
		t.Errorf("the loop waited %d ns for lost events", waited)
	}
}

// When a connection is lost, its watchers end. Each watcher is created again at the revision that
// it had reached. An event is lost only if the server does not send it again.
func TestWatchersAreCreatedAgain(t *testing.T) {
	w := newWatchBench(t, 2, 3, open(100, 2*secondNS))
	cutAt := w.now + 2*secondNS + 5*millisecond // between two puts
	w.at = func(s *sim) {
		if cutAt > 0 && s.now > cutAt {
			cutAt = 0
			s.cut(0)
		}
	}
	w.run(t)
	got := w.allEvents(t)
	if got.Resubscribed != 3 {
		t.Fatalf("%+v", got)
	}
	for n, starts := range w.creates {
		if len(starts) != 2 || starts[0] != 0 || starts[1] < 150 || starts[1] > 300 {
			t.Errorf("watcher %d was created from revisions %v", n, starts)
		}
	}
	if got.Duplicated+got.Reordered+got.Wrong != 0 || got.Delivered+got.Lost != got.Expected {
		t.Errorf("%+v", got)
	}
}

// If the store refuses to create a watcher, the load does not start, and the error includes the
// store's text.
func TestRefusedWatcherIsReported(t *testing.T) {
	w := newWatchBench(t, 1, 1, open(100, secondNS))
	w.serve = func(s *sim, conn int, request []byte) { s.reply(conn, s.wire, reply(request, kv.Denied)) }
	w.cfg.Deliver = func(*measure.Second) {}
	w.cfg.Codecs = func(store.ConnectionInfo) store.Codec { return newSimCodec(100) }
	var got error
	if r := New(w.cfg, w.sim).Run(w.now+secondNS, func(err error) { got = err }); r != nil || got == nil || got.Error() != "server refused to create a watcher: denied" {
		t.Errorf("%v", got)
	}
	w = newWatchBench(t, 1, 1, open(100, secondNS))
	w.serve = func(*sim, int, []byte) {}
	w.cfg.Timeout = secondNS
	if r := New(w.cfg, w.sim).Run(w.now+secondNS, func(err error) { got = err }); r != nil || got == nil || got.Error() != "1 of 1 watchers were not created in time" {
		t.Errorf("%v", got)
	}
}

// eventCounter is a History that counts watch events.
type eventCounter struct {
	HistoryBase
	events int
}

func (*eventCounter) OperationEnded(*Completion) {}

func (h *eventCounter) WatchEvent(uint32, *store.Event, int64, int64, int64) { h.events++ }

// Processing a watch event does not allocate.
func TestEventsDoNotAllocate(t *testing.T) {
	w := newWatchBench(t, 1, 1, open(100, secondNS))
	w.cfg.Deliver = func(*measure.Second) {}
	l := New(w.cfg, w.sim)
	l.clock.current = &second{}
	l.clock.current.Phase = measure.Measured
	key := w.space.Append(nil, 0)
	value := w.values.Append(nil, key, 0, 7)
	w.board.Times.SetDue(measure.Measured, 7, 1)
	w.board.Times.SetSent(measure.Measured, 7, 2)
	version, ev, history := int64(0), &store.Event{}, eventCounter{}
	l.watchers.cfg.History, l.watchers.recordsSlots = &history, true
	once := func() {
		version++
		l.now += 1000
		*ev = store.Event{Type: store.WatchChange, Key: key, Value: value, Version: version, Revision: version}
		l.watchers.handle(0, ev, l.now, l.clock.current, &l.secs)
	}
	once()
	if n := testing.AllocsPerRun(1000, once); n != 0 {
		t.Errorf("%v allocations per event", n)
	}
	if got := l.clock.current.Watch; got.Delivered < 1000 || got.Untimed != 0 || uint64(history.events) != got.Delivered {
		t.Errorf("the events are %+v, and the history received %d", got, history.events)
	}
}

// This test uses watchers without a loop. Watchers are created while the connection accepts
// operations. They are created again after a stream has ended, and on the next connection after a
// loss.
func TestWatchersWithoutALoopAreCreatedAgain(t *testing.T) {
	bench := newWatchBench(t, 1, 3)
	p := newPolicy(1, false)
	p.connections.codecs = func(store.ConnectionInfo) store.Codec {
		c := newSimCodec(2)
		bench.setup(c)
		p.codecs = append(p.codecs, c)
		return c
	}
	var w watchers
	w.init(&Config{Watching: bench.cfg.Watching}, &p.connections, &p.ops)
	answer := func(codec int, n uint32, o kv.Outcome, now int64) {
		delete(p.codecs[codec].openTags, watchMark|n)
		w.handle(0, &store.Event{Tag: watchMark | n, Outcome: o, Revision: 50}, now, nil, nil)
	}
	w.begin(1)
	if w.missing != 3 || len(bench.creates) != 0 {
		t.Fatalf("before the first connection, %d watchers are missing and %v were created; want 3 and none", w.missing, bench.creates)
	}
	p.connect(t, 0)
	w.submitPending(0, 2)
	if len(bench.creates) != 2 || len(w.pending[0]) != 1 {
		t.Fatalf("the created watchers are %v, want 2, because there is room for 2", bench.creates)
	}
	answer(0, 0, kv.OK, 3)
	answer(0, 1, kv.OK, 3)
	w.submitPending(0, 4)
	answer(0, 2, kv.OK, 5)
	if all, err := w.allCreated(); !all || err != nil {
		t.Fatalf("%d watchers are missing, error %v", w.missing, err)
	}

	w.handle(0, &store.Event{Type: store.WatchProgress, Watcher: 1, Revision: 70}, 6, nil, nil)
	w.handle(0, &store.Event{Type: store.WatchEnded, Watcher: 1, Outcome: kv.ConnectionLost}, 10, nil, nil)
	w.retry(10 + watchRetryDelay - 1)
	if len(bench.creates[1]) != 1 {
		t.Error("the watcher was created again before the retry delay had passed")
	}
	w.retry(10 + watchRetryDelay)
	if got := bench.creates[1]; len(got) != 2 || got[1] != 71 {
		t.Errorf("the watcher was created from the revisions %v, want 71 for the second creation", got)
	}

	p.closeBroken(0, errRefused)
	w.connectionLost(0)
	p.finishLoss(0, 20)
	if w.missing != 3 || len(w.pending[0]) != 3 {
		t.Errorf("%d watchers are missing, want 3; the pending watchers are %v", w.missing, w.pending)
	}
	p.connect(t, 0)
	w.submitPending(0, 30)
	answer(1, 0, kv.Denied, 31)
	w.submitPending(0, 32)
	if w.state[0] != ended || w.missing != 2 || len(bench.creates[2]) != 2 || bench.creates[2][1] != 51 {
		t.Errorf("state %v, %d watchers are missing, created %v", w.state, w.missing, bench.creates)
	}
	if all, err := w.allCreated(); all || err != nil {
		t.Errorf("after a watcher was refused, allCreated returned true or the error %v", err)
	}
}

// A loop without watchers does not hold a second open. It only reports that its operations have
// ended.
func TestLoopWithoutWatchersHoldsNoSecond(t *testing.T) {
	p := newPolicy(1, false)
	for _, cfg := range []*WatchSetup{nil, {Board: newWatchBench(t, 1, 1).board}} {
		var w watchers
		w.init(&Config{Watching: cfg}, &p.connections, &p.ops)
		w.begin(1)
		w.connectionLost(0)
		w.retry(2)
		s := &second{}
		s.Phase = measure.Measured
		w.holdTail(s)
		if s.open != 0 || !w.isSettled(3) {
			t.Errorf("%+v", w)
		}
	}
}

// In a load with faults, each second records when events arrived, how late they were, and how many
// were missing. In this test, no event arrives for 700 ms. Then all delayed events arrive except
// two. One of these two arrives later.
func TestEventsWithinASecondAreRecorded(t *testing.T) {
	w := newWatchBench(t, 1, 1, open(100, 4*secondNS))
	w.cfg.RecordSlotDetail = true
	w.deliver = func(w *watchBench, number uint32) {
		d := w.wire
		switch {
		case number == 120:
			return
		case number == 125: // arrives later
			d = 2 * secondNS
		case number >= 100 && number < 170: // delayed until the time of event 170
			d = int64(170-number) * 10 * millisecond
		}
		w.reply(0, d, event(number))
	}
	w.run(t)
	var timeline measure.WindowTimeline
	for i := range w.each {
		timeline.Add(measure.NewWindowSecond(&w.each[i], measure.Figure{}))
	}
	got := timeline.WatchTimeline
	if got == nil {
		t.Fatal("no events are recorded")
	}
	if o, _, ok := got.Events.Outage(0, 1005, 4000); !ok || o.Length() < 690 || o.Length() > 715 {
		t.Errorf("the time without an event is %+v, %v", o, ok)
	}
	most, passed, madeUp, late := uint32(0), uint32(0), uint32(0), uint32(0)
	for i := range got.MaxDelays {
		most, passed, madeUp = max(most, got.MaxDelays[i]), passed+got.NewlyMissing[i], madeUp+got.NoLongerMissing[i]
	}
	for _, l := range got.Late {
		late += l.Count
	}
	// The events 100 to 160 are at least 100 ms late, except the event that never arrives.
	if most < 2000 || most > 2002 || passed-madeUp != 1 || late < 58 || late > 61 {
		t.Errorf("the largest delay is %d ms, %d events were skipped, %d of these arrived later, and %d events were late", most, passed, madeUp, late)
	}
}

// If a lease disappears before its TTL has passed, it has ended early. The end of a lease is
// counted only once.
func TestEndedLeasesAreRecorded(t *testing.T) {
	l, s := leases{}, &second{start: 20 * secondNS}
	kept := store.Event{Outcome: kv.OK, Count: 10}
	gone := store.Event{Outcome: kv.BadRequest, StoreRevision: 7}
	l.noteReply(1, 15*secondNS, 16*secondNS, &kept, nil)
	l.noteReply(1, 20*secondNS, 20*secondNS+5*millisecond, &gone, s) // 5 s before it was due to expire
	l.noteReply(1, 20*secondNS, 20*secondNS+6*millisecond, &gone, s)
	l.noteReply(2, 5*secondNS, 6*secondNS, &kept, nil)
	l.noteReply(2, 20*secondNS, 20*secondNS+7*millisecond, &gone, s) // 5 s after it was due to expire
	l.noteReply(3, 20*secondNS, 21*secondNS, &store.Event{Outcome: kv.TimedOut}, s)
	l.noteReply(4, 20*secondNS, 21*secondNS, &store.Event{Outcome: kv.BadRequest}, s) // no revision
	if s.SlotDetail == nil || s.SlotDetail.Watch == nil || len(s.SlotDetail.Watch.Leases) != 2 {
		t.Fatalf("the slot detail is %+v, want two ended leases", s.SlotDetail)
	}
	if got := s.SlotDetail.Watch.Leases; got[0] != (measure.LeaseEnd{Lease: 1, At: 5, Early: true}) || got[1] != (measure.LeaseEnd{Lease: 2, At: 7}) {
		t.Errorf("the ended leases are %+v", got)
	}
}
