package engine

import (
	"testing"

	"github.com/quorumbench/quorumbench/internal/store"
)

// recorder is a History that counts calls, so that a test can check their order.
type recorder struct {
	HistoryBase
	ended, events, closed int
	atClose               int // `ended` when LoadEnded was called
	src                   *listening
}

func (r *recorder) OperationEnded(*Completion) { r.ended++ }
func (r *recorder) LoadEnded(int64)            { r.closed, r.atClose = r.closed+1, r.ended }
func (r *recorder) WatchEvent(watcher uint32, _ *store.Event, _, _, _ int64) {
	if watcher == 7 && r.src.events == r.events {
		r.events++
	}
}

// listening is a source whose operations create watchers.
type listening struct {
	prompting
	events int
}

func (l *listening) HandleWatchEvent(*store.Event) { l.events++ }

// If one of the source's operations created a watcher, the history receives the watcher's events
// before the source does. Closed is called once, after all operations have ended.
func TestHistoryReceivesWatchEventsBeforeTheSource(t *testing.T) {
	b := newBench(2, 0, open(1000, secondNS))
	src := &listening{}
	h := &recorder{src: src}
	b.cfg.Source, b.cfg.History = src, h
	l := New(b.cfg, b.sim)
	if l.reactive == nil {
		t.Fatal("the source is not reactive")
	}
	for range 3 {
		l.events = append(l.events[:0], store.Event{Type: store.WatchChange, Watcher: 7})
		l.handle(0)
	}
	if h.events != 3 || src.events != 3 {
		t.Errorf("the history received %d events, and the source %d", h.events, src.events)
	}
	if n := testing.AllocsPerRun(100, func() { l.handle(0) }); n != 0 {
		t.Errorf("%v allocations per event", n)
	}
	b = newBench(2, 0, open(1000, secondNS))
	src = &listening{}
	h = &recorder{src: src}
	b.cfg.Source, b.cfg.History = src, h
	b.run(t)
	if h.ended != 4000 || h.closed != 1 || h.atClose != 4000 {
		t.Errorf("%d operations ended, %d before Closed, which was called %d times", h.ended, h.atClose, h.closed)
	}
}
