// Package replay sends the calls of a recording again, at their recorded times. Recorded revisions,
// versions and leases are translated to those of the store that receives the calls.
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

// Plan is a recording that is ready to be sent again, once. It implements app.Script.
type Plan struct {
	app.ScriptBase
	Header  call.Header
	Problem string // why the recording could not be read to its end; empty if it was read
	// Left is the number of calls that are not sent again, by method, and Gaps the number of gaps
	// in the recording.
	Left map[string]uint64
	Gaps int
	// Connections is the highest number of connections in use at once, and Keys the number of
	// different keys in the calls. KeyBytes and ValueBytes are the mean sizes of keys and of
	// written values.
	Connections          int
	Keys                 uint64
	KeyBytes, ValueBytes int

	store  store.Replayer
	calls  []*call.Call
	speed  float64
	prefix string
	salt   uint64

	needs     needs
	before    []call.Call
	states    []state // by call
	revised   []int64 // by call: the revision that it has made in this replay; 0: unknown
	lates     []int64 // by call: how late it was sent, in nanoseconds; -1: it was not sent, or it waited
	preloaded map[string]preloaded
	versions  versions
	names     names
	places    *places // nil: calls may use any connection
	watchers  watchers
	base      int64           // newest revision of the preloaded keys
	conns     int             // number of connections of this replay
	writers   map[int64]int32 // by recorded revision: the call that made it
	made      []revision      // all revisions of writers, ascending
	waited    uint64
}

// state is the progress of a call.
type state uint8

const (
	open state = iota
	held       // completed; if it has guards, they held
	refused
	failed
)

// revision is a recorded revision and the call that made it.
type revision struct {
	at int64
	by int32
}

// Calls returns the number of calls.
func (p *Plan) Calls() uint64 { return uint64(len(p.calls)) }

// Prepared returns the number of operations that prepare the store.
func (p *Plan) Prepared() uint64 { return uint64(len(p.before)) }

// Kinds returns the number of calls of each kind.
func (p *Plan) Kinds() map[Kind]uint64 {
	out := map[Kind]uint64{}
	for _, c := range p.calls {
		out[kindOf(c)]++
	}
	return out
}

// Kind is the kind and consistency that a call counts as among all operations.
type Kind struct {
	Kind  kv.Kind
	Level kv.Consistency
}

// kindOf returns what a call counts as. Requests about leases count as keep-alives.
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

// Length returns the duration of the replay in nanoseconds.
func (p *Plan) Length() int64 { return p.schedule().Due(p.Calls()) }

// Outcome holds the results of a replay.
//
// Waited is the number of calls that waited for other calls, and Guarded the number of calls with
// guards. The guards of Held calls held in the recording, those of HeldAgain calls in the recording
// and the replay, and those of HeldNow calls only in the replay.
type Outcome struct {
	Waited                            uint64
	Guarded, Held, HeldAgain, HeldNow uint64
	// Watchers is the number of watchers, Events the number of events that they received in the
	// recording, and EventsNow that in the replay.
	Watchers, Events, EventsNow uint64
	// Gaps contains, in ascending order, the differences in nanoseconds between the times from one
	// call to the next in the replay and in the recording at this speed. It leaves out calls that
	// waited for a response or a connection.
	Gaps []int64
}

