package engine

import (
	"cmp"
	"fmt"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/watch"
	"github.com/quorumbench/quorumbench/internal/store"
)

// WatchSetup describes one loop's watchers, and what the loop records about its own writes for the
// watchers of all loops.
type WatchSetup struct {
	Sink  *watch.Sink // nil if this loop has no watchers
	Board *watch.Board
	// Conns lists, for each watcher of this loop, the index of its connection.
	Conns []int
	// Fill sets the key and the payload (op.Watch) of the operation that creates a watcher. The
	// memory that op refers to stays valid until the next call of Fill.
	Fill func(watcher uint32, op *store.Op)
	// Start is the first revision to watch. 0 means that a watcher watches the writes after its
	// creation.
	Start int64
	// LiveOnly is set if a watcher, even a re-created one, can receive only the writes after its
	// creation.
	LiveOnly bool
	// CreateInWindow is set if watchers are created when the measurement window opens. Otherwise
	// they are created before the first phase.
	CreateInWindow bool
	// History records the watchers' events. It is nil if they are not verified. If it is set, the
	// loop regularly requests the streams' progress.
	History History
	// OnAcknowledged is called with the successful reply to a write. ref is the value that Fill
	// returned for the write, and sent is the time at which the write was sent. OnAcknowledged may
	// be nil.
	OnAcknowledged func(kind kv.Kind, ref uint64, sent int64, ev *store.Event)
	// OnUncertain is called when a write failed although the store may have executed it.
	// OnUncertain may be nil.
	OnUncertain func(kind kv.Kind, ref uint64)
	// ProgressInterval is the time between two progress requests in nanoseconds. The requests go to
	// the watchers' streams in turn. 0 selects the interval that History needs.
	ProgressInterval int64
	// SkipsProgress reports whether the loop sends no progress requests on a watcher's stream. If
	// SkipsProgress is nil, the loop sends progress requests on each stream.
	SkipsProgress func(watcher uint32) bool
	// OnCaughtUp is called once, when the watchers have received all events that Sink expects
	// except those of the load's own writes. OnCaughtUp may be nil.
	OnCaughtUp func()
}

// watchMark is a bit that is set in the tags of operations that create watchers. The tags of slots
// are smaller than watchMark.
const watchMark = 1 << 30

// watchRetryDelay is how long the loop waits before it re-creates the watchers of a stream that has
// ended.
const watchRetryDelay = 100 * millisecond

type watcherState uint8

const (
	absent    watcherState = iota // waits to be created
	requested                     // its creation was requested
	alive
	ended // the store refused the watcher, so the loop does not create it again
)

// watchers manages one loop's watchers. It records which watchers exist on each connection, which
// of them must be created again after a loss, and up to which revision each watcher has received
// events.
//
// Invariant: missing is the number of watchers that are in the state absent or requested.
type watchers struct {
	cfg     *WatchSetup // nil if no loop of the load has watchers
	isEmpty bool        // this loop has no watchers, but other loops may have some
	conns   *connections
	slots   *slots
	timeout int64
	op      store.Op
	watchOp store.WatchOp // payload of op

	state        []watcherState
	lastRevision []int64    // revision up to which a watcher has received all events
	pending      [][]uint32 // by place: watchers to create there
	byPlace      [][]uint32 // by place: all watchers there
	recreated    []bool     // already created once: further creations are re-creations
	requestedAt  []int64
	canCreate    bool // watchers may be created now
	missing      int  // number of watchers that are neither alive nor ended
	retryAt      int64
	retrying     []uint32   // watchers to create again at retryAt
	tail         heldSecond // the second in which the loop counts events that arrive after the window
	firstRefusal error      // error of the first refused creation; refused re-creations do not count
	loopEnded    bool       // all operations of this loop have ended
	deadline     int64      // deadline for the remaining events; 0: not set yet
	caughtUp     bool
	events       uint64 // events received
	recordsSlots bool   // Config.RecordSlotDetail

	progressAt          int64  // when the next progress request is due
	nextProgressWatcher uint32 // the watcher whose stream receives it
}

func (w *watchers) init(cfg *Config, conns *connections, ops *slots) {
	*w = watchers{cfg: cfg.Watching, isEmpty: true, conns: conns, slots: ops, timeout: cfg.Timeout, retryAt: never, recordsSlots: cfg.RecordSlotDetail}
	if w.cfg == nil || w.cfg.Sink == nil {
		return
	}
	w.isEmpty = false
	n := len(w.cfg.Conns)
	w.state, w.lastRevision, w.recreated = make([]watcherState, n), make([]int64, n), make([]bool, n)
	w.requestedAt = make([]int64, n)
	w.pending, w.byPlace = make([][]uint32, len(conns.places)), make([][]uint32, len(conns.places))
	for i, c := range w.cfg.Conns {
		w.byPlace[c] = append(w.byPlace[c], uint32(i))
		w.pending[c] = append(w.pending[c], uint32(i))
	}
	w.missing = n
	if w.cfg.Start > 0 {
		for i := range w.lastRevision {
			w.lastRevision[i] = w.cfg.Start - 1
		}
	}
}

