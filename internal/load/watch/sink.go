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
	// WarmupMark is a bit that is set in the operation numbers of the warm-up's values.
	WarmupMark uint64
	// If Key is set, all watchers watch only this key, which is not in Space. If Key is empty, they
	// watch keys in Space.
	Key []byte
	// Coalesced is set if a watcher receives only the latest version of a key. Versions that it
	// skips do not count as lost.
	Coalesced bool
	// ByRevision is set if events contain no value. The sink then matches events and writes by the
	// store's revision.
	ByRevision bool
	// MaxWait is the maximum time, in nanoseconds, for which an event waits for the response to
	// its write. It is used only if ByRevision is set.
	MaxWait int64
	// Identifier identifies the key and the write of an event. If it is nil, the sink uses Space
	// and Values instead.
	Identifier EventIdentifier
	// Expect is the number of events per key that each watcher should receive for writes before the
	// load. These events are in addition to the events for acknowledged writes.
	Expect uint32
	// States is set if watchers receive the current state of a key instead of each write. A state
	// does not show how many times the key was written.
	States bool
}

// EventIdentifier identifies the keys and writes of events in a load with several kinds of keys.
type EventIdentifier interface {
	// Number returns the number of a key that the watcher watches. ok is false for any other key.
	Number(watcher uint32, key []byte) (number uint64, ok bool)
	// WriteNumber returns the number of the operation that wrote or deleted an event's key. ours is
	// false if the write or delete was not an operation of this load.
	WriteNumber(ev *store.Event) (n uint64, ours bool)
}

// Sink evaluates the events that one event loop's watchers receive. Only that loop may use the
// sink. The sink allocates no memory for an event.
type Sink struct {
	cfg            Config
	firstEntry     []int   // by watcher: the index of its first entry in tracks or states
	tracks         []track // used for stores that report each write
	states         []state // used for stores that report states
	settled        bool    // all expected events have arrived
	missingEarlier uint64  // how many of the events in Config.Expect have not arrived
	checked        bool    // no event has arrived since Settled returned false
	total          measure.WatchTotals

	pending       []pending // events that wait for the responses to their writes
	resolvedCount uint64    // RevisionWriters.Count at the latest pass through `pending`

	created *measure.Histogram // nil until the first watcher is created
	// last contains the times from a write's due time to the write's last event. It is nil until
	// the first such event.
	last                       *measure.Histogram
	firstRequest, lastCreation int64
}

// NewSink returns a sink. The memory use of the sink is proportional to the number of watchers
// times the number of keys per watcher.
func NewSink(cfg Config) *Sink {
	s := &Sink{cfg: cfg, firstEntry: make([]int, len(cfg.Watchers))}
	n := uint64(0)
	for i, w := range cfg.Watchers {
		s.firstEntry[i] = int(n)
		n += w.Keys
	}
	if cfg.States {
		s.states = make([]state, n)
	} else {
		s.tracks = make([]track, n)
	}
	s.missingEarlier = n * uint64(cfg.Expect)
	s.total.Watchers = len(cfg.Watchers)
	return s
}

// EventReport describes an event, so that the event can be counted in the second in which it
// arrived.
type EventReport struct {
	Counts    bool // count the event in the seconds of Phase; if unset, its phase is unknown
	Phase     measure.Phase
	Duplicate bool
	Reordered bool
	Timed     bool
	Due, Sent int64 // when the event's write was due and sent, if Timed is set
	// NewlyMissing is the number of earlier events for the key that this event shows to be missing.
	// NoLongerMissing is the number of events that no longer count as missing, because this event
	// is one of them or shows that they do not exist.
	NewlyMissing, NoLongerMissing uint32
	ShowsMissing                  bool // if unset, both numbers are unknown, and therefore 0
}

// time sets the fields Due and Sent of an event to the times at which the event's write was due and
// sent, if these times are known.
func (s *Sink) time(seen *EventReport, number uint64, at int64) {
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

// receivedEvents returns the number of different events that were received for the element `entry`
// of tracks or states.
func (s *Sink) receivedEvents(entry int) uint32 {
	if s.cfg.States {
		return s.states[entry].received
	}
	return s.tracks[entry].received
}

// RecordCreation records the first creation of a watcher. `requested` is the time of the request,
// and `createdAt` is the arrival time of the response, on the clock that all event loops share.
func (s *Sink) RecordCreation(requested, createdAt int64) {
	if s.created == nil {
		s.created, s.firstRequest = measure.NewHistogram(), requested
	}
	measure.Record(s.created, createdAt-requested)
	s.firstRequest, s.lastCreation = min(s.firstRequest, requested), max(s.lastCreation, createdAt)
}

// StartAt sets the version of the key after which a watcher starts. `revision` is the revision of
// that version or, if the key does not exist, the revision in the response. StartAt is called when
// the watcher is first created, and again after each loss of its connection.
func (s *Sink) StartAt(watcher uint32, version, revision int64) {
	if s.cfg.Coalesced && version >= 0 && int(watcher) < len(s.firstEntry) {
		s.tracks[s.firstEntry[watcher]].begin(version, revision)
	}
}

// RecordRecreation adds one to the count of re-created watchers.
func (s *Sink) RecordRecreation() { s.total.Resubscribed++ }

// RecordEnd adds one to the count of watchers that the store ended permanently, and stores the
// reason for the first such end. CaughtUp then no longer waits for this watcher's events.
func (s *Sink) RecordEnd(watcher uint32, why []byte) {
	if s.total.Ended++; s.total.EndedText == "" {
		s.total.EndedText = text.Line(string(why), text.MaxServerText)
	}
	for k := range s.cfg.Watchers[watcher].Keys {
		s.missingEarlier -= uint64(s.cfg.Expect - min(s.cfg.Expect, s.receivedEvents(s.firstEntry[watcher]+int(k))))
	}
}

// recordLast records the time until all watchers have received write n, if the event is the last
// one for this write.
func (s *Sink) recordLast(seen *EventReport, n uint64, at int64) {
	f := s.cfg.Board.fanOut
	if f == nil || !seen.Timed || seen.Phase != measure.Measured || !f.countReceiver(n) {
		return
	}
	if s.last == nil {
		s.last = measure.NewHistogram()
	}
	measure.Record(s.last, at-seen.Due)
}
