package signals

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/store"
)

// words is a log with lines of the form "KIND NANOSECONDS-AFTER-NOON DURATION".
type words struct{}

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func (words) Signal(line []byte) (store.Signal, bool) {
	var kind string
	var at, took int64
	if n, err := fmt.Sscan(string(line), &kind, &at, &took); n < 3 || err != nil {
		return store.Signal{}, false
	}
	s := store.Signal{Kind: store.SignalKind(kind), Duration: time.Duration(took)}
	if at != 0 {
		s.Time = noon.Add(time.Duration(at))
	}
	return s, true
}

// For every member and kind, the count, the sum, the longest duration, and the times of the first
// and the last event are correct, no matter how many events occur.
func TestCountsOfManyEvents(t *testing.T) {
	type sums struct {
		count          uint64
		total, longest time.Duration
		first, last    time.Time
	}
	rng := rand.New(rand.NewPCG(3, 4))
	for range 20 {
		l := NewListener(words{}.Signal, noon)
		in, out, reported := map[memberKind]*sums{}, map[memberKind]*sums{}, map[memberKind]int{}
		add := func(to map[memberKind]*sums, h LogEvent) {
			s := to[memberKind{h.Member, h.Kind}]
			if s == nil {
				s = &sums{first: h.First}
				to[memberKind{h.Member, h.Kind}] = s
			}
			s.count += h.Count
			s.total += h.Total
			s.longest = max(s.longest, h.Duration)
			if h.First.Before(s.first) {
				s.first = h.First
			}
			if h.Time.After(s.last) {
				s.last = h.Time
			}
		}
		for range rng.IntN(3000) {
			member := fmt.Sprintf("m%d", 1+rng.IntN(2))
			kind := []store.SignalKind{store.SlowFsync, store.GCPause, store.Elected}[min(rng.IntN(20), 2)]
			at, took := 1+rng.Int64N(1e9), rng.Int64N(1e6)
			now := noon.Add(time.Duration(at))
			h := LogEvent{Member: member, Kind: kind, Time: now, Duration: time.Duration(took), Count: 1, Total: time.Duration(took), First: now}
			add(in, h)
			if h, ok := l.Line(member, fmt.Appendf(nil, "%s %d %d", kind, at, took), Reading{At: noon.Add(time.Second)}); ok {
				reported[memberKind{member, kind}]++
				add(out, h)
			}
		}
		for _, h := range l.Overflow() {
			add(out, h)
			if reported[memberKind{h.Member, h.Kind}] != MaxPerKind || h.Line == "" {
				t.Errorf("the summarized event %+v follows %d reported events", h, reported[memberKind{h.Member, h.Kind}])
			}
		}
		if len(in) != len(out) {
			t.Errorf("%d kinds were added and %d returned", len(in), len(out))
		}
		for key, want := range in {
			if out[key] == nil || *out[key] != *want {
				t.Errorf("%v: %+v was added and %+v returned", key, want, out[key])
			}
		}
	}
}

func TestEventsOfOtherTimesAreDropped(t *testing.T) {
	for name, c := range map[string]struct {
		line string
		want time.Duration // after noon
		ok   bool
	}{
		"before":           {"gc_pause -1 5", 0, false},
		"the first moment": {"gc_pause 1 5", 1, true},
		"no time":          {"gc_pause 0 5", time.Minute, true},
		"in the future":    {fmt.Sprintf("gc_pause %d 5", time.Hour), 0, false},
		"nothing":          {"hello", 0, false},
	} {
		h, ok := NewListener(words{}.Signal, noon).Line("m1", []byte(c.line), Reading{At: noon.Add(time.Minute)})
		if ok != c.ok || ok && !h.Time.Equal(noon.Add(c.want)) {
			t.Errorf("%s: %+v, %v", name, h, ok)
		}
	}
}

func TestLinesAreShortened(t *testing.T) {
	long := "gc_pause 1 5 " + strings.Repeat("é", maxText)
	h, ok := NewListener(words{}.Signal, noon).Line("m1", []byte(long), Reading{At: noon.Add(time.Second)})
	if kept, cut := strings.CutSuffix(h.Line, "…"); !ok || !cut || len(h.Line) > maxText || len(h.Line) < maxText-1 || !strings.HasPrefix(long, kept) {
		t.Errorf("%d bytes: %q", len(h.Line), h.Line)
	}
}

// The timestamp of a line is converted from the clock of the line's machine. If that clock was set
// in the meantime, the time at which the line was read is used.
func TestLinesOfAnotherClock(t *testing.T) {
	at := noon.Add(time.Minute)
	line := fmt.Appendf(nil, "slow %d 0", int64(time.Hour+59*time.Second))
	for _, read := range []Reading{{At: at, Ahead: time.Hour}, {At: at.Add(-time.Second), AheadUnknown: true}, {At: at.Add(-time.Second), Ahead: -time.Hour, AheadUnknown: true}} {
		if h, ok := NewListener(words{}.Signal, noon).Line("m1", line, read); !ok || !h.Time.Equal(at.Add(-time.Second)) {
			t.Errorf("%+v: %+v, %v", read, h, ok)
		}
	}
	if h, ok := NewListener(words{}.Signal, noon).Line("m1", line, Reading{At: at}); ok {
		t.Errorf("a line from an hour in the future was accepted: %+v", h)
	}
}