// begin allows the loop to create watchers, and starts to create them on the connections that are
// up.
func (w *watchers) begin(now int64) {
	if w.isEmpty || w.canCreate {
		return
	}
	w.canCreate = true
	for i, c := range w.conns.table {
		if c.state == up {
			w.submitPending(i, now)
		}
	}
}

// allCreated reports whether every watcher has been created or refused. The error is the first
// refusal.
func (w *watchers) allCreated() (bool, error) { return w.missing == 0, w.firstRefusal }

// submitPending creates watchers on a connection while the connection accepts operations.
func (w *watchers) submitPending(i int, now int64) {
	if !w.canCreate {
		return
	}
	c := w.conns.table[i]
	if c.moved || len(w.pending[c.place]) == 0 {
		return
	}
	pending, k := w.pending[c.place], 0
	for ; k < len(pending) && c.ready(); k++ {
		n := pending[k]
		op := &w.op
		w.watchOp = store.WatchOp{Watcher: n}
		*op = store.Op{Kind: kv.Watch, Tag: watchMark | n, Watch: &w.watchOp}
		w.cfg.Fill(n, op)
		if start := w.nextRevision(n); start > 0 {
			w.watchOp.Start = start
		}
		w.state[n], w.requestedAt[n] = requested, now
		c.codec.Submit(op)
		w.conns.touch(i)
	}
	w.pending[c.place] = pending[:copy(pending, pending[k:])]
}

// nextRevision returns the revision at which a watcher must start to receive all events that follow
// its last event. It returns 0 if there was none, or if the store cannot watch past revisions.
func (w *watchers) nextRevision(n uint32) int64 {
	if w.lastRevision[n] == 0 || w.cfg.LiveOnly {
		return 0
	}
	return w.lastRevision[n] + 1
}

// handle processes a codec's event for a watcher, and counts it in the current second, if there is
// one.
func (w *watchers) handle(i int, ev *store.Event, now int64, current *second, secs *secondQueue) {
	if w.isEmpty || w.conns.table[i].moved { // the place's watchers now belong to its new connection
		return
	}
	switch ev.Type {
	case store.WatchChange:
		w.handleEvent(ev, now, current, secs)
	case store.WatchProgress:
		w.lastRevision[ev.Watcher] = max(w.lastRevision[ev.Watcher], ev.Revision)
		w.recordEvent(ev.Watcher, ev, 0, now)
	case store.OperationDone:
		w.conns.noteReply(w.conns.table[i], ev)
		w.handleCreation(i, ev, now, current)
	case store.WatchEnded:
		w.endWatcher(ev.Watcher, ev, now, current)
	}
}

// recordEvent passes an event for a watcher to the history. If the store refuses a watcher, the
// watcher's only event is its end.
func (w *watchers) recordEvent(n uint32, ev *store.Event, from, now int64) {
	if w.cfg.History != nil {
		w.cfg.History.WatchEvent(n, ev, w.requestedAt[n], from, now)
	}
}

// minProgressInterval is the minimum interval between two progress requests. Every watcher on a
// stream gets a reply to the stream's progress request. So a loop with many watchers uses a longer
// interval: progressPerWatcher times the number of watchers.
const (
	minProgressInterval = 100 * millisecond
	progressPerWatcher  = millisecond
)

// requestProgress sends a progress request to the next watcher's stream, if a request is due.
func (w *watchers) requestProgress(now int64) {
	if w.isEmpty || w.cfg.History == nil && w.cfg.ProgressInterval == 0 || !w.canCreate || now < w.progressAt {
		return
	}
	n := w.nextProgressWatcher
	w.progressAt = now + max(minProgressInterval, int64(len(w.state))*progressPerWatcher)
	if w.cfg.ProgressInterval > 0 {
		w.progressAt = now + w.cfg.ProgressInterval
	}
	w.nextProgressWatcher = (n + 1) % uint32(len(w.state))
	if w.cfg.SkipsProgress != nil && w.cfg.SkipsProgress(n) {
		return
	}
	i := w.conns.places[w.cfg.Conns[n]]
	if c := w.conns.table[i]; w.state[n] == alive && c.ready() {
		op := &w.op
		w.watchOp = store.WatchOp{Watcher: n}
		*op = store.Op{Kind: kv.Watch, Watch: &w.watchOp}
		w.cfg.Fill(n, op)
		w.watchOp.RequestProgress = true
		c.codec.Submit(op)
		w.conns.touch(i)
	}
}

