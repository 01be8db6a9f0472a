package scenario

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
)

// Happening is one fault of a trial.
type Happening struct {
	At, For, By time.Duration
	Do          FaultKind // never Random
	Member      kv.Target
	Server      string // of a rolling upgrade
	Traffic
	// Draw is random: it chooses the member that is meant by any.
	Draw uint64
}

// Happenings are the load's faults in their order, each time that one is repeated.
// What is random of them comes from the load's seed alone.
func (l *Load) Happenings() []Happening { return l.happenings(false) }

// happenings are those, or, to be checked whatever the seed is, with random ones
// that last for as long as they may be in.
func (l *Load) happenings(longest bool) []Happening {
	var all []Happening
	for number, f := range l.Faults {
		for i := range f.times(l.Duration) {
			h := f.once()
			h.At += time.Duration(i) * f.Every
			// #nosec G404 -- a fault's time is no secret
			random := rand.New(rand.NewPCG(l.Seed, uint64(number)<<32|uint64(i)))
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

// once is the fault the first time.
func (f *Fault) once() Happening {
	return Happening{At: f.At, For: f.For, By: f.By, Do: f.Do, Member: f.Member, Server: f.Server, Traffic: f.Traffic}
}

// ahead is how long before the fault something is done for it.
func (h *Happening) ahead() time.Duration {
	if h.Do.row().ahead {
		return h.By
	}
	return 0
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
		return min(max(f.Repeat, 1), maxFaults+1)
	case window < f.At+lasts:
		return 1
	}
	return min(int((window-f.At-lasts)/f.Every)+1, maxFaults+1)
}

// kinds are those that it can be.
func (f *Fault) kinds() []FaultKind {
	if f.Do == Random {
		return f.Of
	}
	return []FaultKind{f.Do}
}

// row is what there is to know of the fault: of a random one, what all of its kinds
// need together.
func (f *Fault) row() *faultKind {
	if f.Do != Random {
		return f.Do.row()
	}
	all := faultKind{name: f.Do.String(), instant: ownTime, of: theCluster}
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

// ChangesCluster reports whether the load's faults leave another cluster than they
// found.
func (l *Load) ChangesCluster() bool {
	return slices.ContainsFunc(l.Faults, func(f Fault) bool { return slices.ContainsFunc(f.kinds(), FaultKind.Changes) })
}
