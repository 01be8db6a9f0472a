package watch

import (
	"github.com/quorumbench/quorumbench/internal/load/keys"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Watcher says what a watcher watches.
type Watcher struct {
	First uint64 // the number of the first key
	Keys  uint64 // how many keys from it on
}

// Config says what a Sink needs to know.
type Config struct {
	Board    *Board
	Watchers []Watcher // of this loop
	Space    keys.Space
	Values   *keys.Values
	// WarmupMark is set in the numbers that the warm-up's values carry.
	WarmupMark uint64
	// Key, if not empty, is the one key that all watch instead of the space's.
	Key []byte
	// Coalesced says that a watcher is told of the newest version alone: one that is
	// passed over is none that is lost.
	Coalesced bool
	// ByRevision says that events carry no value: which write one is of is known by
	// the revision of the store at which it happened.
	ByRevision bool
	// Patience is how long, in nanoseconds, an event waits to be known by a write's
	// answer (ByRevision).
	Patience int64
	// Names, if not nil, says of which key and which write an event is, instead of Space
	// and Values.
	Names Names
	// Expect is how many events each watcher is to get of each key besides those
	// of acknowledged writes: of writes before the load.
	Expect uint32
	// States says that watchers are told what a key is now, and nothing of how often it
	// was written.
	States bool
}

// Names finds keys and writes of a load whose keys are of several kinds.
type Names interface {
	// Number is the number of a key that the watcher watches.
	Number(watcher uint32, key []byte) (number uint64, ok bool)
	// Written is the number of the operation that wrote, or deleted, what the event is
	// of.
	Written(ev *store.Event) (n uint64, ours bool)
}

// Sink takes the events of one loop's watchers. It belongs to the loop, and
// allocates nothing for an event.
type Sink struct {
	cfg     Config
	place   []int   // a watcher's first track
	tracks  []track // of stores that tell each write
	states  []state // of those that tell states
	settled bool    // all that is to be expected came
	awaited uint64  // with Expect: events yet to come of those
	checked bool    // nothing came since Settled was false
	total   measure.WatchTotals

	pending []pending // events that came before their writes' own answers
	answers uint64    // of writes, when those were looked through

	created               *measure.Histogram // nil until the first
	last                  *measure.Histogram // likewise: from a write's due to its last event
	firstAsked, lastKnown int64
}

// NewSink returns a sink. What it keeps is proportional to the watchers times
// their keys.
func NewSink(cfg Config) *Sink {
	s := &Sink{cfg: cfg, place: make([]int, len(cfg.Watchers))}
	n := uint64(0)
	for i, w := range cfg.Watchers {
		s.place[i] = int(n)
		n += w.Keys
	}
	if cfg.States {
		s.states = make([]state, n)
	} else {
		s.tracks = make([]track, n)
	}
	s.awaited = n * uint64(cfg.Expect)
	s.total.Watchers = len(cfg.Watchers)
	return s
}

// Seen is what an event is, for the second in which it came.
type Seen struct {
	Counts    bool // for the phase's seconds; else it is not known to which phase it belongs
	Phase     measure.Phase
	Duplicate bool
	Reordered bool
	Timed     bool
	Due, Sent int64 // of its write, if Timed
	// Passed is how many earlier events of the key were not seen when it came, and MadeUp
	// how many of such it is itself, or shows to be none.
	Passed, MadeUp uint32
	ShowsPassed    bool // else they are 0 whatever did not come
}

// time says when the write of an event was due and sent, as far as that is known.
func (s *Sink) time(seen *Seen, number uint64, at int64) {
	seen.Due, seen.Sent, seen.Timed = s.cfg.Board.Times.Of(seen.Phase, number)
	switch {
	case !seen.Timed:
		s.total.Untimed++
	case at < seen.Sent || at < seen.Due:
		s.total.Impossible++
		s.total.Untimed++
		seen.Timed = false
	}
	s.toLast(seen, number, at)
}

// got is how many distinct events there are at a place.
func (s *Sink) got(place int) uint32 {
	if s.cfg.States {
		return s.states[place].got
	}
	return s.tracks[place].got
}

// Created notes that a watcher was created for the first time, when that was
// asked for and when it was known, on the clock that all loops share.
func (s *Sink) Created(asked, known int64) {
	if s.created == nil {
		s.created, s.firstAsked = measure.NewHistogram(), asked
	}
	measure.Record(s.created, known-asked)
	s.firstAsked, s.lastKnown = min(s.firstAsked, asked), max(s.lastKnown, known)
}

// Begun notes behind which version of its key a watcher begins, and the revision that
// made it, or where the key is not there that of the answer: at first, or again after its
// connection was lost.
func (s *Sink) Begun(watcher uint32, version, revision int64) {
	if s.cfg.Coalesced && version >= 0 && int(watcher) < len(s.place) {
		s.tracks[s.place[watcher]].begin(version, revision)
	}
}

// Resubscribed counts that a watcher was created again.
func (s *Sink) Resubscribed() { s.total.Resubscribed++ }

// Ended counts that the store ended a watcher for good, and says why. What it
// was to catch up with is not awaited any more.
func (s *Sink) Ended(watcher uint32, why []byte) {
	if s.total.Ended++; s.total.EndedText == "" {
		s.total.EndedText = text.Line(string(why), text.OfServer)
	}
	for k := range s.cfg.Watchers[watcher].Keys {
		s.awaited -= uint64(s.cfg.Expect - min(s.cfg.Expect, s.got(s.place[watcher]+int(k))))
	}
}

// toLast notes the time until the last of all watchers has a write, if this event is its.
func (s *Sink) toLast(seen *Seen, n uint64, at int64) {
	f := s.cfg.Board.fan
	if f == nil || !seen.Timed || seen.Phase != measure.Measured || !f.last(n) {
		return
	}
	if s.last == nil {
		s.last = measure.NewHistogram()
	}
	measure.Record(s.last, at-seen.Due)
}
