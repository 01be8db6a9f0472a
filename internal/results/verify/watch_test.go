package verify

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

func watching(watcher uint32, watchKind history.WatchEvent, o history.Op) history.Op {
	o.Kind, o.Watch, o.Session = kv.Watch, watchKind, watcher
	return o
}

// began returns the creation of a watcher when the store is at the given revision. The watcher
// watches the given number of keys, starting with key 0.
func began(watcher uint32, keys uint64, at int64) history.Op {
	return watching(watcher, history.WatchStarted, history.Op{Written: keys, Revision: at})
}

// resumed returns the re-creation of a watcher that resumes at a revision.
func resumed(watcher uint32, keys uint64, from int64) history.Op {
	return watching(watcher, history.WatchStarted, history.Op{Written: keys, Revision: 10, ModRevision: from})
}

// recreated returns the re-creation of a watcher that continues at the newest revision.
func recreated(watcher uint32, at int64) history.Op { return began(watcher, 1, at) }

// newest returns the creation of a watcher of key 0 that may receive only the newest version.
func newest(watcher uint32, at int64) history.Op {
	o := began(watcher, 1, at)
	o.ContinuesPrevious = true
	return o
}

// unknown returns a deletion whose exact revision is unknown. The revision is at most the given
// one.
func unknown(watcher uint32, at int64) history.Op {
	o := newest(watcher, at)
	o.Outcome = kv.Miss
	return o
}

func happened(watcher uint32, rev int64, value uint64) history.Op {
	return watching(watcher, history.KeyChanged, history.Op{Revision: rev, ModRevision: rev, Read: value})
}

func prior(rev int64, value uint64, o history.Op) history.Op {
	o.Expected, o.Written = rev, value
	return o
}

func reached(watcher uint32, rev int64) history.Op {
	return watching(watcher, history.ProgressReached, history.Op{Revision: rev, ModRevision: rev})
}

