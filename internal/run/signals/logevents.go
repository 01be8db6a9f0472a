// Package signals reads the metrics and log lines of a store's members, and times connections
// to them.
package signals

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Bounds of what one trial keeps.
const (
	// MostOfAKind is how many events of one kind a member has one by one.
	// Those beyond are counted.
	MostOfAKind = 200
	maxText     = 500 // bytes of an event's line
)

// LogEvent is what a member's log reports: one event, or those of one kind beyond
// MostOfAKind.
type LogEvent struct {
	Member string
	Kind   store.SignalKind
	// Time is when it was over; of several, the last's.
	Time time.Time
	// Duration is how long it took; of several, the longest. 0: not known.
	Duration time.Duration
	// Term is that of an election; 0: not known.
	Term uint64
	// Line is as the log has it, cut to some hundred bytes; of several, that of
	// the longest.
	Line string

	// Count is how many there were; 1 unless several are one. Then
	// Total is the sum of their durations, and First the first's time.
	Count uint64
	Total time.Duration
	First time.Time
}

// Signaller reads a line of a log (store.Store.Signal).
type Signaller func(line []byte) (store.Signal, bool)

// Listener turns lines of logs into events since a given time. It is
// used by one goroutine.
type Listener struct {
	signal Signaller
	from   time.Time
	counts map[memberKind]uint64
	beyond map[memberKind]*LogEvent
}

type memberKind struct {
	member string
	kind   store.SignalKind
}

// NewListener returns a Listener that drops events before from.
func NewListener(signal Signaller, from time.Time) *Listener {
	return &Listener{signal: signal, from: from, counts: map[memberKind]uint64{}, beyond: map[memberKind]*LogEvent{}}
}

// Reading is when a line was read, and how its times are taken.
type Reading struct {
	At time.Time
	// Ahead is how far the clock that the line's time is of was ahead of ours. Unsure
	// says that this is not known: then the line counts from when it was read.
	Ahead  time.Duration
	Unsure bool
}

// Line takes a line of a member's log. ok says that there is an event.
func (l *Listener) Line(member string, line []byte, read Reading) (h LogEvent, ok bool) {
	s, ok := l.signal(line)
	if !ok {
		return LogEvent{}, false
	}
	if s.Time.IsZero() || read.Unsure {
		s.Time = read.At
	} else {
		s.Time = s.Time.Add(-read.Ahead)
	}
	if s.Time.Before(l.from) || s.Time.After(read.At) && s.Time.Sub(read.At) > time.Second {
		return LogEvent{}, false // of another time: an old line, or no time of ours
	}
	h = LogEvent{
		Member: member, Kind: s.Kind, Time: s.Time.UTC(), Duration: max(s.Duration, 0), Term: s.Term,
		Count: 1, Total: max(s.Duration, 0), First: s.Time.UTC(),
	}
	key := memberKind{member, s.Kind}
	l.counts[key]++
	if l.counts[key] <= MostOfAKind {
		h.Line = shortened(line)
		return h, true
	}
	all := l.beyond[key]
	if all == nil {
		first := h
		first.Line = shortened(line)
		l.beyond[key] = &first
		return LogEvent{}, false
	}
	if h.Duration > all.Duration {
		all.Duration, all.Line = h.Duration, shortened(line)
	}
	all.Count++
	all.Total += h.Total
	if h.Time.Before(all.First) {
		all.First = h.Time
	}
	if h.Time.After(all.Time) {
		all.Time = h.Time
	}
	return LogEvent{}, false
}

// Beyond returns what was counted beyond MostOfAKind, in the order of its
// beginning.
func (l *Listener) Beyond() []LogEvent {
	all := make([]LogEvent, 0, len(l.beyond))
	for _, h := range l.beyond {
		all = append(all, *h)
	}
	slices.SortFunc(all, func(a, b LogEvent) int {
		return cmp.Or(a.First.Compare(b.First), strings.Compare(a.Member, b.Member), strings.Compare(string(a.Kind), string(b.Kind)))
	})
	return all
}

// shortened is a line as an event keeps it.
func shortened(line []byte) string { return text.Line(string(line), maxText) }
