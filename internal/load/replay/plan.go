// Package replay sends a recording again: its calls at their times, with the revisions
// and leases of the store that they are sent to now.
package replay

import (
	"math"
	"slices"
	"sort"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/app"
	"github.com/quorumbench/quorumbench/internal/load/pace"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
)

// Plan is a recording made ready to be sent again, once. It is an app.Script.
type Plan struct {
	app.ScriptBase
	Header  call.Header
	Problem string // a sentence, where the recording was not read to its end
	// Left is how many calls are not sent again, by their method, and Gaps how many gaps
	// the recording has.
	Left map[string]uint64
	Gaps int
	// Connections is how many were in use at once at most, Keys how many different keys calls name, and
	// KeyBytes and ValueBytes how long those and the values written are in the mean.
	Connections          int
	Keys                 uint64
	KeyBytes, ValueBytes int

	store  store.Replayer
	calls  []*call.Call
	speed  float64
	prefix string
	salt   uint64

	needs    needs
	before   []call.Call
	states   []state // by call
	revised  []int64 // by call: the revision that it made now; 0: none that is known
	lates    []int64 // by call: how late it was sent, in nanoseconds; -1: it was not, or waited
	had      map[string]earlierNow
	told     told
	names    names
	places   *places // nil: a call may go over any connection
	watchers watchers
	base     int64           // the newest revision of what was written before
	conns    int             // connections that there are
	writers  map[int64]int32 // a revision's call
	made     []revision      // all of those, upwards
	waited   uint64
}

// state is how far a call is.
type state uint8

const (
	open state = iota
	held       // answered; of one with guards, they held
	refused
	failed
)

// revision is one that a recorded call made.
type revision struct {
	at int64
	by int32
}

// Calls is how many there are.
func (p *Plan) Calls() uint64 { return uint64(len(p.calls)) }

// Prepared is how many operations are done before.
func (p *Plan) Prepared() uint64 { return uint64(len(p.before)) }

// Kinds is what the calls count as, with the number of each.
func (p *Plan) Kinds() map[Kind]uint64 {
	out := map[Kind]uint64{}
	for _, c := range p.calls {
		out[kindOf(c)]++
	}
	return out
}

// Kind is what a call counts as.
type Kind struct {
	Kind  kv.Kind
	Level kv.Consistency
}

// kindOf is what a call counts as; requests about leases count as keeping one alive.
func kindOf(c *call.Call) Kind {
	kind, level, ok := c.Kind()
	if !ok {
		kind, level = kv.KeepAlive, kv.None
	}
	return Kind{kind, level}
}

// Pacer implements app.Script.
func (p *Plan) Pacer() pace.Pacer { return p.schedule() }

func (p *Plan) schedule() *pace.Recorded {
	at := make([]int64, len(p.calls))
	for n, c := range p.calls {
		at[n] = c.At
	}
	return pace.NewRecorded(at, p.speed)
}

// Length is how long it takes, in nanoseconds.
func (p *Plan) Length() int64 { return p.schedule().Due(p.Calls()) }

// Outcome is what became of calls with guards, and of those that waited for others.
type Outcome struct {
	Waited                            uint64
	Guarded, Held, HeldAgain, HeldNow uint64
	// Watchers that were begun, the events that they were told when they were recorded,
	// and those now.
	Watchers, Events, EventsNow uint64
	// Gaps are by how many nanoseconds the times between calls that followed each other
	// were longer or shorter than the recording has them at this speed, from the least on;
	// where neither waited for an answer or a connection.
	Gaps []int64
}

// Outcome is known when the load is over.
func (p *Plan) Outcome() Outcome {
	o := Outcome{Waited: p.waited, Watchers: uint64(len(p.watchers.by)), Events: p.watchers.total, EventsNow: p.watchers.told}
	o.Gaps = p.gapErrors()
	for n, c := range p.calls {
		if !c.Guarded {
			continue
		}
		o.Guarded++
		now := p.states[n] == held
		switch did := c.OK() && c.Held; {
		case did && now:
			o.Held++
			o.HeldAgain++
		case did:
			o.Held++
		case now:
			o.HeldNow++
		}
	}
	return o
}

// gapErrors is Outcome.Gaps.
func (p *Plan) gapErrors() (all []int64) {
	for n := 1; n < len(p.lates); n++ {
		if a, b := p.lates[n-1], p.lates[n]; a >= 0 && b >= 0 {
			all = append(all, max(a-b, b-a))
		}
	}
	slices.Sort(all)
	return all
}

// none is a revision that no key has.
const none = math.MaxInt64

// earlierNow is what was written before: at which revision of the store, and its version.
type earlierNow struct{ at, version int64 }

