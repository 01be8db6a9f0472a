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

// Verification reports the verification of a load's responses. The verification covers all
// operations, including those in the warm-up. It also covers the reads from every member after the
// load.
type Verification struct {
	Operations         uint64 `json:"operations"`
	VerifiedOperations uint64 `json:"judged"` // number of operations that were checked against the store's guarantees
	Keys               uint64 `json:"keys"`   // number of keys with verified operations
	// Indefinite is the number of writes that may or may not have been executed. Resolved is the
	// number of these writes whose effect was observed later.
	Indefinite uint64 `json:"indefinite"`
	Resolved   uint64 `json:"resolved"`
	// WrongByKind is the number of responses that violate a guarantee, by kind of violation. It is
	// empty if there are none. Violations holds the first violations of each kind.
	WrongByKind map[string]uint64 `json:"wrong"`
	Violations  []Violation       `json:"violations,omitempty"`
	// Consequences is the number of violations, by kind, that a disagreement between members
	// explains. WrongByKind does not include these violations.
	Consequences map[string]uint64 `json:"consequences,omitempty"`
	// NotGuaranteed counts responses that a guarantee would forbid, if the store gave this
	// guarantee. The store does not give it, so these responses are not violations. The counts are
	// by guarantee.
	NotGuaranteed map[string]uint64  `json:"not_guaranteed,omitempty"`
	Staleness     []Staleness        `json:"staleness,omitempty"`
	Watches       *WatchVerification `json:"watches,omitempty"` // nil without watchers
	Leases        *LeaseVerification `json:"leases,omitempty"`  // nil if no client kept a lease alive
	Locks         *LockVerification  `json:"locks,omitempty"`   // nil if no lock was acquired
	// Undecided holds sentences that state what was not verified, and why.
	Undecided []string `json:"undecided,omitempty"`
	// Members lists the members from which data was read, or was to be read, after the load.
	Members []ReadMember `json:"members,omitempty"`
	Bytes   int64        `json:"history_bytes"` // size of the history on disk
	// SharesDisk reports whether the members store their data on the same disk as the history. If
	// SharesDisk is set, DiskShare is the history's share of all bytes that the members and the
	// history wrote in the window. DiskShare is nil if this share is not known, or if the load
	// writes nothing.
	SharesDisk bool     `json:"shares_disk,omitempty"`
	DiskShare  *float64 `json:"disk_share,omitempty"`
	Seconds    float64  `json:"seconds"` // duration of the verification
	// Failure is a sentence that explains why nothing was verified.
	Failure string `json:"failure,omitempty"`
}

// WatchVerification counts what watchers received and the verification checked.
type WatchVerification struct {
	Watchers uint64 `json:"watchers"`
	Events   uint64 `json:"events"`
	Progress uint64 `json:"progress"` // progress notifications
	Resumed  uint64 `json:"resumed"`  // number of times that a watcher was re-created after its connection was lost
	Ended    uint64 `json:"ended"`    // watchers that the store ended, for example because their next revision was compacted
}

// LeaseVerification reports on the leases that clients kept alive.
type LeaseVerification struct {
	Leases      uint64 `json:"leases"`
	Renewals    uint64 `json:"kept_alive"` // renewals that the store confirmed
	EndedLeases uint64 `json:"gone"`       // number of leases that the store reported as expired or revoked
	// ExpiryDelay describes how much longer renewed leases lived than their minimum lifetime. It is
	// the distribution of upper bounds for this additional time, in nanoseconds; nil if no lease is
	// known to have lived longer.
	ExpiryDelay *Spread `json:"late_ns,omitempty"`
}

// LockVerification reports on locks.
type LockVerification struct {
	Locks        uint64 `json:"locks"`
	Acquisitions uint64 `json:"granted"` // acquisitions
	// OverlappingHolds is the number of times that a lock was acquired while an earlier holder
	// still considered the lock its own. The earlier holder had not noticed that its lease may have
	// expired.
	OverlappingHolds uint64 `json:"outlived_leases"`
	Waits            Spread `json:"waits_ns"` // time from the request for the lock until the lock was acquired
	Holds            Spread `json:"holds_ns"` // time from the acquisition until just before the release
}

// Violation is a response that contradicts one of the store's guarantees.
type Violation struct {
	Kind      string `json:"kind"`
	Guarantee string `json:"guarantee"`
	Source    string `json:"source"` // where the store's documentation states the guarantee
	// Key is the key's number; nil if the violation concerns leases, locks or revisions instead of
	// a single key.
	Key *uint64 `json:"key,omitempty"`
	// History is the shortest history that shows the violation, with one sentence for each
	// operation. Explanation states why the history violates the guarantee.
	History     []string `json:"history"`
	Explanation string   `json:"why"`
	// Operations holds the operations of History in a form that a chart can show.
	Operations []ShownOperation `json:"operations,omitempty"`
}

// Title returns the kind of the violation. If the violation concerns a single key, it also returns
// the key's number.
func (v *Violation) Title() string {
	if v.Key == nil {
		return v.Kind
	}
	return fmt.Sprintf("%s, key %d", v.Kind, *v.Key)
}

