// Package signals reads the metrics and log lines of a store's members, and times connections to
// the members.
package signals

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Limits for the events of one trial.
const (
	// MaxPerKind is the maximum number of events that are kept individually for each member and
	// kind. Further events are only counted.
	MaxPerKind = 200
	maxText    = 500 // maximum number of bytes of an event's log line that are kept
)

// LogEvent is either one event that a member's log reports, or a sum of events. A sum contains all
// events of one member and kind beyond the first MaxPerKind.
type LogEvent struct {
	Member string
	Kind   store.SignalKind
	// Time is the time at which the event ended. In a sum, it is the time at which the last event
	// ended.
	Time time.Time
	// Duration is the duration of the event, or 0 if unknown. In a sum, it is the duration of the
	// longest event.
	Duration time.Duration
	// Term is the term of an election, or 0 if unknown.
	Term uint64
	// Line is the log line, truncated to some hundred bytes. In a sum, it is the line of the
	// longest event.
	Line string

	// Count is 1 for one event. In a sum, Count is the number of events, Total is the sum of their
	// durations, and First is the time of the first event.
	Count uint64
	Total time.Duration
	First time.Time
}

// Signaller parses a log line, as store.Store.Signal does.
type Signaller func(line []byte) (store.Signal, bool)

// Listener turns log lines into events. It ignores events before a given time. It is not safe for
// concurrent use.
type Listener struct {
	signal    Signaller
	start     time.Time
	counts    map[memberKind]uint64
	overflows map[memberKind]*LogEvent
}

type memberKind struct {
	member string
	kind   store.SignalKind
}

// NewListener returns a Listener that ignores events before the time `from`.
func NewListener(signal Signaller, from time.Time) *Listener {
	return &Listener{signal: signal, start: from, counts: map[memberKind]uint64{}, overflows: map[memberKind]*LogEvent{}}
}

// Reading describes when a line was read, and how to convert the line's timestamp to the clock of
// this process.
type Reading struct {
	At time.Time
	// Ahead is how far the clock of the line's timestamp was ahead of the clock of this process. If
	// AheadUnknown is set, Ahead is unknown. The method Line then uses the time at which the line
	// was read in place of the timestamp.
	Ahead        time.Duration
	AheadUnknown bool
}

// Line parses a line from a member's log. ok is true if the line is an event that the caller should
// record individually.
func (l *Listener) Line(member string, line []byte, read Reading) (h LogEvent, ok bool) {
	s, ok := l.signal(line)
	if !ok {
		return LogEvent{}, false
	}
	if s.Time.IsZero() || read.AheadUnknown {
		s.Time = read.At
	} else {
		s.Time = s.Time.Add(-read.Ahead)
	}
	if s.Time.Before(l.start) || s.Time.Sub(read.At) > time.Second {
		return LogEvent{}, false // an old line, or a line with an implausible time
	}
	h = LogEvent{
		Member: member, Kind: s.Kind, Time: s.Time.UTC(), Duration: max(s.Duration, 0), Term: s.Term,
		Count: 1, Total: max(s.Duration, 0), First: s.Time.UTC(),
	}
	key := memberKind{member, s.Kind}
	l.counts[key]++
	if l.counts[key] <= MaxPerKind {
		h.Line = truncateLine(line)
		return h, true
	}
	all := l.overflows[key]
	if all == nil {
		first := h
		first.Line = truncateLine(line)
		l.overflows[key] = &first
		return LogEvent{}, false
	}
	if h.Duration > all.Duration {
		all.Duration, all.Line = h.Duration, truncateLine(line)
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

// Overflow returns the sums of the events beyond the first MaxPerKind of each member and kind. They
// are sorted by the time of the first event.
func (l *Listener) Overflow() []LogEvent {
	all := make([]LogEvent, 0, len(l.overflows))
	for _, h := range l.overflows {
		all = append(all, *h)
	}
	slices.SortFunc(all, func(a, b LogEvent) int {
		return cmp.Or(a.First.Compare(b.First), strings.Compare(a.Member, b.Member), strings.Compare(string(a.Kind), string(b.Kind)))
	})
	return all
}

// truncateLine returns the part of a line that an event stores.
func truncateLine(line []byte) string { return text.Line(string(line), maxText) }