func TestWatchKinds(t *testing.T) {
	for name, c := range map[string]example{
		"all is right": {ops: []history.Op{
			began(1, 3, 10), put(11, 1), of2(2, put(12, 5)), of2(7, put(13, 6)), del(14), put(15, 2), happened(1, 11, 1), of2(2, happened(1, 12, 5)),
			prior(11, 1, happened(1, 14, 0)), happened(1, 15, 2), reached(1, 15), put(16, 3), prior(15, 2, happened(1, 16, 3)),
		}},
		"created late":             {ops: []history.Op{put(11, 1), began(1, 1, 11), put(12, 2), prior(11, 1, happened(1, 12, 2))}},
		"there before":             {ops: []history.Op{began(1, 1, 10), put(11, 1), prior(7, 500, happened(1, 11, 1))}},
		"not come yet":             {ops: []history.Op{began(1, 1, 10), put(11, 1), put(12, 2), happened(1, 11, 1)}},
		"missed":                   {ops: []history.Op{began(1, 1, 10), put(11, 1), put(12, 2), happened(1, 12, 2)}, want: MissingEvent, says: "Watcher 1 received later events, but it never received revision 11 of key 0."},
		"missed, of another key":   {ops: []history.Op{began(1, 3, 10), put(11, 1), of2(2, put(12, 2)), of2(2, happened(1, 12, 2))}, want: MissingEvent},
		"missed, and all reached":  {ops: []history.Op{began(1, 1, 10), put(11, 1), reached(1, 11)}, want: MissingEvent},
		"missed by one of two":     {ops: []history.Op{began(1, 1, 10), began(2, 1, 10), lost(put(0, 1)), put(12, 2), happened(2, 11, 1), happened(2, 12, 2), happened(1, 12, 2)}, want: MissingEvent},
		"of many keys":             {ops: []history.Op{began(1, 1000, 10), put(11, 1), of2(900, put(12, 2)), of2(900, happened(1, 12, 2))}, want: MissingEvent},
		"resumed":                  {ops: []history.Op{began(1, 1, 10), put(11, 1), happened(1, 11, 1), put(12, 2), resumed(1, 1, 12), happened(1, 12, 2)}},
		"resumed with a gap":       {ops: []history.Op{began(1, 1, 10), put(11, 1), happened(1, 11, 1), put(12, 2), put(13, 3), resumed(1, 1, 12), happened(1, 13, 3)}, want: MissingEvent},
		"away":                     {ops: []history.Op{began(1, 1, 10), put(11, 1), happened(1, 11, 1), put(12, 2), recreated(1, 12), put(13, 3), happened(1, 13, 3)}},
		"missed, and not away":     {ops: []history.Op{began(1, 1, 10), put(11, 1), happened(1, 11, 1), put(12, 2), recreated(1, 12), put(13, 3), put(14, 4), happened(1, 14, 4)}, want: MissingEvent},
		"reached, and away":        {ops: []history.Op{began(1, 1, 10), put(11, 1), put(12, 2), reached(1, 10), recreated(1, 12), put(13, 3), happened(1, 13, 3)}},
		"without values":           {ops: []history.Op{began(1, 1, 10), put(11, 1), happened(1, 11, history.UnknownValue), del(12), happened(1, 12, 0), lost(put(0, 2)), happened(1, 13, history.UnknownValue)}},
		"no value, and deleted":    {ops: []history.Op{began(1, 1, 10), put(11, 1), del(12), happened(1, 11, history.UnknownValue), happened(1, 12, history.UnknownValue)}, want: TwoValuesAtRevision},
		"unwritten, without value": {ops: []history.Op{began(1, 1, 10), put(11, 1), happened(1, 11, 1), happened(1, 12, history.UnknownValue)}, want: UnwrittenValue},
		"passed over":              {ops: []history.Op{newest(1, 10), put(11, 1), put(12, 2), happened(1, 12, 2), put(13, 3), put(14, 4), happened(1, 14, 4), reached(1, 14)}},
		"the newest missed":        {ops: []history.Op{newest(1, 10), put(11, 1), put(12, 2), happened(1, 11, 1), reached(1, 12)}, want: MissingEvent},
		"received as gone":         {ops: []history.Op{newest(1, 10), put(11, 1), happened(1, 11, 1), put(12, 2), del(13), unknown(1, 13), reached(1, 13), put(14, 3), happened(1, 14, 3)}},
		"received as gone before":  {ops: []history.Op{newest(1, 10), put(11, 1), happened(1, 11, 1), put(12, 2), del(14), unknown(1, 13), reached(1, 14)}, want: MissingEvent},
		"gone once more":           {ops: []history.Op{newest(1, 10), put(11, 1), happened(1, 11, 1), del(12), put(13, 2), del(14), happened(1, 12, 0), reached(1, 14)}},
		"gone, and there again":    {ops: []history.Op{newest(1, 10), put(11, 1), happened(1, 11, 1), del(12), put(13, 2), happened(1, 12, 0), reached(1, 13)}, want: MissingEvent},
		"ended by compaction":      {ops: []history.Op{began(1, 1, 10), put(11, 1), happened(1, 11, 1), put(12, 2), watching(1, history.WatchEnded, history.Op{Outcome: kv.BadRequest})}},
		"twice":                    {ops: []history.Op{began(1, 1, 10), put(11, 1), happened(1, 11, 1), happened(1, 11, 1)}, want: DuplicateEvent, says: "received revision 11 of the key twice"},
		"twice, and late":          {ops: []history.Op{began(1, 1, 10), put(11, 1), put(12, 2), happened(1, 11, 1), happened(1, 12, 2), happened(1, 11, 1)}, want: DuplicateEvent},
		"out of order":             {ops: []history.Op{began(1, 1, 10), put(11, 1), put(12, 2), happened(1, 12, 2), happened(1, 11, 1)}, want: ReorderedEvent, says: "received revision 11 after a later revision"},
		"out of order, two keys":   {ops: []history.Op{began(1, 3, 10), put(11, 1), of2(2, put(12, 2)), of2(2, happened(1, 12, 2)), happened(1, 11, 1)}, want: ReorderedEvent},
		"a whole revision":         {ops: []history.Op{began(1, 3, 10), txn(11, 1), joined(2, txn(11, 1)), happened(1, 11, 1), joined(2, happened(1, 11, 1))}},
		"half a revision":          {ops: []history.Op{began(1, 3, 10), txn(11, 1), joined(2, txn(11, 1)), happened(1, 11, 1), of2(2, happened(1, 11, 1))}, want: SplitEvent, says: "revision 11 in two messages"},
		"of another key":           {ops: []history.Op{began(1, 3, 10), of2(7, put(11, 1)), of2(7, happened(1, 11, 1))}, want: EventOfWrongKey},
		"untrue progress":          {ops: []history.Op{began(1, 1, 10), put(11, 1), reached(1, 11), happened(1, 11, 1)}, want: WrongWatchProgress, says: "it had received all events up to revision 11"},
		"a wrong value before":     {ops: []history.Op{began(1, 1, 12), put(11, 1), put(12, 2), put(13, 3), prior(11, 1, happened(1, 13, 3))}, want: WrongPreviousValue, says: "Before revision 13, the key had value #2 of revision 12."},
		"unwritten value":          {ops: []history.Op{began(1, 1, 10), put(11, 1), happened(1, 11, 1), happened(1, 12, 44)}, want: UnwrittenValue},
		"another value":            {ops: []history.Op{began(1, 1, 10), put(11, 1), happened(1, 11, 2)}, want: TwoValuesAtRevision},
		"without a delete":         {ops: []history.Op{began(1, 1, 10), put(11, 1), happened(1, 11, 1), happened(1, 12, 0)}, want: UnwrittenValue},
		"deleted late":             {ops: []history.Op{began(1, 1, 10), put(11, 1), lost(del(0)), lost(del(0)), happened(1, 11, 1), happened(1, 12, 0), get(12, 0, 0), put(13, 2), get(14, 0, 0)}},
		"read though deleted":      {ops: []history.Op{began(1, 1, 10), put(11, 1), lost(del(0)), happened(1, 11, 1), happened(1, 12, 0), get(13, 11, 1)}, want: ResurrectedWrite},
	} {
		for _, partition := range []int{0, 2} {
			m := line(c.ops...)
			delete(m.header.Guarantees, history.SessionOrder)
			r, _ := checked(t, m, Options{Partition: partition})
			c.holds(t, name, r)
		}
	}
}