// ShownOperation is one operation in the history of a violation.
type ShownOperation struct {
	Client uint32 `json:"client"`
	// Watcher is set if Client is the number of a watcher, and not of a client.
	Watcher bool   `json:"watcher,omitempty"`
	Member  ID     `json:"member,omitempty"` // the member that responded
	Name    string `json:"name,omitempty"`   // that member's name
	// From is the time when the operation was sent. To is the time when its response was read or
	// the client gave up. Both are in nanoseconds of the history's clock.
	From        int64  `json:"from_ns"`
	To          int64  `json:"to_ns"`
	Description string `json:"what"`            // short description
	Wrong       bool   `json:"wrong,omitempty"` // the response of this operation violates the guarantee
}

// MemberName returns the name of the member that responded. If the member has no name, it returns
// the member's number. If the member is not known, it returns "".
func (o *ShownOperation) MemberName() string {
	if o.Name == "" && o.Member != 0 {
		return o.Member.String()
	}
	return o.Name
}

// Staleness reports how old the data was that one member returned. It covers the reads with a
// consistency that allows stale data.
type Staleness struct {
	Consistency string `json:"consistency"`
	Member      ID     `json:"member"`
	Name        string `json:"name,omitempty"`
	Reads       uint64 `json:"reads"`
	StaleReads  uint64 `json:"behind"` // reads that returned an old version
	// Versions and Times are distributions over all reads. Versions describes how many newer
	// versions existed at the time of a read. Times describes how long a newer version had already
	// existed, in nanoseconds.
	Versions Spread `json:"versions"`
	Times    Spread `json:"times_ns"`
}

// MemberName returns the member's name, or its number if it has no name.
func (s *Staleness) MemberName() string { return cmp.Or(s.Name, s.Member.String()) }

// Spread is a distribution of values, most of which are 0.
type Spread struct {
	P50  int64 `json:"p50"`
	P90  int64 `json:"p90"`
	P99  int64 `json:"p99"`
	P999 int64 `json:"p999"`
	Max  int64 `json:"max"`
}

// Percentile returns the percentile p, which must be 50, 90, 99 or 99.9. The parameter `count` is
// the number of samples. ok is false if there are too few samples for this percentile.
func (s *Spread) Percentile(p float64, count uint64) (v int64, ok bool) {
	return map[float64]int64{50: s.P50, 90: s.P90, 99: s.P99, 99.9: s.P999}[p], measure.Supports(p, count)
}

// ReadMember is a member from which data was read after the load. If the data could not be read,
// Failure is the reason.
type ReadMember struct {
	Name     string `json:"name,omitempty"`
	Endpoint string `json:"endpoint"`
	Keys     uint64 `json:"keys"` // number of keys that the member had
	Failure  string `json:"failure,omitempty"`
}

// MemberName returns the member's name, or its endpoint if it has no name.
func (m *ReadMember) MemberName() string { return cmp.Or(m.Name, m.Endpoint) }

// WrongResponsesText returns the number of wrong responses by kind. Responses that are wrong only
// because members disagree about the data are listed separately. The result is empty if no response
// was wrong.
func (a *Verification) WrongResponsesText() string {
	text := listCounts(a.WrongByKind)
	if len(a.Consequences) > 0 {
		text += "; caused by the disagreement between members: " + listCounts(a.Consequences)
	}
	return text
}

// listCounts lists the kinds with their counts, in descending order of the counts.
func listCounts(counts map[string]uint64) string {
	kinds := slices.SortedFunc(maps.Keys(counts), func(x, y string) int { return cmp.Or(cmp.Compare(counts[y], counts[x]), cmp.Compare(x, y)) })
	for i, kind := range kinds {
		kinds[i] = fmt.Sprintf("%s (%s)", kind, text.Count(counts[kind]))
	}
	return strings.Join(kinds, ", ")
}

// BytesPerRecord returns the mean size on disk of a record in the history. A record is an operation
// or a message that a watcher received. ok is false if this size is not known.
func (a *Verification) BytesPerRecord() (bytes float64, ok bool) {
	n := a.Operations
	if w := a.Watches; w != nil {
		n += w.Events + w.Progress
	}
	if n == 0 || a.Bytes <= 0 {
		return 0, false
	}
	return float64(a.Bytes) / float64(n), true
}

// setDiskShare sets DiskShare. The parameter `due` is the number of operations that became due in
// the window, and *written is the number of bytes that the members wrote in the window.
func (a *Verification) setDiskShare(due uint64, written *int64) {
	if a == nil || !a.SharesDisk || written == nil || *written < 0 {
		return
	}
	if each, ok := a.BytesPerRecord(); ok && due > 0 {
		own := each * float64(due)
		a.DiskShare = new(own / (own + float64(*written)))
	}
}

// WithMemberNames returns a copy of a that contains the members' names.
func (a *Verification) WithMemberNames(members []Member) *Verification {
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
		v.Explanation = named.Replace(v.Explanation)
	}
	return &out
}

// unreadMembers lists the members from which the data could not be read, and the reasons.
func (a *Verification) unreadMembers() string {
	var who []string
	for i := range a.Members {
		if m := &a.Members[i]; m.Failure != "" {
			who = append(who, m.MemberName()+": "+m.Failure)
		}
	}
	return strings.Join(who, "; ")
}

// unverifiedText returns a phrase with the number of operations that were not verified, or "" if
// all were verified.
func (a *Verification) unverifiedText() string {
	if a.VerifiedOperations >= a.Operations {
		return ""
	}
	return fmt.Sprintf("%s of %s were not verified", text.Count(a.Operations-a.VerifiedOperations), text.Plural(a.Operations, "operation"))
}
