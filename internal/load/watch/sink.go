package watch

import (
	"bytes"

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

// Take takes an event that arrived at the given time. The event's Watcher is
// the loop's own number of it.
func (s *Sink) Take(ev *store.Event, at int64) (seen Seen) {
	place, key := s.find(ev)
	if place < 0 {
		s.total.Wrong++
		return seen
	}
	s.checked = false
	before := s.passedOver(place)
	switch s.judge(place, key, ev, at) {
	case duplicate:
		s.total.Duplicated++
		seen.Duplicate = true
	case late:
		s.total.Reordered++
		seen.Reordered = true
		s.delivered(place)
	case fresh:
		s.delivered(place)
	}
	if now := s.passedOver(place); now > before {
		seen.Passed = now - before
	} else {
		seen.MadeUp = before - now
	}
	// One without its key's version, and a deletion, which has none, show nothing of others.
	seen.ShowsPassed = s.showsPassed() && (ev.Version > 0 || seen.Passed+seen.MadeUp > 0)
	if s.cfg.ByRevision {
		if !seen.Duplicate {
			return s.timed(pending{revision: ev.Revision, at: at, reordered: seen.Reordered})
		}
		seen.Phase, seen.Counts = measure.Measured, true
		return seen
	}
	number, ours := uint64(0), false
	switch {
	case s.cfg.Names != nil:
		number, ours = s.cfg.Names.Written(ev)
	case ev.Version == 0: // deleted
	default:
		number, ours = s.cfg.Values.Number(ev.Key, ev.Value)
	}
	if !ours && s.cfg.Names != nil && ev.Version == 0 {
		// A lease has expired: nobody's write, and the store's own doing.
		return Seen{Passed: seen.Passed, MadeUp: seen.MadeUp, ShowsPassed: seen.ShowsPassed}
	}
	if !ours {
		if !seen.Duplicate {
			s.total.Untimed++
			s.total.Foreign++
		}
		seen.Phase, seen.Counts = measure.Measured, true
		return seen
	}
	if number&s.cfg.WarmupMark != 0 {
		number &^= s.cfg.WarmupMark
	} else {
		seen.Phase = measure.Measured
	}
	seen.Counts = true
	if seen.Duplicate {
		return seen
	}
	if s.cfg.States {
		s.states[place].name(ev.Revision, seen.Phase, number)
	}
	s.time(&seen, number, at)
	return seen
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

// passedOver is how many events of a place's key were not seen, as far as those that
// were show it, and passing over is a loss.
func (s *Sink) passedOver(place int) uint32 {
	if !s.showsPassed() {
		return 0
	}
	return s.tracks[place].passed()
}

// showsPassed says whether an event shows that one before it did not come: it has its
// key's version, and its watcher is to be told of each.
func (s *Sink) showsPassed() bool { return !s.cfg.States && !s.cfg.Coalesced && !s.cfg.ByRevision }

// find returns the place of what the event's watcher has of its key, and the key's
// number; -1: it does not watch it.
func (s *Sink) find(ev *store.Event) (place int, key uint64) {
	if int(ev.Watcher) >= len(s.cfg.Watchers) {
		return -1, 0
	}
	at := s.place[ev.Watcher]
	if len(s.cfg.Key) > 0 {
		if !bytes.Equal(ev.Key, s.cfg.Key) {
			return -1, 0
		}
		return at, noKey
	}
	w := &s.cfg.Watchers[ev.Watcher]
	var number uint64
	var ok bool
	if s.cfg.Names != nil {
		number, ok = s.cfg.Names.Number(ev.Watcher, ev.Key)
	} else {
		number, ok = s.cfg.Space.Number(ev.Key)
	}
	if !ok || number-w.First >= w.Keys {
		return -1, 0
	}
	return at + int(number-w.First), number
}

// noKey is the number of a key that is none of the load's.
const noKey = ^uint64(0)

// judge says what an event is to its watcher.
func (s *Sink) judge(place int, key uint64, ev *store.Event, at int64) verdict {
	if !s.cfg.States {
		return s.tracks[place].take(ev.Version, ev.Revision)
	}
	s.cfg.Board.seen(key, ev.Revision, ev.Version)
	return s.states[place].take(ev.Revision, at)
}

// got is how many distinct events there are at a place.
func (s *Sink) got(place int) uint32 {
	if s.cfg.States {
		return s.states[place].got
	}
	return s.tracks[place].got
}

func (s *Sink) delivered(place int) {
	s.total.Delivered++
	if s.got(place) <= s.cfg.Expect {
		s.awaited--
	}
}

// Caught reports whether every watcher has got the events that Config.Expect
// asks for; false without any.
func (s *Sink) Caught() bool { return s.cfg.Expect > 0 && s.awaited == 0 }

// Settled reports whether all that is to be expected came. What it costs is
// proportional to watchers times keys, unless nothing came since it was asked.
func (s *Sink) Settled() bool {
	if s.checked {
		return false
	}
	s.checked = true
	for i := range s.cfg.Watchers {
		for k := range s.cfg.Watchers[i].Keys {
			if s.lacks(i, k) {
				return false
			}
		}
	}
	s.checked, s.settled = false, true
	return true
}

// lacks reports whether the i-th watcher is still to be told of its k-th key.
func (s *Sink) lacks(i int, k uint64) bool {
	place := s.place[i] + int(k)
	if !s.cfg.States {
		t := &s.tracks[place]
		return s.due(i, k) > t.got && (!s.cfg.Coalesced || s.due(i, k) > t.got+t.passed())
	}
	return len(s.cfg.Key) == 0 && s.cfg.Board.superseded(s.cfg.Watchers[i].First+k, &s.states[place])
}

// due is how many events the i-th watcher is to get of its k-th key.
func (s *Sink) due(i int, k uint64) uint32 {
	if len(s.cfg.Key) > 0 {
		return s.cfg.Expect
	}
	return s.cfg.Expect + s.cfg.Board.Acknowledged(s.cfg.Watchers[i].First+k)
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

// missing is how many of the events that are due did not come: those that are lost,
// and those that later ones stand for.
func (s *Sink) missing(i int, k uint64, due uint32) (lost, coalesced uint32) {
	place := s.place[i] + int(k)
	switch {
	case s.cfg.Coalesced:
		return s.tracks[place].behind(due)
	case !s.cfg.States:
		return s.tracks[place].lost(due), 0
	case !s.settled && s.lacks(i, k):
		lost = 1
	}
	if got := s.states[place].got + lost; due > got {
		coalesced = due - got
	}
	return lost, coalesced
}

func (s *Sink) addTo(t *measure.WatchTotals) {
	for i := range s.cfg.Watchers {
		for k := range s.cfg.Watchers[i].Keys {
			due := s.due(i, k)
			t.Expected += uint64(due)
			lost, coalesced := s.missing(i, k, due)
			t.Lost += uint64(lost)
			t.Coalesced += uint64(coalesced)
		}
	}
	o := &s.total
	t.Watchers += o.Watchers
	t.Delivered += o.Delivered
	t.Duplicated += o.Duplicated
	t.Reordered += o.Reordered
	t.Untimed += o.Untimed
	t.Untimed += uint64(len(s.pending))
	t.Foreign += o.Foreign + uint64(len(s.pending))
	t.Wrong += o.Wrong
	t.Impossible += o.Impossible
	t.Resubscribed += o.Resubscribed
	t.Ended += o.Ended
	if t.EndedText == "" {
		t.EndedText = o.EndedText
	}
}
