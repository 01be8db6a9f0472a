package engine

import (
	"cmp"
	"fmt"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/watch"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Watching is one loop's part of the watching beside a load.
type Watching struct {
	Sink  *watch.Sink // nil: this loop has no watchers
	Board *watch.Board
	// Conns has a connection's index for each watcher of this loop.
	Conns []int
	// Fill completes the operation that creates a watcher: its key, and what its
	// payload op.Watch says. The memory it gives to op stays as it is until the
	// next Fill.
	Fill func(watcher uint32, op *store.Op)
	// Start is the first revision wanted; 0 for what is written from now on.
	Start int64
	// Present says that a watcher can only begin with what is written from now on,
	// also where it is created again.
	Present bool
	// AtWindow creates the watchers when the measured window opens, and not
	// before the first phase.
	AtWindow bool
	// History is nil where nobody checks what the watchers are told. Where it is not,
	// the streams are asked now and then how far they have been told.
	History History
	// Acknowledged takes the answer, which is no error, to a write whose Fill returned
	// ref, and that was sent at sent.
	Acknowledged func(kind kv.Kind, ref uint64, sent int64, ev *store.Event)
	// Unsure takes the end of a write that failed and may have been done all the same. May
	// be nil.
	Unsure func(kind kv.Kind, ref uint64)
	// AskEvery is how often a stream is asked how far its watchers have been told, one
	// after the other, in nanoseconds; 0: as History needs it.
	AskEvery int64
	// Silent reports whether a watcher's stream is never asked that; nil: each is.
	Silent func(watcher uint32) bool
	// Caught is called, once, when the watchers have all that Sink expects besides
	// the load's own writes. May be nil.
	Caught func()
}

// watchMark is in the tags of operations that create watchers; those of slots
// are below it.
const watchMark = 1 << 30

// retryWatch is the wait before watchers of a stream that ended are created
// again.
const retryWatch = 100 * millisecond

type watcherState uint8

const (
	absent watcherState = iota // waits to be created
	asked                      // its creation was submitted
	alive
	ended // for good
)

// watchers are those of one loop: which of them exist on which connection, which
// are to be created again after a loss, and what they have seen.
type watchers struct {
	cfg     *Watching // nil: nothing is watched beside the load
	none    bool      // this loop has no watchers; others may
	conns   *connections
	ops     *slots
	timeout int64
	op      store.Op
	what    store.WatchOp // its payload

	state   []watcherState
	seen    []int64    // the store's revision up to which a watcher has seen all
	todo    [][]uint32 // by place: watchers to be created there
	of      [][]uint32 // by place: all watchers that belong there
	again   []bool     // was created before
	askedAt []int64
	open    bool // watchers are to be created now
	missing int  // neither alive nor ended
	retryAt int64
	later   []uint32   // to be created again at retryAt
	tail    heldSecond // what comes behind the window belongs to it
	failed  error      // why a watcher could not be created the first time
	quiet   bool       // this loop's operations have ended
	till    int64      // when the wait for the rest of the events ends; 0: it has not begun
	caught  bool
	events  uint64 // that came
	fine    bool   // Config.Fine

	askAt   int64  // when a stream is asked next how far its watchers have been told
	askNext uint32 // the watcher whose it is
}

func (w *watchers) init(cfg *Config, conns *connections, ops *slots) {
	*w = watchers{cfg: cfg.Watching, none: true, conns: conns, ops: ops, timeout: cfg.Timeout, retryAt: never, fine: cfg.Fine}
	if w.cfg == nil || w.cfg.Sink == nil {
		return
	}
	w.none = false
	n := len(w.cfg.Conns)
	w.state, w.seen, w.again = make([]watcherState, n), make([]int64, n), make([]bool, n)
	w.askedAt = make([]int64, n)
	w.todo, w.of = make([][]uint32, len(conns.places)), make([][]uint32, len(conns.places))
	for i, c := range w.cfg.Conns {
		w.of[c] = append(w.of[c], uint32(i))
		w.todo[c] = append(w.todo[c], uint32(i))
	}
	w.missing = n
	if w.cfg.Start > 0 {
		for i := range w.seen {
			w.seen[i] = w.cfg.Start - 1
		}
	}
}

// begin lets the watchers be created, on the connections that are up.
func (w *watchers) begin(now int64) {
	if w.none || w.open {
		return
	}
	w.open = true
	for i, c := range w.conns.table {
		if c.state == up {
			w.pump(i, now)
		}
	}
}

// created reports whether all watchers have been created that are to be there
// before the load; an error says why one cannot be.
func (w *watchers) created() (bool, error) { return w.missing == 0, w.failed }

// pump creates watchers on a connection as long as it has room.
func (w *watchers) pump(i int, now int64) {
	if !w.open {
		return
	}
	c := w.conns.table[i]
	if c.moved || len(w.todo[c.place]) == 0 {
		return
	}
	todo, k := w.todo[c.place], 0
	for ; k < len(todo) && c.ready(); k++ {
		n := todo[k]
		op := &w.op
		w.what = store.WatchOp{Watcher: n}
		*op = store.Op{Kind: kv.Watch, Tag: watchMark | n, Watch: &w.what}
		w.cfg.Fill(n, op)
		if w.seen[n] > 0 && !w.cfg.Present {
			w.what.Start = w.seen[n] + 1
		}
		w.state[n], w.askedAt[n] = asked, now
		c.codec.Submit(op)
		w.conns.touch(i)
	}
	w.todo[c.place] = todo[:copy(todo, todo[k:])]
}

// handle acts on what a codec says about a watcher. Events are counted in the
// current second, if there is one.
func (w *watchers) handle(i int, ev *store.Event, now int64, current *second, secs *secondQueue) {
	if w.none || w.conns.table[i].moved { // its watchers are on the place's new connection
		return
	}
	switch ev.What {
	case store.Notify:
		w.notified(ev, now, current, secs)
	case store.Seen:
		w.seen[ev.Watcher] = max(w.seen[ev.Watcher], ev.Revision)
		w.tell(ev.Watcher, ev, 0, now)
	case store.Done:
		w.conns.note(w.conns.table[i], ev)
		w.answered(i, ev, now, current)
	case store.Ended:
		w.end(ev.Watcher, ev, now, current)
	}
}

// tell gives the history what a watcher was told. A watcher that a store refuses to
// create was told nothing but its end.
func (w *watchers) tell(n uint32, ev *store.Event, from, now int64) {
	if w.cfg.History != nil {
		w.cfg.History.Told(n, ev, w.askedAt[n], from, now)
	}
}

// Between two questions how far a stream's watchers have been told lies as much; of
// many watchers more, since each is told.
const (
	askEvery   = 100 * millisecond
	askEachFor = millisecond
)

// ask asks one stream how far its watchers have been told: the next watcher's.
func (w *watchers) ask(now int64) {
	if w.none || w.cfg.History == nil && w.cfg.AskEvery == 0 || !w.open || now < w.askAt {
		return
	}
	n := w.askNext
	w.askAt = now + max(askEvery, int64(len(w.state))*askEachFor)
	if w.cfg.AskEvery > 0 {
		w.askAt = now + w.cfg.AskEvery
	}
	w.askNext = (n + 1) % uint32(len(w.state))
	if w.cfg.Silent != nil && w.cfg.Silent(n) {
		return
	}
	i := w.conns.places[w.cfg.Conns[n]]
	if c := w.conns.table[i]; w.state[n] == alive && c.ready() {
		op := &w.op
		w.what = store.WatchOp{Watcher: n}
		*op = store.Op{Kind: kv.Watch, Watch: &w.what}
		w.cfg.Fill(n, op)
		w.what.Progress = true
		c.codec.Submit(op)
		w.conns.touch(i)
	}
}

// checkCaught reports, once, that the watchers have what they were to catch up
// with.
func (w *watchers) checkCaught() {
	if w.caught || !w.cfg.Sink.Caught() {
		return
	}
	w.caught = true
	if w.cfg.Caught != nil {
		w.cfg.Caught()
	}
}

// answered takes the answer to a watcher's creation.
func (w *watchers) answered(i int, ev *store.Event, now int64, s *second) {
	n := ev.Tag &^ watchMark
	if ev.Outcome.Failed() {
		w.end(n, ev, now, s)
		if w.state[n] == ended && !w.again[n] && w.failed == nil {
			w.failed = fmt.Errorf("%s does not create a watcher: %s", w.conns.table[i].endpoint, textOf(ev))
		}
		return
	}
	if w.state[n] != asked {
		return
	}
	w.state[n] = alive
	w.missing--
	from := int64(0)
	if w.seen[n] > 0 && !w.cfg.Present {
		from = w.seen[n] + 1
	}
	w.tell(n, ev, from, now)
	if w.seen[n] == 0 {
		w.seen[n] = ev.Revision
	}
	w.cfg.Sink.Begun(n, ev.Version, cmp.Or(ev.Mod, ev.Revision))
	if w.again[n] {
		w.cfg.Sink.Resubscribed()
		w.broke(true, now, s)
	} else {
		w.cfg.Sink.Created(w.askedAt[n], now)
	}
	w.again[n] = true
}

func textOf(ev *store.Event) string {
	if len(ev.Text) > 0 {
		return string(ev.Text)
	}
	return ev.Outcome.String()
}

// end takes the end of a watcher: for good if the store refuses it, else it is
// created again, on the next connection where lost does that.
func (w *watchers) end(n uint32, ev *store.Event, now int64, s *second) {
	if w.state[n] != alive && w.state[n] != asked {
		return
	}
	if w.state[n] == alive {
		w.missing++
	}
	switch ev.Outcome {
	case kv.BadRequest, kv.Denied:
		w.tell(n, ev, 0, now)
		w.state[n] = ended
		w.missing--
		w.cfg.Sink.Ended(n, ev.Text)
		w.broke(false, now, s)
		w.checkCaught()
		return
	}
	w.state[n] = absent
	if w.conns.table[w.conns.places[w.cfg.Conns[n]]].state != up {
		return
	}
	w.later = append(w.later, n)
	if w.retryAt == never {
		w.retryAt = now + retryWatch
	}
}

// retry creates the watchers again whose streams ended a while ago.
func (w *watchers) retry(now int64) {
	if now < w.retryAt {
		return
	}
	w.retryAt = never
	for _, n := range w.later {
		if w.state[n] == absent {
			place := w.cfg.Conns[n]
			w.todo[place] = append(w.todo[place], n)
		}
	}
	w.later = w.later[:0]
	for p := range w.todo {
		if i := w.conns.places[p]; w.conns.table[i].state == up {
			w.pump(i, now)
		}
	}
}

// lost makes all watchers of a connection that ended wait for the place's next.
func (w *watchers) lost(i int) {
	if w.none || w.conns.table[i].moved {
		return
	}
	place := w.conns.table[i].place
	w.todo[place] = w.todo[place][:0]
	for _, n := range w.of[place] {
		switch w.state[n] {
		case ended:
			continue
		case alive:
			w.missing++
		}
		w.state[n] = absent
		w.todo[place] = append(w.todo[place], n)
	}
	kept := w.later[:0]
	for _, n := range w.later {
		if w.cfg.Conns[n] != place {
			kept = append(kept, n)
		}
	}
	w.later = kept
}

// settled reports whether nothing is to be awaited of the watchers any more: all
// events came that acknowledged writes make, or the timeout has passed since the
// last write of any loop. The loop is draining and has nothing in flight.
func (w *watchers) settled(now int64) bool {
	switch {
	case w.cfg == nil:
		return true
	case w.none:
		w.cfg.Board.Done()
		return true
	case !w.quiet:
		w.quiet = true
		w.cfg.Board.Done()
	}
	if !w.cfg.Board.Quiet() {
		return false
	}
	if w.till == 0 {
		w.till = now + w.timeout
	}
	return now >= w.till || w.cfg.Sink.Settled()
}
