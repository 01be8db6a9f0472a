package record

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Answers is what came of checking a load's answers, over all of its operations
// from the warm-up's first on and the reads of all members after it.
type Answers struct {
	Operations uint64 `json:"operations"`
	Judged     uint64 `json:"judged"` // of them, those that were held to the promises
	Keys       uint64 `json:"keys"`   // that have operations which were checked
	// Indefinite writes may have been done or not; Resolved is how many of them
	// were seen to be.
	Indefinite uint64 `json:"indefinite"`
	Resolved   uint64 `json:"resolved"`
	// Wrong has the number of answers that break a promise, by kind; empty if none
	// does. Violations are the first of each kind.
	Wrong      map[string]uint64 `json:"wrong"`
	Violations []Violation       `json:"violations,omitempty"`
	// Consequences counts, by kind, the violations that members that disagree explain.
	// They are not in Wrong.
	Consequences map[string]uint64 `json:"consequences,omitempty"`
	// NotPromised counts what would be wrong of a store that promised it, by promise.
	NotPromised map[string]uint64 `json:"not_promised,omitempty"`
	Staleness   []Staleness       `json:"staleness,omitempty"`
	Watches     *CheckedWatches   `json:"watches,omitempty"` // nil where nothing was watched
	Leases      *CheckedLeases    `json:"leases,omitempty"`  // nil where no lease was kept alive
	Locks       *CheckedLocks     `json:"locks,omitempty"`   // nil where none was had
	// Undecided are sentences about what was not checked, and why.
	Undecided []string `json:"undecided,omitempty"`
	// Members are those that were read whole after the load.
	Members []ReadMember `json:"members,omitempty"`
	Bytes   int64        `json:"history_bytes"` // of the history on disk
	// SharesDisk says that members have their data on the disk that the history is
	// on; DiskShare is then the history's share of what both wrote in the window, nil
	// where that is not known, or the load writes nothing.
	SharesDisk bool     `json:"shares_disk,omitempty"`
	DiskShare  *float64 `json:"disk_share,omitempty"`
	Seconds    float64  `json:"seconds"` // that the check took
	// Failure is one sentence: why nothing was checked.
	Failure string `json:"failure,omitempty"`
}

// CheckedWatches is what watchers were told, all of which was held to the promises.
type CheckedWatches struct {
	Watchers uint64 `json:"watchers"`
	Events   uint64 `json:"events"`
	Progress uint64 `json:"progress"` // notifications
	Resumed  uint64 `json:"resumed"`  // how often one was created again where its connection had been lost
	Ended    uint64 `json:"ended"`    // watchers that the store ended, as when what is next is compacted
}

// CheckedLeases is what became of the leases that were kept alive.
type CheckedLeases struct {
	Leases    uint64 `json:"leases"`
	KeptAlive uint64 `json:"kept_alive"` // how often, as the store says
	Gone      uint64 `json:"gone"`       // leases of which the store said so
	// Late is, of those that had been kept alive, for how long at most they outlived the
	// time for which they were to live at least, in nanoseconds; nil where none is known to have.
	Late *Spread `json:"late_ns,omitempty"`
}

// CheckedLocks is what became of locks.
type CheckedLocks struct {
	Locks   uint64 `json:"locks"`
	Granted uint64 `json:"granted"` // how often one was had
	// Outlived is how often one was had by another while its holder, whose lease may
	// have ended, took it for his own.
	Outlived uint64 `json:"outlived_leases"`
	Waits    Spread `json:"waits_ns"` // from asking for the lock until it was had
	Holds    Spread `json:"holds_ns"` // from then until it was about to be given back
}

// Violation is an answer that breaks a promise.
type Violation struct {
	Kind    string `json:"kind"`
	Promise string `json:"promise"`
	Source  string `json:"source"` // where the store's documentation makes it
	// Key is the key's number; nil where it is no single key's: of leases, of locks,
	// and of revisions.
	Key *uint64 `json:"key,omitempty"`
	// History is the smallest that shows it, a sentence for each operation, and
	// Why says what is wrong.
	History []string `json:"history"`
	Why     string   `json:"why"`
	// Operations are those of History, for a picture.
	Operations []ShownOperation `json:"operations,omitempty"`
}

// Title is the violation's kind, and its key where it is a single key's.
func (v *Violation) Title() string {
	if v.Key == nil {
		return v.Kind
	}
	return fmt.Sprintf("%s, key %d", v.Kind, *v.Key)
}

// ShownOperation is one of a violation's operations.
type ShownOperation struct {
	Client uint32 `json:"client"`
	// Watcher says that Client is a watcher's number.
	Watcher bool   `json:"watcher,omitempty"`
	Member  ID     `json:"member,omitempty"` // that answered
	Name    string `json:"name,omitempty"`   // the member's
	// From when it was sent until its answer was read, or it was given up:
	// nanoseconds of the history's clock.
	From int64  `json:"from_ns"`
	To   int64  `json:"to_ns"`
	What string `json:"what"`            // in a word or two
	Bad  bool   `json:"wrong,omitempty"` // its answer is the wrong one
}

// Who is the name of the member that answered, or its number; empty if none is known
// to have.
func (o *ShownOperation) Who() string {
	if o.Name == "" && o.Member != 0 {
		return o.Member.String()
	}
	return o.Name
}

