package watch

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/quorumbench/quorumbench/internal/load/keys"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Each write has exactly one last event, no matter which loop receives the event, unless a later
// write has replaced the write in fanOut.counts.
func TestEachWriteHasOneLastEvent(t *testing.T) {
	const loops, each, writes = 4, 250, 300
	b := NewBoard(1, loops, writes)
	b.WatchEveryKey(loops * each)
	var last [writes]atomic.Uint32
	var wg sync.WaitGroup
	for range loops {
		wg.Go(func() {
			for n := range uint64(writes) {
				for range each {
					if b.fanOut.countReceiver(n) {
						last[n].Add(1)
					}
				}
			}
		})
	}
	wg.Wait()
	for n := range last {
		if last[n].Load() != 1 {
			t.Fatalf("write %[2]d has %[1]d last events", last[n].Load(), n)
		}
	}
	if b.WatchEveryKey(1); !b.fanOut.countReceiver(minEntries+7) || b.fanOut.countReceiver(7) {
		t.Error("countReceiver counts a write whose entry was reused, or does not count the write that reused it")
	}
}

// The time until the last event starts at the write's due time. If a watcher receives an event
// twice, the watcher is counted once.
func TestTimeUntilTheLastEvent(t *testing.T) {
	space, err := keys.NewSpace("", 8, 1)
	if err != nil {
		t.Fatal(err)
	}
	b := NewBoard(1, 1, 1)
	b.WatchEveryKey(3)
	values := keys.NewValues(32, 1)
	s := NewSink(Config{Board: b, Watchers: []Watcher{{Keys: 1}, {Keys: 1}, {Keys: 1}}, Space: space, Values: values, WarmupMark: 1 << 40})
	b.Times.SetDue(1, 5, 100)
	b.Times.SetSent(1, 5, 110)
	key := space.Append(nil, 0)
	for i, watcher := range []uint32{0, 2, 2, 1} {
		s.Receive(&store.Event{Type: store.WatchChange, Watcher: watcher, Key: key, Value: values.Append(nil, key, 0, 5), Version: 1, Revision: 9}, 1000*int64(i+1))
	}
	sum := b.Summarize([]*Sink{s})
	if sum.Last.TotalCount() != 1 || sum.Last.Max() < 3900 || sum.Last.Max() > 4000 {
		t.Errorf("%d writes reached all watchers, the slowest after %d ns", sum.Last.TotalCount(), sum.Last.Max())
	}
}

// Only events that contain the versions of their keys can show that no event was lost.
func TestVersionsShowSkippedEvents(t *testing.T) {
	space, err := keys.NewSpace("", 8, 1)
	if err != nil {
		t.Fatal(err)
	}
	key := space.Append(nil, 0)
	for _, test := range []struct {
		versions []int64
		shows    bool
	}{{[]int64{-1, 0, -1, 0}, false}, {[]int64{1, 2}, true}, {[]int64{1, 4, 0}, true}} {
		s := NewSink(Config{Board: NewBoard(1, 1, 1), Watchers: []Watcher{{Keys: 1}}, Space: space, Values: keys.NewValues(32, 1)})
		shows, passed := false, uint32(0)
		for i, version := range test.versions {
			seen := s.Receive(&store.Event{Type: store.WatchChange, Key: key, Version: version, Revision: int64(i) + 5}, 1000)
			shows, passed = shows || seen.ShowsMissing, passed+seen.NewlyMissing
		}
		if shows != test.shows || (passed > 0) != (test.versions[len(test.versions)-2] == 4) {
			t.Errorf("versions %v: ShowsMissing %v, NewlyMissing %d", test.versions, shows, passed)
		}
	}
}

// The event for a deletion names no write, so the deletion may be the load's own. It does not count
// as another program's write. A value that the load did not write does.
func TestDeletionsAreNotForeign(t *testing.T) {
	space, err := keys.NewSpace("", 8, 1)
	if err != nil {
		t.Fatal(err)
	}
	b := NewBoard(1, 1, 1)
	s := NewSink(Config{Board: b, Watchers: []Watcher{{Keys: 1}}, Space: space, Values: keys.NewValues(32, 1)})
	key := space.Append(nil, 0)
	for i, want := range []uint64{0, 1} {
		s.Receive(&store.Event{Type: store.WatchChange, Key: key, Value: []byte("other"), Version: int64(i), Revision: int64(i) + 5}, 1000)
		if got := b.Summarize([]*Sink{s}); got.Untimed != uint64(i)+1 || got.Foreign != want {
			t.Errorf("after an event of version %d: %d events are untimed and %d are foreign, want %d and %d", i, got.Untimed, got.Foreign, i+1, want)
		}
	}
}
