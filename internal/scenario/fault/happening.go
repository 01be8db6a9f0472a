package fault

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Injection is a single injection of a fault. Its fields Every, Repeat and Kinds are always zero,
// and Kind is never Random.
type Injection struct {
	Fault
	// MemberChoice is a random number that selects the member if the fault's member is "any".
	MemberChoice uint64
}

// Schedule returns the faults injected in a window, in order, with each repetition as a separate
// entry. All random choices depend only on the seed.
func Schedule(all []Fault, window time.Duration, seed uint64) []Injection {
	return schedule(all, window, seed, false)
}

// WorstCaseSchedule returns the schedule for checks that must hold for every seed. In it, a random
// fault lasts as long as the whole interval in which it may occur.
func WorstCaseSchedule(all []Fault, window time.Duration) []Injection {
	return schedule(all, window, 0, true)
}

func schedule(faults []Fault, window time.Duration, seed uint64, worstCase bool) []Injection {
	var all []Injection
	for number, f := range faults {
		for i := range f.injectionCount(window) {
			h := f.firstInjection()
			h.At += time.Duration(i) * f.Every
			// A predictable generator is sufficient, because the time of a fault is not a secret.
			random := rand.New(rand.NewPCG(seed, uint64(number)<<32|uint64(i)))
			h.MemberChoice = random.Uint64()
			switch {
			case f.Kind == Random && worstCase:
				h.Duration = f.Every - time.Millisecond
			case f.Kind == Random:
				f.randomize(&h, random)
			}
			all = append(all, h)
		}
	}
	slices.SortStableFunc(all, func(a, b Injection) int { return int(a.At - b.At) })
	return all
}

// String returns the kind, member and duration of the fault.
func (h *Injection) String() string {
	out := h.Kind.withMember(h.Member) + h.details()
	if h.Duration > 0 {
		out += " for " + text.FormatDuration(h.Duration)
	}
	return out
}

// firstInjection returns the first injection of the fault.
func (f Fault) firstInjection() Injection {
	f.Kinds, f.Every, f.Repeat = nil, 0, 0
	return Injection{Fault: f}
}

// LeadTime returns how long before the fault its preparation starts.
func (h *Injection) LeadTime() time.Duration {
	if h.Kind.properties().hasLeadTime {
		return h.Amount
	}
	return 0
}

// AffectedTraffic reports whether the fault affects packets between the member and its peers, and
// whether it affects packets between the member and clients.
func (h *Injection) AffectedTraffic() (peers, clients bool) {
	if h.Kind.NeedsNetwork() && h.Kind.properties().network.noPartnersReason != "" {
		return true, false
	}
	return h.Partners != Clients, h.Partners != Peers
}

// randomize chooses the kind of a random fault, and a random start within the period Every, in
// whole milliseconds.
func (f *Fault) randomize(h *Injection, random *rand.Rand) {
	h.Kind = f.Kinds[random.IntN(len(f.Kinds))]
	row := h.Kind.properties()
	if row.noDurationReason != "" {
		h.Duration = 0
	}
	if row.amountHelp == "" {
		h.Amount = 0
	}
	if row.scope == wholeCluster {
		h.Member = kv.Target{Mode: kv.AllMembers}
	}
	if room := (f.Every - f.Duration) / time.Millisecond; room > 1 {
		h.At += time.Duration(random.Int64N(int64(room))) * time.Millisecond
	}
}

// injectionCount returns how often the fault is injected in a window. The result is at most
// MaxFaults+1.
func (f *Fault) injectionCount(window time.Duration) int {
	length := f.Duration
	if f.Kind == Random {
		length = f.Every
	}
	switch {
	case f.Repeat > 0 || f.Every <= 0:
		return min(max(f.Repeat, 1), MaxFaults+1)
	case window < f.At+length:
		return 1
	}
	return min(int((window-f.At-length)/f.Every)+1, MaxFaults+1)
}

// PossibleKinds returns the kinds that the fault may have.
func (f *Fault) PossibleKinds() []Kind {
	if f.Kind == Random {
		return f.Kinds
	}
	return []Kind{f.Kind}
}

// properties returns the properties of the fault's kind. For a random fault, it combines the
// requirements of all its possible kinds.
func (f *Fault) properties() *kindProperties {
	if f.Kind != Random {
		return f.Kind.properties()
	}
	all := kindProperties{name: f.Kind.String(), noDurationReason: endsWithOperation, scope: wholeCluster}
	for _, k := range f.Kinds {
		row := k.properties()
		if row.noDurationReason == "" {
			all.noDurationReason = ""
		}
		if row.amountHelp != "" {
			all.amountHelp = row.amountHelp
		}
		switch {
		case row.scope == followerOnly || all.scope == wholeCluster:
			all.scope = row.scope
		case row.scope == memberKeepingQuorum && all.scope != followerOnly:
			all.scope = memberKeepingQuorum
		}
	}
	return &all
}
