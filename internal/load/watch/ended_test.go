package watch

import (
	"testing"

	"github.com/quorumbench/quorumbench/internal/load/keys"
	"github.com/quorumbench/quorumbench/internal/store"
)

// The sink does not wait for events of watchers that the store has ended. CaughtUp returns true
// when all other watchers have received their events.
func TestEndedWatchersAreNotAwaited(t *testing.T) {
	space, err := keys.NewSpace("", 8, 1)
	if err != nil {
		t.Fatal(err)
	}
	s := NewSink(Config{
		Board: NewBoard(1, 1, 1), Watchers: []Watcher{{Keys: 1}, {Keys: 1}, {Keys: 1}}, Space: space,
		Values: keys.NewValues(32, 1), Key: []byte("k"), Expect: 3,
	})
	take := func(watcher uint32, version int64) {
		s.Receive(&store.Event{Type: store.WatchChange, Watcher: watcher, Key: []byte("k"), Version: version, Revision: 10 + version}, 1)
	}
	for v := range int64(3) {
		take(0, v+1)
	}
	take(1, 1)
	if s.RecordEnd(1, []byte("compacted")); s.CaughtUp() {
		t.Error("CaughtUp returned true before the last watcher had its events")
	}
	if s.RecordEnd(2, nil); !s.CaughtUp() {
		t.Error("CaughtUp waits for watchers that have ended")
	}
}

// The creation time of each watcher is recorded once, no matter which loop the watcher belongs to.
func TestCreationIsTimed(t *testing.T) {
	var sinks []*Sink
	board := NewBoard(1, 2, 1)
	for loop := range int64(2) {
		s := &Sink{cfg: Config{Board: board}}
		for i := range int64(50) {
			s.RecordCreation(1e6*loop, 1e6*(loop+i+1))
		}
		sinks = append(sinks, s)
	}
	sum := board.Summarize(append(sinks, &Sink{cfg: Config{Board: board}}))
	if sum.Created.TotalCount() != 100 || sum.CreatedSeconds != 0.051 || sum.Created.Max() < 50e6 {
		t.Errorf("%d watchers were created in %v s, and the slowest creation took %d ns", sum.Created.TotalCount(), sum.CreatedSeconds, sum.Created.Max())
	}
}
