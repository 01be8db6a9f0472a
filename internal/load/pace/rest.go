package pace

// mostWalked is how many gaps of a Poisson schedule's rest are drawn: some
// milliseconds of work.
const mostWalked = 1 << 18

// poissonRest is the rest of a Poisson schedule: its gaps are drawn for the
// first operations, and equal for those behind, whose number is then known to
// a part in a thousand or better.
type poissonRest struct {
	drawn Poisson
	even  uint64  // the first of the operations with equal gaps
	gap   float64 // of those
	last  Point
}

// Rest is the schedule's rest, through its last point if there is one.
func (p *Poisson) Rest(n uint64, last Point) Rest {
	return &poissonRest{drawn: *p, even: n + mostWalked, last: last}
}

func (r *poissonRest) Due(n uint64) int64 {
	if n < r.even {
		return r.drawn.Due(n)
	}
	r.evenGap()
	return saturate(r.drawn.sum + float64(n-r.even)*r.gap)
}

// evenGap is known when all that is drawn has been.
func (r *poissonRest) evenGap() {
	if r.gap > 0 {
		return
	}
	r.drawn.Due(r.even)
	r.gap = r.drawn.gap
	if r.last.N > r.even {
		r.gap = max((float64(r.last.Due)-r.drawn.sum)/float64(r.last.N-r.even), 1e-9)
	}
}

func (r *poissonRest) First(at int64) uint64 {
	for ; r.drawn.n < r.even; r.drawn.Due(r.drawn.n + 1) {
		if saturate(r.drawn.sum) >= at {
			return r.drawn.n
		}
	}
	r.evenGap()
	beyond := Constant{gap: r.gap}
	if ns := float64(at) - r.drawn.sum; ns > 0 {
		n := r.even + uint64(ns/beyond.gap)
		for n > r.even && r.Due(n-1) >= at {
			n--
		}
		for r.Due(n) < at {
			n++
		}
		return n
	}
	return r.even
}

// Rest is the same from any operation on.
func (r *poissonRest) Rest(uint64, Point) Rest { return r }