func TestWatchEventsAreCounted(t *testing.T) {
	m := line(began(1, 1, 10), began(2, 1, 10), put(11, 1), happened(1, 11, 1), reached(1, 11), resumed(1, 1, 12), watching(2, history.WatchEnded, history.Op{}))
	r, _ := checked(t, m, Options{})
	if want := (record.WatchVerification{Watchers: 2, Events: 1, Progress: 1, Resumed: 1, Ended: 1}); r.Watches == nil || *r.Watches != want || r.Operations != 1 || r.VerifiedOperations != 1 {
		t.Errorf("the counts are %+v for %d operations", r.Watches, r.Operations)
	}
	if text, _ := describe(&m.ops[3], false); text != "Watcher 1, 4.500000 s: key 0 got value #1 at revision 11." {
		t.Error(text)
	}
}

const (
	lieLose    lieKind = "dropped event"
	lieDouble  lieKind = "doubled event"
	lieLate    lieKind = "reordered event"
	lieInvent  lieKind = "invented event"
	lieSplit   lieKind = "event in a separate message"
	lieElse    lieKind = "event of another key"
	liePremise lieKind = "progress before the events"
	lieBefore  lieKind = "wrong value before"
)

var watchLies = []lieKind{lieLose, lieDouble, lieLate, lieInvent, lieSplit, lieElse, liePremise, lieBefore}

// teller delivers the writes of a simulated store to watchers.
type teller struct {
	*rand.Rand
	s      *simulation
	m      *memory
	lies   lieKind
	rate   float64
	all    []change // by revision
	proven []*lie
	// unproven is set if an event was dropped, but may legitimately be missing.
	unproven bool
	now      int64
}

type change struct {
	rev      int64
	key      uint64
	v, prior simVersion
}

