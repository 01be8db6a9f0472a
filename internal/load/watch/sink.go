package watch

import (
	"github.com/quorumbench/quorumbench/internal/load/keys"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Watcher defines the keys that a watcher watches.
type Watcher struct {
	First uint64 // number of the first key
	Keys  uint64 // number of keys
}

// Config holds the parameters of a Sink.
type Config struct {
	Board    *Board
	Watchers []Watcher // of this loop
	Space    keys.Space
	Values   *keys.Values
	// WarmupMark is a bit in the numbers of the warm-up's values.
	WarmupMark uint64
	// Key, if not empty, is the single key that all watchers watch, outside of Space.
	Key []byte
	// Coalesced is set if a watcher receives only the newest version. Skipped versions are not
	// lost.
	Coalesced bool
	// ByRevision is set if events contain no value. The store's revision identifies an event's
	// write.
	ByRevision bool
	// Patience is how long, in nanoseconds, an event waits for the response to its write
	// (ByRevision).
	Patience int64
	// Names, if not nil, replaces Space and Values: it returns the key and the write of an event.
	Names Names
	// Expect is how many events of each key each watcher should receive of writes before the load,
	// in addition to those of acknowledged writes.
	Expect uint32
	// States is set if watchers receive a key's present state, which does not show how often the
	// key was written.
	States bool
}

// Names finds keys and writes in a load with several kinds of keys.
type Names interface {
	// Number returns the number of a key that the watcher watches.
	Number(watcher uint32, key []byte) (number uint64, ok bool)
	// Written returns the number of the operation that wrote or deleted the key of an event; ours
	// is false if no operation of this load did.
	Written(ev *store.Event) (n uint64, ours bool)
}

// Sink evaluates the events of one loop's watchers. It belongs to the loop, and allocates no memory
// for an event.
type Sink struct {
	cfg     Config
	place   []int   // by watcher: index of its first entry in tracks or states
	tracks  []track // for stores that report each write
	states  []state // for stores that report states
	settled bool    // all expected events have arrived
	awaited uint64  // events of Config.Expect that have not arrived
	checked bool    // no event has arrived since Settled returned false
	total   measure.WatchTotals

	pending []pending // events that wait for the responses to their writes
	answers uint64    // number of responses when Resolve last looked at pending

	created               *measure.Histogram // nil until the first
	last                  *measure.Histogram // from when a write was due to its last event; nil until the first
	firstAsked, lastKnown int64
}

// NewSink returns a sink. Its memory is proportional to the watchers times their keys.
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

// Seen describes an event, for the second in which it arrived.
type Seen struct {
	Counts    bool // it counts in the seconds of Phase; otherwise its phase is unknown
	Phase     measure.Phase
	Duplicate bool
	Reordered bool
	Timed     bool
	Due, Sent int64 // times of its write, if Timed
	// Passed is how many earlier events of the key this event shows to be missing. MadeUp is how
	// many events that counted as missing it delivers, or shows not to exist.
	Passed, MadeUp uint32
	ShowsPassed    bool // false if Passed and MadeUp are unknown, and therefore 0
}

// time sets when the write of an event was due and sent, if that is known.
func (s *Sink) time(seen *Seen, number uint64, at int64) {
	seen.Due, seen.Sent, seen.Timed = s.cfg.Board.Times.Lookup(seen.Phase, number)
	switch {
	case !seen.Timed:
		s.total.Untimed++
	case at < seen.Sent || at < seen.Due:
		s.total.Impossible++
		s.total.Untimed++
		seen.Timed = false
	}
	s.recordLast(seen, number, at)
}

// got returns the number of distinct events at a place.
func (s *Sink) got(place int) uint32 {
	if s.cfg.States {
		return s.states[place].got
	}
	return s.tracks[place].got
}

// Created notes the first creation of a watcher: when it was requested, and when the response
// arrived, on the clock that all loops share.
func (s *Sink) Created(asked, known int64) {
	if s.created == nil {
		s.created, s.firstAsked = measure.NewHistogram(), asked
	}
	measure.Record(s.created, known-asked)
	s.firstAsked, s.lastKnown = min(s.firstAsked, asked), max(s.lastKnown, known)
}

// Begun notes the version of its key after which a watcher starts, and the version's revision, or
// the response's if the key does not exist. It is called at first, and again after the loss of the
// watcher's connection.
func (s *Sink) Begun(watcher uint32, version, revision int64) {
	if s.cfg.Coalesced && version >= 0 && int(watcher) < len(s.place) {
		s.tracks[s.place[watcher]].begin(version, revision)
	}
}

// Resubscribed counts that a watcher was created again.
func (s *Sink) Resubscribed() { s.total.Resubscribed++ }

// Ended counts that the store ended a watcher permanently, and keeps the first reason. The events
// that the watcher lacks are no longer awaited.
func (s *Sink) Ended(watcher uint32, why []byte) {
	if s.total.Ended++; s.total.EndedText == "" {
		s.total.EndedText = text.Line(string(why), text.MaxServerText)
	}
	for k := range s.cfg.Watchers[watcher].Keys {
		s.awaited -= uint64(s.cfg.Expect - min(s.cfg.Expect, s.got(s.place[watcher]+int(k))))
	}
}

// recordLast records the time until all watchers have received a write, if this event is the last
// one.
func (s *Sink) recordLast(seen *Seen, n uint64, at int64) {
	f := s.cfg.Board.fan
	if f == nil || !seen.Timed || seen.Phase != measure.Measured || !f.countLast(n) {
		return
	}
	if s.last == nil {
		s.last = measure.NewHistogram()
	}
	measure.Record(s.last, at-seen.Due)
}