// names are what the store chose: of keys whose names it completed, and of leases that
// have no numbers. What it chose when it was recorded is replaced by what it chose now.
type names struct {
	keys   map[string]int32 // a recorded key's place
	makers map[string]int32 // the call that made it
	leases map[int64]int32
	texts  [][]byte // what they are called now; empty: not known yet
}

// nameRoom is how much a store adds to a name, and the length of a lease's.
const nameRoom = 64

// ofKey is what a recorded key is called now; empty: as it was.
func (m *names) ofKey(key []byte) []byte {
	if len(m.keys) == 0 {
		return nil
	}
	if at, ok := m.keys[string(key)]; ok {
		return m.texts[at]
	}
	return nil
}

// ofLease is what a recorded lease is called now.
func (m *names) ofLease(lease int64) []byte {
	if at, ok := m.leases[lease]; ok && lease != 0 {
		return m.texts[at]
	}
	return nil
}

// granted takes the name of a lease.
func (m *names) granted(lease int64, name []byte) {
	if at, ok := m.leases[lease]; ok {
		m.texts[at] = append(m.texts[at][:0], name...)
	}
}

// needs are the calls whose answers each call has to wait for, which were done before it:
//
//   - those that made the revisions that its guards name,
//   - of each key that it writes, or guards by, the write before it in the store's own
//     order, by revisions: writes of a key are done in their order again. Of a call whose
//     revision is not known it is the newest write that had been answered when it was
//     asked for,
//   - of a watcher, a compaction or a read at a revision the newest write until that, of a
//     watcher's end its beginning, and of a write or a compaction the newest watchers that had been begun or ended,
//   - those that granted the leases that it names (and of the end of one those that named it), and made the keys whose names the
//     store completed,
//   - where guards name versions that only reads tell: of a guard the read that told, of
//     that read the newest write that had been answered, and of a write those reads that
//     had been answered before it,
//   - of calls that overlapped those that guards and reads show to have been done before,
//     also where they were asked for later (told.go).
//
// A call needs those alone that the store did earlier, so that none waits for itself. In
// a recording that says otherwise, because it is of no such store, timeouts end that.
type needs struct {
	first []uint32 // by call: where its needs begin in calls; the last one's end, too
	calls []int32
}

func (n *needs) of(call uint64) []int32 { return n.calls[n.first[call]:n.first[call+1]] }

// revisionOf is the revision now of what made a recorded one of a key.
func (p *Plan) revisionOf(key []byte, recorded int64) int64 {
	if recorded <= 0 {
		return recorded
	}
	if by, ok := p.writers[recorded]; ok {
		if now := p.revised[by]; now > 0 {
			return now
		}
		return none
	}
	if now := p.had[string(key)].at; now > 0 {
		return now
	}
	return none
}

// revisionAt is the revision now of the store as it was at a recorded one: that of the
// newest write until then, if it was made again; else 0, the present one.
func (p *Plan) revisionAt(recorded int64) int64 {
	i := sort.Search(len(p.made), func(i int) bool { return p.made[i].at > recorded })
	if i == 0 {
		return 0
	}
	return p.revised[p.made[i-1].by]
}

// told is what calls tell of versions. Places for those that guards name are made when
// the recording is read, so that the load allocates none.
type told struct {
	any     bool               // some answer has a version
	guards  map[guardAt]int32  // the slot of the version that a guard names
	lessons map[int32][]lesson // by call: what its answer tells that is wanted
	now     []int64            // by slot: the version that the store has now; 0: not told
	// enders are, by slot, the calls whose guard on the version held, and that put another
	// in its place.
	enders map[int32][]int32
	// changes are, by key, the same calls with the versions that they put another in the
	// place of, upwards.
	changes map[string][]change
	// readers are, by slot, the calls that read the version and guard nothing.
	readers map[int32][]int32
	// creators are, by key, the calls whose guard held that it is not there.
	creators map[string][]int32
}

// change is a call that put another version in the place of one.
type change struct {
	from int64
	by   int32
}

// guardAt is a part of a call.
type guardAt struct{ call, part int32 }

// lesson is a version of a key that an answer tells.
type lesson struct {
	key  []byte // as it is recorded
	slot int32
	read bool // and not made by the call
	// version is the one that it was when it was recorded.
	version int64
}

// watchers are those that a recording begins: each again on one connection, with what it
// was told then and is told now.
type watchers struct {
	of    map[int32]uint32 // by call: whose beginning or end it asks for
	by    []int32          // by watcher: the call that begins it
	then  []uint64         // events that it was told when it was recorded
	now   []uint64
	ended uint64 // by the store now

	total, told uint64 // of then and now
	asked, till int64  // how far they were when they were asked for last, and until when more is awaited
}

// unknownWatcher is the number of a watcher whose beginning is not in the recording.
const unknownWatcher = 1<<31 - 1
