package watch

import (
	"github.com/quorumbench/quorumbench/internal/load/keys"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Watcher defines the range of keys that a watcher watches.
type Watcher struct {
	First uint64 // number of the first key in the range
	Keys  uint64 // number of keys
}

// Config holds the parameters of a Sink.
type Config struct {
	Board    *Board
	Watchers []Watcher // the watchers of this loop
	Space    keys.Space
	Values   *keys.Values
	// WarmupMark is a bit in the numbers that the warm-up's values contain.
	WarmupMark uint64
	// Key is a single key outside of Space that all watchers watch. It is empty if the watchers
	// watch keys in Space.
	Key []byte
	// Coalesced is set if a watcher receives only the latest version of a key. Versions that it
	// skips do not count as lost.
	Coalesced bool
	// ByRevision is set if events contain no value. Events are then matched with their writes by
	// the store's revision.
	ByRevision bool
	// Patience is how long an event waits for the response to its write, in nanoseconds. It is used
	// only with ByRevision.
	Patience int64
	// Names returns the key and the write of an event. If it is nil, Space and Values are used for
	// this.
	Names Names
	// Expect is how many events for writes before the load each watcher should receive for each
	// key, in addition to the events for acknowledged writes.
	Expect uint32
	// States is set if watchers receive the current state of a key. Such a state does not show how
	// many times the key was written.
	States bool
}

// Names finds the keys and writes of events, in a load with several kinds of keys.
type Names interface {
	// Number returns the number of a key that the watcher watches. ok is false for any other key.
	Number(watcher uint32, key []byte) (number uint64, ok bool)
	// Written returns the number of the operation that wrote or deleted an event's key. ours is
	// false if no operation of this load did this.
	Written(ev *store.Event) (n uint64, ours bool)
}

// Sink evaluates the events that one event loop's watchers receive. Only that loop may use it. It
// allocates no memory for an event.
type Sink struct {
	cfg     Config
	place   []int   // by watcher: the index of its first entry in tracks or states
	tracks  []track // used for stores that report each write
	states  []state // used for stores that report states
	settled bool    // all expected events have arrived
	awaited uint64  // number of events of Config.Expect that have not arrived
	checked bool    // no event has arrived since Settled returned false
	total   measure.WatchTotals

	pending []pending // events that wait for the responses to their writes
	answers uint64    // number of responses when Resolve last went through pending

	created *measure.Histogram // nil until the first watcher is created
	// Time from when a write was due to its last event; nil until the first such event.
	last                  *measure.Histogram
	firstAsked, lastKnown int64
}

// NewSink returns a sink. The memory of the sink is proportional to the number of watchers times
// their number of keys.
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

// Seen describes an event, so that the event can be counted in the second in which it arrived.
type Seen struct {
	Counts    bool // the event counts in the seconds of Phase; if unset, its phase is unknown
	Phase     measure.Phase
	Duplicate bool
	Reordered bool
	Timed     bool
	Due, Sent int64 // when its write was due and sent, if Timed is set
	// Passed is how many earlier events for the key are missing, as this event shows. MadeUp is how
	// many events had been counted as missing and no longer are, because this event is one of them
	// or shows that they do not exist.
	Passed, MadeUp uint32
	ShowsPassed    bool // if unset, Passed and MadeUp are unknown, and therefore 0
}

// time sets when the write that caused an event was due and sent, if this is known.
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

// got returns the number of different events that were received for the entry `place` of tracks or
// states.
func (s *Sink) got(place int) uint32 {
	if s.cfg.States {
		return s.states[place].got
	}
	return s.tracks[place].got
}

// Created records the first creation of a watcher. asked is when the creation was requested and
// known is when the response arrived, on the clock that all event loops share.
func (s *Sink) Created(asked, known int64) {
	if s.created == nil {
		s.created, s.firstAsked = measure.NewHistogram(), asked
	}
	measure.Record(s.created, known-asked)
	s.firstAsked, s.lastKnown = min(s.firstAsked, asked), max(s.lastKnown, known)
}

// Begun records the version of its key after which a watcher starts. revision is the revision of
// that version, or the revision in the response if the key does not exist. Begun is called when the
// watcher is created for the first time, and again after each loss of its connection.
func (s *Sink) Begun(watcher uint32, version, revision int64) {
	if s.cfg.Coalesced && version >= 0 && int(watcher) < len(s.place) {
		s.tracks[s.place[watcher]].begin(version, revision)
	}
}

// Resubscribed counts that a watcher was created again.
func (s *Sink) Resubscribed() { s.total.Resubscribed++ }

// Ended counts that the store has ended a watcher permanently. It stores the first reason. The sink
// no longer waits for events that this watcher has not received.
func (s *Sink) Ended(watcher uint32, why []byte) {
	if s.total.Ended++; s.total.EndedText == "" {
		s.total.EndedText = text.Line(string(why), text.MaxServerText)
	}
	for k := range s.cfg.Watchers[watcher].Keys {
		s.awaited -= uint64(s.cfg.Expect - min(s.cfg.Expect, s.got(s.place[watcher]+int(k))))
	}
}

// recordLast records the time until all watchers have received a write, if this event is the last
// event for the write.
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
