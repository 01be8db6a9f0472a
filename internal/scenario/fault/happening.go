package fault

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Happening is a single injection of a fault. Its fields Every, Repeat and Of are always zero, and
// Do is never Random.
type Happening struct {
	Fault
	// Draw is a random number that selects the member if the fault's member is "any".
	Draw uint64
}

// Schedule returns the faults injected in a window, in order, with each repetition as a separate
// entry. All random choices depend only on the seed.
func Schedule(all []Fault, window time.Duration, seed uint64) []Happening {
	return schedule(all, window, seed, false)
}

// Longest returns the schedule for checks that must hold for every seed. In it, a random fault
// lasts as long as the whole interval in which it may occur.
func Longest(all []Fault, window time.Duration) []Happening { return schedule(all, window, 0, true) }

func schedule(of []Fault, window time.Duration, seed uint64, longest bool) []Happening {
	var all []Happening
	for number, f := range of {
		for i := range f.times(window) {
			h := f.once()
			h.At += time.Duration(i) * f.Every
			// A predictable generator is sufficient, because the time of a fault is not a secret.
			random := rand.New(rand.NewPCG(seed, uint64(number)<<32|uint64(i)))
			h.Draw = random.Uint64()
			switch {
			case f.Do == Random && longest:
				h.For = f.Every - time.Millisecond
			case f.Do == Random:
				f.draw(&h, random)
			}
			all = append(all, h)
		}
	}
	slices.SortStableFunc(all, func(a, b Happening) int { return int(a.At - b.At) })
	return all
}

// String returns the kind, member and duration of the fault.
func (h *Happening) String() string {
	out := h.Do.withMember(h.Member) + h.details()
	if h.For > 0 {
		out += " for " + text.FormatDuration(h.For)
	}
	return out
}

// once returns the first injection of the fault.
func (f Fault) once() Happening {
	f.Of, f.Every, f.Repeat = nil, 0, 0
	return Happening{Fault: f}
}

// LeadTime returns how long before the fault its preparation starts.
func (h *Happening) LeadTime() time.Duration {
	if h.Do.row().ahead {
		return h.By
	}
	return 0
}

// AffectedTraffic reports whether the fault affects packets between the member and its peers, and
// whether it affects packets between the member and clients.
func (h *Happening) AffectedTraffic() (peers, clients bool) {
	if h.Do.NeedsNetwork() && h.Do.row().network.shape != "" {
		return true, false
	}
	return h.From != Clients, h.From != Peers
}

// draw chooses the kind of a random fault, and a random start within the period Every, in whole
// milliseconds.
func (f *Fault) draw(h *Happening, random *rand.Rand) {
	h.Do = f.Of[random.IntN(len(f.Of))]
	row := h.Do.row()
	if row.instant != "" {
		h.For = 0
	}
	if row.by == "" {
		h.By = 0
	}
	if row.of == theCluster {
		h.Member = kv.Target{Mode: kv.All}
	}
	if room := (f.Every - f.For) / time.Millisecond; room > 1 {
		h.At += time.Duration(random.Int64N(int64(room))) * time.Millisecond
	}
}

// times returns how often the fault is injected in a window. The result is at most MaxFaults+1.
func (f *Fault) times(window time.Duration) int {
	lasts := f.For
	if f.Do == Random {
		lasts = f.Every
	}
	switch {
	case f.Repeat > 0 || f.Every <= 0:
		return min(max(f.Repeat, 1), MaxFaults+1)
	case window < f.At+lasts:
		return 1
	}
	return min(int((window-f.At-lasts)/f.Every)+1, MaxFaults+1)
}

// Kinds returns the kinds that the fault may be.
func (f *Fault) Kinds() []Kind {
	if f.Do == Random {
		return f.Of
	}
	return []Kind{f.Do}
}

// row returns the properties of the fault's kind. For a random fault, it combines the requirements
// of all its possible kinds.
func (f *Fault) row() *kind {
	if f.Do != Random {
		return f.Do.row()
	}
	all := kind{name: f.Do.String(), instant: ownTime, of: theCluster}
	for _, k := range f.Of {
		row := k.row()
		if row.instant == "" {
			all.instant = ""
		}
		if row.by != "" {
			all.by = row.by
		}
		switch {
		case row.of == aFollower || all.of == theCluster:
			all.of = row.of
		case row.of == oneOfSeveral && all.of != aFollower:
			all.of = oneOfSeveral
		}
	}
	return &all
}