// Staleness is how old the answers of one member were to reads that may be old.
type Staleness struct {
	Consistency string `json:"consistency"`
	Member      ID     `json:"member"`
	Name        string `json:"name,omitempty"`
	Reads       uint64 `json:"reads"`
	Behind      uint64 `json:"behind"` // those that returned an old version
	// Of all reads: by how many versions they were behind, and for how long there
	// had been a newer one, in nanoseconds.
	Versions Spread `json:"versions"`
	Times    Spread `json:"times_ns"`
}

// Who is the member's name, or its number where that is all there is.
func (s *Staleness) Who() string { return cmp.Or(s.Name, s.Member.String()) }

// Spread is a distribution most of which is 0.
type Spread struct {
	P50  int64 `json:"p50"`
	P90  int64 `json:"p90"`
	P99  int64 `json:"p99"`
	P999 int64 `json:"p999"`
	Max  int64 `json:"max"`
}

// At returns the percentile 50, 90, 99 or 99.9 of so many; false where they do not support it.
func (s *Spread) At(p float64, count uint64) (v int64, ok bool) {
	return map[float64]int64{50: s.P50, 90: s.P90, 99: s.P99, 99.9: s.P999}[p], measure.Supports(p, count)
}

// ReadMember is a member that was read whole.
type ReadMember struct {
	Name     string `json:"name,omitempty"`
	Endpoint string `json:"endpoint"`
	Keys     uint64 `json:"keys"` // that are there
	Failure  string `json:"failure,omitempty"`
}

// Who is the member's name, or its endpoint where that is all there is.
func (m *ReadMember) Who() string { return cmp.Or(m.Name, m.Endpoint) }

// WrongAnswers lists how many answers were wrong, by kind, and how many of them follow from
// members that disagree. It is empty if none was wrong.
func (a *Answers) WrongAnswers() string {
	text := listCounts(a.Wrong)
	if len(a.Consequences) > 0 {
		text += "; the disagreement explains: " + listCounts(a.Consequences)
	}
	return text
}

// listCounts lists kinds with their numbers, the most frequent first.
func listCounts(of map[string]uint64) string {
	kinds := slices.SortedFunc(maps.Keys(of), func(x, y string) int { return cmp.Or(cmp.Compare(of[y], of[x]), cmp.Compare(x, y)) })
	for i, kind := range kinds {
		kinds[i] = fmt.Sprintf("%s (%s)", kind, text.Count(of[kind]))
	}
	return strings.Join(kinds, ", ")
}

// BytesEach is how much of the history on disk is one operation, or one thing that a
// watcher was told; ok is false where
// that is not known.
func (a *Answers) BytesEach() (bytes float64, ok bool) {
	n := a.Operations
	if w := a.Watches; w != nil {
		n += w.Events + w.Progress
	}
	if n == 0 || a.Bytes <= 0 {
		return 0, false
	}
	return float64(a.Bytes) / float64(n), true
}

// setDiskShare is of a window in which so many operations were due, and the members
// wrote so many bytes.
func (a *Answers) setDiskShare(due uint64, written *int64) {
	if a == nil || !a.SharesDisk || written == nil || *written < 0 {
		return
	}
	if each, ok := a.BytesEach(); ok && due > 0 {
		own := each * float64(due)
		a.DiskShare = new(own / (own + float64(*written)))
	}
}

// Named is a with the members' names; a stays as it is.
func (a *Answers) Named(members []Member) *Answers {
	if a == nil {
		return nil
	}
	out := *a
	out.Staleness, out.Members, out.Violations = slices.Clone(a.Staleness), slices.Clone(a.Members), slices.Clone(a.Violations)
	var names []string
	for _, e := range members {
		if e.Name != "" {
			names = append(names, "by member "+e.ID.String()+".", "by "+e.Name+".", "member "+e.ID.String()+" ", e.Name+" ")
		}
		for i := range out.Staleness {
			if s := &out.Staleness[i]; s.Member == e.ID {
				s.Name = e.Name
			}
		}
		for i := range out.Members {
			if m := &out.Members[i]; m.Endpoint == e.Endpoint {
				m.Name = e.Name
			}
		}
	}
	named := strings.NewReplacer(names...)
	for i := range out.Violations {
		v := &out.Violations[i]
		v.History, v.Operations = slices.Clone(v.History), slices.Clone(v.Operations)
		for k := range v.Operations {
			o := &v.Operations[k]
			if at := slices.IndexFunc(members, func(e Member) bool { return o.Member != 0 && e.ID == o.Member }); at >= 0 {
				o.Name = members[at].Name
			}
		}
		for k, line := range v.History {
			v.History[k] = named.Replace(line)
		}
		v.Why = named.Replace(v.Why)
	}
	return &out
}

// unread are the members that could not be read; empty if all could.
func (a *Answers) unread() string {
	var who []string
	for i := range a.Members {
		if m := &a.Members[i]; m.Failure != "" {
			who = append(who, m.Who()+": "+m.Failure)
		}
	}
	return strings.Join(who, "; ")
}

// unjudged says how many operations were not judged; empty if all were.
func (a *Answers) unjudged() string {
	if a.Judged >= a.Operations {
		return ""
	}
	return fmt.Sprintf("%s of %s were not judged", text.Count(a.Operations-a.Judged), text.Plural(a.Operations, "operation"))
}
