// Package replay sends the calls in a recording again, at their recorded times. It translates
// recorded revisions, versions and leases to those of the store that receives the calls.
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

// Plan is a recording that is prepared for one replay. It implements app.Script.
type Plan struct {
	app.ScriptBase
	Header  call.Header
	Problem string // why the recording could not be read to its end; empty if it could
	// Omitted is the number of calls that are not sent again, by method. Gaps is the number of gaps
	// in the recording.
	Omitted map[string]uint64
	Gaps    int
	// Connections is the highest number of connections that were in use at the same time. Keys is
	// the number of different keys in the calls. KeyBytes and ValueBytes are the mean sizes of keys
	// and of written values.
	Connections          int
	Keys                 uint64
	KeyBytes, ValueBytes int

	store  store.Replayer
	calls  []*call.Call
	speed  float64
	prefix string
	salt   uint64

	needs        needs
	preloadCalls []call.Call
	states       []state // by call
	newRevisions []int64 // by call: the revision that the call created in this replay; 0: unknown
	// lateness contains, by call, how late the call was sent, in nanoseconds. -1 means that the
	// call was not sent, or had to wait for another call or for a connection.
	lateness     []int64
	preloaded    map[string]preloaded
	versions     versions
	names        names
	places       *places // nil if calls may use any connection
	watchers     watchers
	baseRevision int64           // latest revision of the preloaded keys
	connCount    int             // number of connections in this replay
	writers      map[int64]int32 // by recorded revision: the call that created the revision
	revisions    []revision      // all revisions in writers, ascending
	waitedCount  uint64
}

// state is how far a call has progressed.
type state uint8

const (
	unfinished state = iota
	succeeded        // completed; if the call has guards, they held
	refused
	failed
)

// revision is a recorded revision, and the call that created it.
type revision struct {
	number int64
	call   int32
}

// Calls returns the number of calls that are sent again.
func (p *Plan) Calls() uint64 { return uint64(len(p.calls)) }

// PreloadCount returns the number of operations that are needed to prepare the store.
func (p *Plan) PreloadCount() uint64 { return uint64(len(p.preloadCalls)) }

// CountByKind returns, for each kind, the number of calls that are sent again.
func (p *Plan) CountByKind() map[Kind]uint64 {
	out := map[Kind]uint64{}
	for _, c := range p.calls {
		out[callKind(c)]++
	}
	return out
}

// Kind is the kind and consistency under which a call is counted.
type Kind struct {
	Kind  kv.Kind
	Level kv.Consistency
}

