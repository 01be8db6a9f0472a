package kubernetes

import (
	"slices"

	"github.com/quorumbench/quorumbench/internal/load/app"
	"github.com/quorumbench/quorumbench/internal/load/keys"
	"github.com/quorumbench/quorumbench/internal/load/pace"
	"github.com/quorumbench/quorumbench/internal/load/watch"
	"github.com/quorumbench/quorumbench/internal/measure"
)

// Script is a load of an API server, which knows of its store what that does: the revision
// of each object, the lease of events, how far the history is compacted.
type Script struct {
	app.ScriptBase
	app.ModelBase
	schedule   *Schedule
	keys       *Keys
	compaction string // the key that says who compacts
	values     [NumResources]*keys.Values
	board      *watch.Board
	calls      app.Tally

	versions []int64  // by object: the revision that it has; 0 where it is not there
	busy     []uint32 // by object: the call that reads or writes it now, and one more; 0: none

	deleted []uint32 // by pod: the call that deletes it, and one more; 0: none did

	events, master leasing
	list           listing // of pods
	oldest         uint32  // the place of the first pod that was not removed

	marking   uint32 // the call that marks a compaction, and one more; 0: none
	version   int64  // of the key that says who compacts
	markedBy  uint32 // the last call that marked one, and one more
	marked    int64  // the store's revision when it was marked the last time
	compactTo int64
	begun     int64 // the store's revision when the load began

	expires bool   // events may end with their leases while it lasts
	read    []byte // a key, for who records what was read
	lists   *lists // nil: nobody wants to know what lists have
}

// leasing is a lease that is granted anew now and then.
type leasing struct {
	granting uint32 // the call that asks for one, and one more; 0: none
	lease    int64
}

func (l *leasing) asked(n uint64) { l.granting = uint32(n) + 1 }

// listing is a list that is read page by page.
type listing struct {
	open uint32 // the call that reads a page, and one more; 0: none
	at   int64  // the revision of its first page
	from uint32 // the place of its first pod
}

// New makes the load of an API server. What it keeps are the revisions of the objects
// that are there when the load begins.
func New(setup app.Setup) *Script {
	c := ConfigOf(setup.Settings, setup.Seed)
	c.Uncompacted = setup.Confined && !setup.ClusterWide
	return Of(c, setup)
}

// Of is New of a configuration that is not the settings'.
func Of(c Config, setup app.Setup) *Script {
	before := setup.Before
	s := &Script{schedule: NewSchedule(c, setup.Length), expires: setup.Length > expireWithin}
	run := uint64(0)
	if len(before) > 0 { // another in each load of a store, whose revisions rise
		run = uint64(before[len(before)-1])
	}
	s.keys = NewKeys(setup.Prefix, s.schedule.Objects, run)
	s.compaction = compactionKey
	if setup.Confined {
		s.compaction = setup.Prefix + compactionKey
	}
	s.versions, s.busy = make([]int64, s.schedule.All()), make([]uint32, s.schedule.All())
	s.deleted = make([]uint32, s.keys.First[Pods+1]-s.keys.First[Pods])
	if all := len(s.versions); len(before) == all+2 {
		copy(s.versions, before[:all])
		s.version, s.begun = before[all], before[all+1]
	}
	for r := range NumResources {
		// Another load of the store reads them, too: its seed is another one.
		s.values[r] = keys.NewValues(r.ValueSize(), keys.DeriveSeed(0, r.String()))
	}
	kinds := s.schedule.Kinds()
	s.calls = app.NewTally(shapes[:], kinds[:])
	s.board = watch.NewBoard(uint64(s.schedule.All())+1, 1, uint64(len(s.schedule.Entries)))
	return s
}

// Model implements app.Script.
func (s *Script) Model() app.Model { return s }

// Pacer implements app.Script.
func (s *Script) Pacer() pace.Pacer { return pace.Listed(s.schedule.Due) }

// Kept implements app.Script: the revision of each object, by its number, the version
// of the key that says who compacts, and the store's revision.
func (s *Script) Kept() []int64 { return append(slices.Clone(s.versions), s.version, s.begun) }

// CallCounts implements app.Script: what became of each kind of call that was due.
func (s *Script) CallCounts() []measure.Calls { return s.calls.Calls() }