// checkCaughtUp calls WatchSetup.OnCaughtUp once, when the watchers have caught up.
func (w *watchers) checkCaughtUp() {
	if w.caughtUp || !w.cfg.Sink.CaughtUp() {
		return
	}
	w.caughtUp = true
	if w.cfg.OnCaughtUp != nil {
		w.cfg.OnCaughtUp()
	}
}

// handleCreation processes the reply to a watcher's creation.
func (w *watchers) handleCreation(i int, ev *store.Event, now int64, s *second) {
	n := ev.Tag &^ watchMark
	if ev.Outcome.Failed() {
		w.endWatcher(n, ev, now, s)
		if w.state[n] == ended && !w.recreated[n] && w.firstRefusal == nil {
			w.firstRefusal = fmt.Errorf("%s refused to create a watcher: %s", w.conns.table[i].endpoint, eventText(ev))
		}
		return
	}
	if w.state[n] != requested {
		return
	}
	w.state[n] = alive
	w.missing--
	w.recordEvent(n, ev, w.nextRevision(n), now)
	if w.lastRevision[n] == 0 {
		w.lastRevision[n] = ev.Revision
	}
	w.cfg.Sink.StartAt(n, ev.Version, cmp.Or(ev.ModRevision, ev.Revision))
	if w.recreated[n] {
		w.cfg.Sink.RecordRecreation()
		w.noteEnded(true, now, s)
	} else {
		w.cfg.Sink.RecordCreation(w.requestedAt[n], now)
	}
	w.recreated[n] = true
}

// eventText returns the text of a failed event, or the name of its outcome if it has no text.
func eventText(ev *store.Event) string {
	if len(ev.Text) > 0 {
		return string(ev.Text)
	}
	return ev.Outcome.String()
}

// endWatcher processes the end of a watcher. A watcher that the store refused is not created again.
// Any other watcher is created again: after watchRetryDelay or, if its connection is down, on its
// place's next connection.
func (w *watchers) endWatcher(n uint32, ev *store.Event, now int64, s *second) {
	if w.state[n] != alive && w.state[n] != requested {
		return
	}
	if w.state[n] == alive {
		w.missing++
	}
	switch ev.Outcome {
	case kv.BadRequest, kv.Denied:
		w.recordEvent(n, ev, 0, now)
		w.state[n] = ended
		w.missing--
		w.cfg.Sink.RecordEnd(n, ev.Text)
		w.noteEnded(false, now, s)
		w.checkCaughtUp()
		return
	}
	w.state[n] = absent
	if w.conns.table[w.conns.places[w.cfg.Conns[n]]].state != up {
		return
	}
	w.retrying = append(w.retrying, n)
	if w.retryAt == never {
		w.retryAt = now + watchRetryDelay
	}
}

// retry creates watchers again after their streams have ended. It does so when watchRetryDelay has
// passed since the first of these streams ended.
func (w *watchers) retry(now int64) {
	if now < w.retryAt {
		return
	}
	w.retryAt = never
	for _, n := range w.retrying {
		if w.state[n] == absent {
			place := w.cfg.Conns[n]
			w.pending[place] = append(w.pending[place], n)
		}
	}
	w.retrying = w.retrying[:0]
	for p := range w.pending {
		if i := w.conns.places[p]; w.conns.table[i].state == up {
			w.submitPending(i, now)
		}
	}
}

// connectionLost makes all watchers of a lost connection wait for their place's next connection.
func (w *watchers) connectionLost(i int) {
	if w.isEmpty || w.conns.table[i].moved {
		return
	}
	place := w.conns.table[i].place
	w.pending[place] = w.pending[place][:0]
	for _, n := range w.byPlace[place] {
		switch w.state[n] {
		case ended:
			continue
		case alive:
			w.missing++
		}
		w.state[n] = absent
		w.pending[place] = append(w.pending[place], n)
	}
	kept := w.retrying[:0]
	for _, n := range w.retrying {
		if w.cfg.Conns[n] != place {
			kept = append(kept, n)
		}
	}
	w.retrying = kept
}

// isSettled reports whether the watchers have nothing more to wait for: all events of acknowledged
// writes have arrived, or the timeout has passed since the last operation in any loop ended. It is
// called during the drain, when the loop has no operation in flight.
func (w *watchers) isSettled(now int64) bool {
	switch {
	case w.cfg == nil:
		return true
	case w.isEmpty:
		w.cfg.Board.EndLoop()
		return true
	case !w.loopEnded:
		w.loopEnded = true
		w.cfg.Board.EndLoop()
	}
	if !w.cfg.Board.AllLoopsEnded() {
		return false
	}
	if w.deadline == 0 {
		w.deadline = now + w.timeout
	}
	return now >= w.deadline || w.cfg.Sink.Settled()
}
