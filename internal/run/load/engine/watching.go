package engine

import (
	"errors"
	"fmt"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/run/load/watch"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Watching is one loop's part of the watching beside a load.
type Watching struct {
	Sink  *watch.Sink // nil: this loop has no watchers
	Board *watch.Board
	// Conns has a connection's index for each watcher of this loop.
	Conns []int
	// Fill makes the operation that creates a watcher: key, end, stream. The
	// memory it gives to op stays as it is until the next Fill.
	Fill func(watcher uint32, op *store.Op)
	// Start is the first revision wanted; 0 for what is written from now on.
	Start int64
	// AtWindow creates the watchers when the measured window opens, and not
	// before the first phase.
	AtWindow bool
	// Caught is told, once, that the watchers have all that Sink expects beside
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

// watching is the loop's side of it.
type watching struct {
	cfg     *Watching
	state   []watcherState
	seen    []int64    // the store's revision up to which a watcher has seen all
	todo    [][]uint32 // by place: watchers to be created there
	of      [][]uint32 // by place: all watchers that belong there
	again   []bool     // was created before
	askedAt []int64
	open    bool // watchers are to be created now
	missing int  // neither alive nor ended
	retryAt int64
	later   []uint32 // to be created again at retryAt
	tail    *second  // the last second: what comes afterwards belongs to it
	failed  error    // why a watcher could not be created the first time
	quiet   bool     // this loop's operations have ended
	till    int64    // when the wait for the rest of the events ends; 0: it has not begun
	caught  bool
}

func newWatching(cfg *Watching, conns int) *watching {
	w := &watching{cfg: cfg, retryAt: never}
	n := len(cfg.Conns)
	w.state, w.seen, w.again = make([]watcherState, n), make([]int64, n), make([]bool, n)
	w.askedAt = make([]int64, n)
	w.todo, w.of = make([][]uint32, conns), make([][]uint32, conns)
	for i, c := range cfg.Conns {
		w.of[c] = append(w.of[c], uint32(i))
		w.todo[c] = append(w.todo[c], uint32(i))
	}
	w.missing = n
	if cfg.Start > 0 {
		for i := range w.seen {
			w.seen[i] = cfg.Start - 1
		}
	}
	return w
}

// watchPump creates watchers on a connection as long as it has room.
func (l *Loop) watchPump(i int) {
	w, c := l.watching, l.conns[i]
	if w == nil || !w.open || c.moved || len(w.todo[c.place]) == 0 {
		return
	}
	todo, k := w.todo[c.place], 0
	for ; k < len(todo) && c.ready(); k++ {
		n := todo[k]
		op := &l.op
		*op = store.Op{}
		w.cfg.Fill(n, op)
		op.Kind, op.Tag, op.Watcher = kv.Watch, watchMark|n, n
		if w.seen[n] > 0 {
			op.Start = w.seen[n] + 1
		}
		w.state[n], w.askedAt[n] = asked, l.now
		c.codec.Submit(op)
		l.touch(i)
	}
	w.todo[c.place] = todo[:copy(todo, todo[k:])]
}

// watchEvent acts on what a codec says about a watcher.
func (l *Loop) watchEvent(i int, ev *store.Event) {
	w := l.watching
	if w == nil || l.conns[i].moved { // its watchers are on the place's new connection
		return
	}
	switch ev.What {
	case store.Notify:
		l.notified(ev)
	case store.Seen:
		w.seen[ev.Watcher] = max(w.seen[ev.Watcher], ev.Revision)
	case store.Done:
		l.conns[i].note(l, ev)
		l.created(i, ev)
	case store.Ended:
		l.watchEnded(ev.Watcher, ev)
	}
}

// created takes the answer to a watcher's creation.
func (l *Loop) created(i int, ev *store.Event) {
	w, n := l.watching, ev.Tag&^watchMark
	if ev.Outcome.Failed() {
		l.watchEnded(n, ev)
		if w.state[n] == ended && !w.again[n] && w.failed == nil {
			w.failed = fmt.Errorf("%s does not create a watcher: %s", l.conns[i].endpoint, textOf(ev))
		}
		return
	}
	if w.state[n] != asked {
		return
	}
	w.state[n] = alive
	w.missing--
	if w.seen[n] == 0 {
		w.seen[n] = ev.Revision
	}
	if w.again[n] {
		w.cfg.Sink.Resubscribed()
	} else {
		w.cfg.Sink.Created(w.askedAt[n], l.now)
	}
	w.again[n] = true
}

func textOf(ev *store.Event) string {
	if len(ev.Text) > 0 {
		return string(ev.Text)
	}
	return ev.Outcome.String()
}

// watchEnded takes the end of a watcher: for good if the store refuses it, else
// it is created again. What its connection lost is in watchLost's hands.
func (l *Loop) watchEnded(n uint32, ev *store.Event) {
	w := l.watching
	if w.state[n] != alive && w.state[n] != asked {
		return
	}
	if w.state[n] == alive {
		w.missing++
	}
	switch ev.Outcome {
	case kv.BadRequest, kv.Denied:
		w.state[n] = ended
		w.missing--
		w.cfg.Sink.Ended(n, ev.Text)
		w.tellCaught()
		return
	}
	w.state[n] = absent
	if l.conns[l.places[w.cfg.Conns[n]]].state != up {
		return
	}
	w.later = append(w.later, n)
	if w.retryAt == never {
		w.retryAt = l.now + retryWatch
	}
}

// watchAgain lets watchers whose streams ended be created again.
func (l *Loop) watchAgain() {
	w := l.watching
	if w == nil || l.now < w.retryAt {
		return
	}
	w.retryAt = never
	for _, n := range w.later {
		if w.state[n] == absent {
			i := w.cfg.Conns[n]
			w.todo[i] = append(w.todo[i], n)
		}
	}
	w.later = w.later[:0]
	for p := range w.todo {
		if i := l.places[p]; l.conns[i].state == up {
			l.watchPump(i)
		}
	}
}

// watchLost makes all watchers of a connection that ended wait for the next.
func (l *Loop) watchLost(i int) {
	w := l.watching
	if w == nil || l.conns[i].moved {
		return
	}
	place := l.conns[i].place
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

// openWatching lets the watchers be created.
func (l *Loop) openWatching() {
	if l.watching == nil || l.watching.open {
		return
	}
	l.watching.open = true
	for i := range l.conns {
		if l.conns[i].state == up {
			l.watchPump(i)
		}
	}
}

// watchFirst creates the watchers before the load, and waits for them.
func (l *Loop) watchFirst(by int64) error {
	w := l.watching
	if w == nil || w.cfg.AtWindow {
		return nil
	}
	l.openWatching()
	by = max(by, l.now+l.cfg.Timeout)
	for w.missing > 0 || w.failed != nil {
		switch {
		case w.failed != nil:
			return w.failed
		case l.now >= by:
			return fmt.Errorf("%d of %d watchers were not created in time", w.missing, len(w.state))
		case l.mailStopped():
			return errors.New("stopped while watchers were created")
		}
		l.flushDirty()
		l.wait(min(by, l.tickAt, l.redial, l.now+heartbeat))
		l.to(l.poller.Now())
		l.attendAll()
		l.maintain()
	}
	return nil
}