// watchedBy simulates a load, and then delivers the load's events to several watchers. All events
// arrive in order, in messages that contain complete revisions. Sometimes a watcher is re-created
// at the revision of its next event. The result `proven` lists the lies that a message proves, and
// `unproven` reports whether there is a lie that no message proves.
func watchedBy(seed uint64, n int, lies lieKind, rate float64) (m *memory, proven []*lie, unproven bool) {
	s, m, _ := simulatedBy(seed, n, noLie, 0, false)
	w := &teller{Rand: rand.New(rand.NewPCG(seed, 78)), s: s, m: m, lies: lies, rate: rate, now: 1<<60 + 1<<50}
	for key := range s.keys {
		prior := simVersion{}
		for _, v := range s.keys[key].versions {
			w.all = append(w.all, change{v.rev, uint64(key), v, prior})
			prior = v
		}
	}
	slices.SortFunc(w.all, func(a, b change) int { return cmp.Or(cmp.Compare(a.rev, b.rev), cmp.Compare(a.key, b.key)) })
	for i := range 1 + w.IntN(8) {
		w.watcher(uint32(i))
	}
	return m, w.proven, w.unproven
}

func (w *teller) add(o history.Op) int {
	w.now += w.Int64N(1000)
	o.Invoked, o.Done = w.now, w.now
	w.m.ops = append(w.m.ops, o)
	return len(w.m.ops) - 1
}

func (w *teller) watcher(number uint32) {
	keys := uint64(len(w.s.keys))
	first := w.Uint64N(keys)
	span := 1 + w.Uint64N(keys-first)
	from := simBase + w.Int64N(w.s.rev-simBase+1)
	create := func(o history.Op) {
		o.Key, o.Written = first, span
		w.add(watching(number, history.WatchStarted, o))
	}
	create(history.Op{Revision: from})
	var mine [][]change // by revision
	for _, c := range w.all {
		switch {
		case c.rev <= from || c.key-first >= span:
		case len(mine) > 0 && mine[len(mine)-1][0].rev == c.rev:
			mine[len(mine)-1] = append(mine[len(mine)-1], c)
		default:
			mine = append(mine, []change{c})
		}
	}
	joined, late := false, []change(nil)
	for i, revision := range mine {
		rev, last := revision[0].rev, i == len(mine)-1
		switch joined = joined && w.IntN(4) == 0; w.IntN(40) {
		case 0:
			create(history.Op{Revision: simBase, ModRevision: rev})
			joined = false
		case 1:
			w.add(watching(number, history.ProgressReached, history.Op{Revision: rev - 1, ModRevision: rev - 1}))
			joined = false
		}
		lying := w.Float64() < w.rate
		if lying && w.lies == liePremise {
			w.add(watching(number, history.ProgressReached, history.Op{Revision: rev, ModRevision: rev}))
			joined = false
		}
		if lying && w.lies == lieLate && !last && late == nil {
			late = revision
			continue
		}
		for k, c := range revision {
			o := w.event(number, c)
			o.ContinuesPrevious = joined || k > 0
			if lying && w.lies == lieSplit && k > 0 {
				o.ContinuesPrevious = false
			}
			joined = true
			if lying && k == 0 && w.lies == lieLose {
				if !last && c.v.acked {
					w.record(c.key, -1, rev)
				} else {
					w.unproven = true // nevertheless, an event at another watcher may show that this event is missing
				}
				joined = false
				continue
			}
			at := w.add(o)
			if lying {
				w.lie(number, c, at, k)
			}
		}
		if late != nil && !slices.ContainsFunc(late, func(c change) bool { return c.rev == rev }) {
			for _, c := range late {
				w.record(c.key, w.add(w.event(number, c)), 0)
			}
			late, joined = nil, false
		}
	}
}

func (w *teller) event(number uint32, c change) history.Op {
	o := watching(number, history.KeyChanged, history.Op{Key: c.key, Revision: c.rev, ModRevision: c.rev, Read: c.v.value})
	if number%2 == 0 && c.prior.value != 0 {
		o.Expected, o.Written = c.prior.rev, c.prior.value
	}
	return o
}

