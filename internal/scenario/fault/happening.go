package fault

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Happening is one fault of a trial, done once: it has no Every, Repeat and Of, and its
// Do is never Random.
type Happening struct {
	Fault
	// Draw is random: it chooses the member that is meant by any.
	Draw uint64
}

// Schedule returns the faults of a window in their order, each time that one is repeated.
// What is random of them comes from the seed alone.
func Schedule(all []Fault, window time.Duration, seed uint64) []Happening {
	return schedule(all, window, seed, false)
}

// Longest returns the same to be checked whatever the seed is: random faults last for as
// long as they may be in.
func Longest(all []Fault, window time.Duration) []Happening { return schedule(all, window, 0, true) }

func schedule(of []Fault, window time.Duration, seed uint64, longest bool) []Happening {
	var all []Happening
	for number, f := range of {
		for i := range f.times(window) {
			h := f.once()
			h.At += time.Duration(i) * f.Every
			// #nosec G404 -- a fault's time is no secret
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

// String says what is done to whom and for how long.
func (h *Happening) String() string {
	out := h.Do.on(h.Member) + h.how()
	if h.For > 0 {
		out += " for " + text.FormatDuration(h.For)
	}
	return out
}

// once is the fault the first time.
func (f Fault) once() Happening {
	f.Of, f.Every, f.Repeat = nil, 0, 0
	return Happening{Fault: f}
}

// Ahead is how long before the fault something is done for it.
func (h *Happening) Ahead() time.Duration {
	if h.Do.row().ahead {
		return h.By
	}
	return 0
}

// Among reports whether the fault is about packets between the member and the others,
// and between the member and clients.
func (h *Happening) Among() (peers, clients bool) {
	if h.Do.NeedsNetwork() && h.Do.row().network.shape != "" {
		return true, false
	}
	return h.From != Clients, h.From != Peers
}

// draw makes a random fault one of its kinds, at a time within its own Every, to
// the millisecond.
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

// times is how often the fault is done in a window; at most one more than may be.
func (f *Fault) times(window time.Duration) int {
	lasts := f.For
	if f.Do == Random {
		lasts = f.Every
	}
	switch {
	case f.Repeat > 0 || f.Every <= 0:
		return min(max(f.Repeat, 1), Most+1)
	case window < f.At+lasts:
		return 1
	}
	return min(int((window-f.At-lasts)/f.Every)+1, Most+1)
}

// Kinds are those that it can be.
func (f *Fault) Kinds() []Kind {
	if f.Do == Random {
		return f.Of
	}
	return []Kind{f.Do}
}

// row is what there is to know of the fault: of a random one, what all of its kinds
// need together.
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