// callKind returns the kind and consistency of a call. Requests that concern leases count as
// keep-alives.
func callKind(c *call.Call) Kind {
	kind, level, ok := c.Kind()
	if !ok {
		kind, level = kv.KeepAlive, kv.NoConsistency
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

// Length returns the duration of the whole replay in nanoseconds.
func (p *Plan) Length() int64 { return p.schedule().Due(p.Calls()) }

// Outcome holds the results of a replay.
//
// Waited is the number of calls that waited for other calls. Guarded is the number of calls with
// guards. HeldInRecording is the number of calls whose guards held in the recording, HeldInBoth the
// number of calls whose guards held in the recording and in the replay, and HeldOnlyInReplay the
// number of calls whose guards held only in the replay.
type Outcome struct {
	Waited                                                 uint64
	Guarded, HeldInRecording, HeldInBoth, HeldOnlyInReplay uint64
	// Watchers is the number of watchers. RecordedEvents is the number of events that they received
	// in the recording, and ReplayedEvents is the number of events that they received in the
	// replay.
	Watchers, RecordedEvents, ReplayedEvents uint64
	// GapErrors contains timing errors in nanoseconds, in ascending order. For each two successive
	// calls, the error is the difference between the actual interval and the scheduled interval.
	// Calls that waited for a response or a connection are omitted.
	GapErrors []int64
}

// Outcome returns the results of the replay. It must be called after the load has ended.
func (p *Plan) Outcome() Outcome {
	o := Outcome{Waited: p.waitedCount, Watchers: uint64(len(p.watchers.startCalls)), RecordedEvents: p.watchers.total, ReplayedEvents: p.watchers.received}
	o.GapErrors = p.gapErrors()
	for n, c := range p.calls {
		if !c.Guarded {
			continue
		}
		o.Guarded++
		now := p.states[n] == succeeded
		switch heldInRecording := c.OK() && c.GuardsHeld; {
		case heldInRecording && now:
			o.HeldInRecording++
			o.HeldInBoth++
		case heldInRecording:
			o.HeldInRecording++
		case now:
			o.HeldOnlyInReplay++
		}
	}
	return o
}

// gapErrors returns Outcome.GapErrors.
func (p *Plan) gapErrors() (all []int64) {
	for n := 1; n < len(p.lateness); n++ {
		if a, b := p.lateness[n-1], p.lateness[n]; a >= 0 && b >= 0 {
			all = append(all, max(a-b, b-a))
		}
	}
	slices.Sort(all)
	return all
}

// none is a revision that no key has.
const none = math.MaxInt64

// preloaded is the revision and version that a preloaded key has in this replay.
type preloaded struct{ at, version int64 }

// names maps names that the store chose in the recording to the names that the store chose in this
// replay. The store chooses the names of sequential keys, and of leases that have no numbers.
type names struct {
	keys     map[string]int32 // by recorded key: the index of its name in texts
	creators map[string]int32 // by recorded key: the call that created the key
	leases   map[int64]int32
	texts    [][]byte // names in this replay; empty: not known yet
}

// nameRoom is an upper bound, in bytes, for two lengths: the length of the text that a store adds
// to the name of a sequential key, and the length of a lease's name.
const nameRoom = 64

// keyName returns the name that a recorded key has in this replay. The result is empty if the store
// did not choose the name, or if the name is not known yet.
func (m *names) keyName(key []byte) []byte {
	if len(m.keys) == 0 {
		return nil
	}
	if at, ok := m.keys[string(key)]; ok {
		return m.texts[at]
	}
	return nil
}

// leaseName returns the name that a recorded lease has in this replay.
func (m *names) leaseName(lease int64) []byte {
	if at, ok := m.leases[lease]; ok && lease != 0 {
		return m.texts[at]
	}
	return nil
}

// storeLease stores the name that a recorded lease has in this replay.
func (m *names) storeLease(lease int64, name []byte) {
	if at, ok := m.leases[lease]; ok {
		m.texts[at] = append(m.texts[at][:0], name...)
	}
}

// needs contains, for each call, the other calls whose responses it waits for:
//
//   - For each revision in its guards: the call that created the revision.
//   - For each key that it writes or guards: the previous write in the order of the store's
//     revisions. So the writes of a key are executed in the recorded order. If the revision of this
//     call is unknown, the call waits for the write whose response arrived last before this call was
//     sent.
//   - For a compaction, a read or the start of a watcher at a revision: the latest write up to
//     that revision. For the end of a watcher: the start of the watcher. For a write or a
//     compaction: the latest starts and ends of watchers whose responses had arrived.
//   - For a call that uses a lease: the grant of the lease. For a call that ends a lease: the calls
//     that use the lease. For a call that uses a sequential key: the creation of the key.
//   - If versions in guards occur only in responses to reads: For a guard, the read that returned
//     the version. For that read, the latest write whose response had arrived. For a write, the
//     reads whose responses had arrived before the write was sent.
//   - Calls that overlapped this call, but that the store executed before it according to guards
//     and reads, even if they were sent later (see versions.go).
//
// A call waits only for calls that the store executed earlier, so there are no cycles. If a
// recording nevertheless leads to a cycle, the recorded store did not execute calls in one order.
// In that case, the wait ends when the calls time out.
type needs struct {
	// first contains, by call, the index in `calls` of the first call for which this call waits.
	// The last element is the length of `calls`.
	first []uint32
	calls []int32
}

func (n *needs) callsFor(call uint64) []int32 { return n.calls[n.first[call]:n.first[call+1]] }

// replayRevision returns the revision, in this replay, of the write that created a recorded
// revision of a key.
func (p *Plan) replayRevision(key []byte, recorded int64) int64 {
	if recorded <= 0 {
		return recorded
	}
	if by, ok := p.writers[recorded]; ok {
		if now := p.newRevisions[by]; now > 0 {
			return now
		}
		return none
	}
	if now := p.preloaded[string(key)].at; now > 0 {
		return now
	}
	return none
}

// revisionAt returns the revision of the store in this replay that corresponds to a recorded
// revision. This is the revision that the latest write up to the recorded revision has in this
// replay. If that write was not sent again, the result is 0, which stands for the current revision.
func (p *Plan) revisionAt(recorded int64) int64 {
	i := sort.Search(len(p.revisions), func(i int) bool { return p.revisions[i].number > recorded })
	if i == 0 {
		return 0
	}
	return p.newRevisions[p.revisions[i-1].call]
}

// versions contains the versions in recorded responses and the guards that use these versions. Each
// version of a key that occurs in a guard has a number, its slot. Slots are assigned when the
// recording is read, so that the load allocates no memory.
//
// For example, call 3 reads version 7 of key k, and call 5 writes k under a guard that requires
// version 7. If this version has slot 0, then guards[{5, 0}] is 0, and learned[3] contains k and
// slot 0. If the response to call 3 contains version 12 in the replay, replayed[0] becomes 12, and
// call 5 is sent with version 12 in its guard.
type versions struct {
	hasVersions bool                       // a response contains a version
	guards      map[guardID]int32          // the slot of the version that a guard requires
	learned     map[int32][]learnedVersion // by call: the versions in its response that guards require
	replayed    []int64                    // by slot: the version in this replay; 0: unknown
	// replacers contains, by slot, the calls that replaced the slot's version under a guard that
	// required this version.
	replacers map[int32][]int32
	// changes contains the same calls as `replacers`, but by key, in ascending order of the
	// versions that they replaced.
	changes map[string][]change
	// readers contains, by slot, the calls without guards that read the slot's version.
	readers map[int32][]int32
	// creators contains, by key, the calls that created the key under the guard that it did not
	// exist yet.
	creators map[string][]int32
}

// change is the call `call`, which replaced the version `replaced` of a key.
type change struct {
	replaced int64
	call     int32
}

// guardID identifies a guard by the index of the call and the index of the call's part.
type guardID struct{ call, part int32 }

// learnedVersion is a version of a key that a response contains.
type learnedVersion struct {
	key  []byte // the recorded key
	slot int32
	read bool // the call read the version; otherwise the call wrote it
	// version is the recorded version.
	version int64
}

// watchers holds the watchers that a recording starts. In the replay, all calls for the same
// watcher use the same connection.
type watchers struct {
	byCall         map[int32]uint32 // by call that starts or ends a watcher: the watcher's number
	startCalls     []int32          // by watcher: the number of the call that starts it
	recordedEvents []uint64         // by watcher: number of events that it received in the recording
	replayedEvents []uint64         // by watcher: number of events that it has received in the replay

	total, received uint64 // sums of recordedEvents and of replayedEvents
	// lastReceived is the value of `received` at the last call of ExpectsMore. waitEnd is the time
	// at which the wait for more events ends.
	lastReceived, waitEnd int64
}

// unknownWatcher stands for a watcher whose start is not in the recording.
const unknownWatcher = 1<<31 - 1
