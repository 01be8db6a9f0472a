package watch

import (
	"fmt"
	"testing"

	"github.com/quorumbench/quorumbench/internal/load/keys"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/store"
)

// statesOf returns a sink whose watchers receive the states of one key. It also returns a board, on
// which write n was due at n*10 and sent at n*10+1.
func statesOf(t *testing.T, watchers int) (*Sink, *Board, *keys.Values) {
	t.Helper()
	space, err := keys.NewSpace("k", 8, 1)
	if err != nil {
		t.Fatal(err)
	}
	b := NewBoard(1, 1, 100)
	b.ExpectStates()
	for n := range uint64(20) {
		b.Times.SetDue(measure.Measured, n, int64(n)*10)
		b.Times.SetSent(measure.Measured, n, int64(n)*10+1)
	}
	cfg := Config{Board: b, Space: space, Values: keys.NewValues(32, 1), States: true}
	for range watchers {
		cfg.Watchers = append(cfg.Watchers, Watcher{Keys: 1})
	}
	return NewSink(cfg), b, cfg.Values
}

// Skipped states count as coalesced. If a newer state than the last state of a watcher is known to
// exist, the newer state counts as lost.
func TestStates(t *testing.T) {
	type step struct {
		acked    uint64 // a write (a delete if del is set), acknowledged 5 ns after it was sent
		received int64  // a watcher receives the state after this write, at revision received+100
		watcher  uint32
		at       int64
		del      bool
		maybe    bool // a delete that may have been executed
	}
	ack := func(n uint64) step { return step{acked: n} }
	received := func(watcher uint32, n, at int64) step { return step{received: n, watcher: watcher, at: at} }
	for name, c := range map[string]struct {
		steps                                  []step
		delivered, lost, coalesced, dup, after uint64
		settled                                bool
	}{
		"each":                              {[]step{ack(1), received(0, 1, 20), received(1, 1, 21), ack(3), received(0, 3, 40), received(1, 3, 41)}, 4, 0, 0, 0, 0, true},
		"skipped":                           {[]step{ack(1), ack(2), ack(3), received(0, 3, 40), received(1, 3, 41)}, 2, 0, 4, 0, 0, true},
		"nothing":                           {[]step{ack(1), received(0, 1, 20)}, 1, 1, 0, 0, 0, false},
		"one lags":                          {[]step{ack(1), received(0, 1, 20), received(1, 1, 21), ack(3), received(0, 3, 40)}, 3, 1, 0, 0, 0, false},
		"both lag":                          {[]step{ack(1), received(0, 1, 20), received(1, 1, 21), ack(3)}, 2, 2, 0, 0, 0, false},
		"received before the response":      {[]step{received(0, 1, 12), received(1, 1, 13), ack(1)}, 2, 0, 0, 0, 0, true},
		"acknowledged before a newer write": {[]step{ack(1), received(0, 1, 29), received(1, 1, 29), ack(2)}, 2, 2, 0, 0, 0, false},
		"twice":                             {[]step{ack(1), received(0, 1, 20), received(0, 1, 21), received(1, 1, 20)}, 2, 0, 0, 1, 0, true},
		"back":                              {[]step{ack(1), ack(3), received(0, 3, 40), received(0, 1, 41), received(1, 3, 40)}, 3, 0, 1, 0, 1, true},
		"deleted, without an event":         {[]step{ack(1), {acked: 2, del: true}}, 0, 0, 4, 0, 0, true},
		"possibly deleted":                  {[]step{ack(1), {maybe: true}}, 0, 0, 2, 0, 0, true},
	} {
		s, b, values := statesOf(t, 2)
		for _, x := range c.steps {
			switch {
			case x.maybe:
				b.MayBeDeleted(0)
			case x.del:
				b.AcknowledgeUncertain(0)
			case x.acked > 0:
				b.Times.SetAcknowledged(measure.Measured, x.acked, int64(x.acked)*10+6)
				b.AcknowledgeSent(0, int64(x.acked)*10+1)
			default:
				key := s.cfg.Space.Append(nil, 0)
				seen := s.Receive(&store.Event{Type: store.WatchChange, Watcher: x.watcher, Key: key, Value: values.Append(nil, key, 0, uint64(x.received)), Version: 1, Revision: 100 + x.received}, x.at)
				if !seen.Duplicate && (!seen.Timed || seen.Due != x.received*10) {
					t.Errorf("%s: the event of write %d is %+v", name, x.received, seen)
				}
			}
		}
		settled := s.Settled()
		sum := b.Summarize([]*Sink{s})
		got := fmt.Sprint(sum.Delivered, sum.Lost, sum.Coalesced, sum.Duplicated, sum.Reordered, settled)
		if want := fmt.Sprint(c.delivered, c.lost, c.coalesced, c.dup, c.after, c.settled); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
