package kubernetes

import (
	"slices"

	"github.com/quorumbench/quorumbench/internal/load/app"
	"github.com/quorumbench/quorumbench/internal/load/keys"
	"github.com/quorumbench/quorumbench/internal/load/pace"
	"github.com/quorumbench/quorumbench/internal/load/watch"
	"github.com/quorumbench/quorumbench/internal/measure"
)

// Script is the load of an API server. It tracks what the API server knows about the store: the
// revision of each object, the current leases, and the progress of compactions.
type Script struct {
	app.ScriptBase
	app.ModelBase
	schedule   *Schedule
	keys       *Keys
	compaction string // the key whose version decides which API server compacts
	values     [NumResources]*keys.Values
	board      *watch.Board
	calls      app.Tally

	versions    []int64  // by object: its revision; 0 if it does not exist
	pendingCall []uint32 // by object: 1 + the number of the call that reads or writes it now; 0: none

	deletingCall []uint32 // by pod: 1 + the number of the call that deletes it; 0: none

	events, master leaseState
	list           listing // the listing of pods in progress
	oldestPod      uint32  // index of the oldest pod that is not removed

	pendingMark     uint32 // 1 + the number of the call in flight that marks a compaction; 0: none
	version         int64  // version of the compaction key
	latestMark      uint32 // 1 + the number of the latest call that marked a compaction
	markedRevision  int64  // the store's revision at the latest mark
	compactRevision int64
	startRevision   int64 // the store's revision when the load began

	eventsExpire bool   // events can expire with their leases during the load or the reads after it
	readKey      []byte // buffer for the key of a value that is being recorded
	lists        *lists // nil if responses are not verified
}

// leaseState tracks a lease that is regularly replaced by a new lease.
type leaseState struct {
	pendingGrant uint32 // 1 + the number of the call that requests a new lease; 0: none
	lease        int64
}

func (l *leaseState) setPendingGrant(n uint64) { l.pendingGrant = uint32(n) + 1 }

// listing is a listing in progress. The listing is read page by page.
type listing struct {
	pendingCall uint32 // 1 + the number of the call that reads a page; 0: none
	revision    int64  // revision at which the first page was read
	firstPod    uint32 // index of the first pod in the listing
}

// New returns the load of an API server. setup.PreloadResults holds the revisions of the objects
// that exist when the load begins.
func New(setup app.Setup) *Script {
	c := NewConfig(setup.Settings, setup.Seed)
	c.Uncompacted = setup.Confined && !setup.ClusterWide
	return NewWithConfig(c, setup)
}

// NewWithConfig returns the load of an API server for a configuration that settings cannot express.
func NewWithConfig(c Config, setup app.Setup) *Script {
	before := setup.PreloadResults
	s := &Script{schedule: NewSchedule(c, setup.Length), eventsExpire: setup.Length > maxUnexpiredLength}
	run := uint64(0)
	if len(before) > 0 { // revisions only increase, so each load on the same store gets a different number
		run = uint64(before[len(before)-1])
	}
	s.keys = NewKeys(setup.Prefix, s.schedule.Objects, run)
	s.compaction = compactionKey
	if setup.Confined {
		s.compaction = setup.Prefix + compactionKey
	}
	s.versions, s.pendingCall = make([]int64, s.schedule.Count()), make([]uint32, s.schedule.Count())
	s.deletingCall = make([]uint32, s.keys.First[Pods+1]-s.keys.First[Pods])
	if all := len(s.versions); len(before) == all+2 {
		copy(s.versions, before[:all])
		s.version, s.startRevision = before[all], before[all+1]
	}
	for r := range NumResources {
		// Other loads on the same store also read these values, but have different seeds, so the
		// values must not depend on the seed.
		s.values[r] = keys.NewValues(r.ValueSize(), keys.DeriveSeed(0, r.String()))
	}
	kinds := s.schedule.CountByKind()
	s.calls = app.NewTally(shapes[:], kinds[:])
	s.board = watch.NewBoard(uint64(s.schedule.Count())+1, 1, uint64(len(s.schedule.Entries)))
	return s
}

// Model implements app.Script.
func (s *Script) Model() app.Model { return s }

// Pacer implements app.Script.
func (s *Script) Pacer() pace.Pacer { return pace.Listed(s.schedule.Due) }

// PreloadResults implements app.Script. It returns the revisions of the objects in the order of the
// objects' numbers, followed by the version of the compaction key and the store's revision.
func (s *Script) PreloadResults() []int64 {
	return append(slices.Clone(s.versions), s.version, s.startRevision)
}

// CallCounts implements app.Script.
func (s *Script) CallCounts() []measure.Calls { return s.calls.Calls() }