// Outcome returns the results after the load has ended.
func (p *Plan) Outcome() Outcome {
	o := Outcome{Waited: p.waited, Watchers: uint64(len(p.watchers.by)), Events: p.watchers.total, EventsNow: p.watchers.received}
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

// gapErrors returns Outcome.Gaps.
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

// preloaded is the present revision and version of a preloaded key.
type preloaded struct{ at, version int64 }

// names maps recorded names that the store has chosen to the names that it has chosen in this
// replay: those of sequential keys, and of leases without numbers.
type names struct {
	keys   map[string]int32 // by recorded key: its index in texts
	makers map[string]int32 // by recorded key: the call that created it
	leases map[int64]int32
	texts  [][]byte // present names; empty: not known yet
}

// nameRoom is how many bytes a store adds to a name, and the length of a lease's name.
const nameRoom = 64

// ofKey returns the present name of a recorded key; empty: the key has no other name, or it is not
// known yet.
func (m *names) ofKey(key []byte) []byte {
	if len(m.keys) == 0 {
		return nil
	}
	if at, ok := m.keys[string(key)]; ok {
		return m.texts[at]
	}
	return nil
}

// ofLease returns the present name of a recorded lease.
func (m *names) ofLease(lease int64) []byte {
	if at, ok := m.leases[lease]; ok && lease != 0 {
		return m.texts[at]
	}
	return nil
}

// keepLease notes the present name of a recorded lease.
func (m *names) keepLease(lease int64, name []byte) {
	if at, ok := m.leases[lease]; ok {
		m.texts[at] = append(m.texts[at][:0], name...)
	}
}

// needs contains the calls whose responses each call waits for:
//
//   - For each revision in its guards: the call that made the revision.
//   - For each key that it writes or guards: the previous write by the store's revisions, so that
//     the writes of a key are executed in the recorded order. If the call's revision is unknown:
//     the newest write with a response when the call was sent.
//   - For a watcher, a compaction or a read at a revision: the newest write up to that revision. For
//     the end of a watcher: its start. For a write or a compaction: the newest starts and ends of
//     watchers with a response.
//   - For a lease: its grant. For the end of a lease: the calls that name it. For a sequential key:
//     its creation.
//   - If guards contain versions that only reads return. For a guard: the read that returned the
//     version. For that read: the newest write with a response. For a write: the reads with a
//     response before it.
//   - Calls that overlapped it, but were executed before it according to guards and reads, even if
//     they were sent later (told.go).
//
// A call only waits for calls that the store executed earlier, so there are no cycles. In an
// inconsistent recording, which is not from such a store, timeouts end the wait.
type needs struct {
	first []uint32 // by call: the index of its first need in calls; then the end of the last
	calls []int32
}

func (n *needs) callsFor(call uint64) []int32 { return n.calls[n.first[call]:n.first[call+1]] }

// revisionOf returns the present revision of the write that made a recorded revision of a key.
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
	if now := p.preloaded[string(key)].at; now > 0 {
		return now
	}
	return none
}

// revisionAt returns the present revision of the store that corresponds to a recorded one: that of
// the newest write up to it, if that write was repeated; otherwise 0, which stands for the present.
func (p *Plan) revisionAt(recorded int64) int64 {
	i := sort.Search(len(p.made), func(i int) bool { return p.made[i].at > recorded })
	if i == 0 {
		return 0
	}
	return p.revised[p.made[i-1].by]
}

// versions contains the versions in recorded responses, and the guards that need them. A slot is
// the number of a version of a key that a guard names. Slots are assigned when the recording is
// read, so that the load allocates no memory.
//
// For example, call 3 reads version 7 of key k, and call 5 writes k under the guard that its
// version is 7. If this version has slot 0, then guards[{5, 0}] is 0, and learned[3] contains k and
// slot 0. When the response to call 3 has version 12 in the replay, now[0] becomes 12, and the
// guard of call 5 is sent with version 12.
type versions struct {
	any     bool                       // some response contains a version
	guards  map[guardAt]int32          // the slot of the version in a guard
	learned map[int32][]learnedVersion // by call: the versions in its response that guards need
	now     []int64                    // by slot: the present version; 0: unknown
	// enders contains, by slot, the calls whose guard on the version held, and that replaced the
	// version.
	enders map[int32][]int32
	// changes contains, by key, the same calls with the versions that they replaced, ascending.
	changes map[string][]change
	// readers contains, by slot, the calls without guards that read the version.
	readers map[int32][]int32
	// creators contains, by key, the calls whose guard held that the key does not exist.
	creators map[string][]int32
}

// change is a call that replaced the version from.
type change struct {
	from int64
	by   int32
}

// guardAt identifies a part of a call.
type guardAt struct{ call, part int32 }

// learnedVersion is a version of a key in a response.
type learnedVersion struct {
	key  []byte // as recorded
	slot int32
	read bool // the call read the version, and did not write it
	// version is the recorded version.
	version int64
}

// watchers holds the watchers that a recording starts. The replay starts each of them on one
// connection.
type watchers struct {
	of    map[int32]uint32 // by call that starts or ends a watcher: the watcher
	by    []int32          // by watcher: the call that starts it
	then  []uint64         // by watcher: number of events in the recording
	now   []uint64         // by watcher: number of events in the replay
	ended uint64           // number of watchers that the store has ended in the replay

	total, received uint64 // sums of then and of now
	asked, till     int64  // received when Awaits was last called, and the end of the wait for more events
}

// unknownWatcher is the number of a watcher that the recording does not start.
const unknownWatcher = 1<<31 - 1