// lie makes the k-th event of a revision wrong, or delivers a wrong event after it.
func (w *teller) lie(number uint32, c change, at, k int) {
	switch w.lies {
	case lieDouble:
		w.record(c.key, w.add(w.event(number, c)), 0)
	case lieInvent:
		c.v.value = 1 << 40
		c.rev += 1 << 30
		if k == 0 {
			w.record(c.key, w.add(w.event(number, c)), 0)
		}
	case lieSplit:
		if k > 0 {
			w.record(c.key, at, 0)
		}
	case lieElse:
		o := w.event(number, c)
		o.Key = uint64(len(w.s.keys)) + 5
		w.record(o.Key, w.add(o), 0)
	case liePremise:
		w.record(c.key, at, 0)
	case lieBefore:
		o := &w.m.ops[at]
		older := w.s.keys[c.key].versionAt(c.prior.rev - 1)
		if o.Expected > 0 && c.prior.acked && older.value != 0 {
			o.Expected, o.Written = older.rev, older.value
			w.record(c.key, at, 0)
		}
	}
}

// record records a lie. op is the number of the message that proves the lie. If no message proves
// it, op is -1, and rev is the revision of the event that was not delivered.
func (w *teller) record(key uint64, op int, rev int64) {
	w.proven = append(w.proven, &lie{key: key, ops: []int{op}, rev: rev, proven: true})
}

// TestCorrectWatchersCauseNoFindings checks that correct events from a store with crashes and late
// writes cause no findings.
func TestCorrectWatchersCauseNoFindings(t *testing.T) {
	first, last, operations := sizes(t)
	operations /= 4 // each write causes an event at several watchers
	events := uint64(0)
	for i := first; i <= last; i++ {
		m, _, _ := watchedBy(uint64(i), 1+operations>>(i%8*2), noLie, 0)
		if i%3 == 1 {
			m.header.BaseRevision = 0 // the first revision is unknown
		}
		r, _ := checked(t, m, Options{Partition: 1 + len(m.ops)/(1+i%4)})
		if len(r.WrongByKind) > 0 {
			t.Fatalf("seed %d: %v\n%s", i, r.WrongByKind, story(&r.Violations[0]))
		}
		if r.Watches != nil {
			events += r.Watches.Events
		}
	}
	if events == 0 {
		t.Error("no history has watch events")
	}
}

// TestEveryLieToAWatcherIsFound checks that each lie that violates a guarantee is found.
func TestEveryLieToAWatcherIsFound(t *testing.T) {
	settle.SkipUnderRace(t)
	first, last, operations := sizes(t)
	operations /= 4 // each write causes an event at several watchers
	delivered := map[lieKind]int{}
	for i := first; i <= last; i++ {
		kind := watchLies[i%len(watchLies)]
		m, lies, unproven := watchedBy(uint64(i), operations, kind, 20/float64(operations))
		r, found := checked(t, m, Options{Partition: 1 + len(m.ops)/(1+i%4), MaxViolations: 1 << 30})
		for _, l := range lies {
			delivered[kind]++
			if !slices.ContainsFunc(found, func(f finding) bool {
				return involves(&f, l) || l.rev > 0 && f.kind == MissingEvent && f.key == l.key && f.revision == l.rev
			}) {
				t.Errorf("seed %d: a %s of key %d was not found; found were %v", i, kind, l.key, r.WrongByKind)
			}
		}
		if len(lies) == 0 && !unproven && kind != lieBefore && len(r.WrongByKind) > 0 {
			t.Errorf("seed %d: no response violates a guarantee, but the check reports %v\n%s", i, r.WrongByKind, story(&r.Violations[0]))
		}
		for _, v := range r.Violations {
			if v.Explanation == "" || v.Source != "documentation" || len(v.Operations) == 0 || strings.Contains(story(&v), "%!") {
				t.Errorf("seed %d: %+v", i, v)
			}
		}
	}
	for _, kind := range watchLies {
		if delivered[kind] == 0 {
			t.Errorf("no history has a %s", kind)
		}
	}
	t.Log(delivered)
}
