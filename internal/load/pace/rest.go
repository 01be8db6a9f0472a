package pace

// mostWalked is the number of random gaps that the rest of a Poisson schedule draws. Drawing this
// many gaps takes a few milliseconds.
const mostWalked = 1 << 18

// poissonRest is the rest of a Poisson schedule. It draws the gaps for the first mostWalked
// operations, and uses equal gaps for later operations. The number of these later operations is
// accurate to one in a thousand or better.
type poissonRest struct {
	drawn Poisson
	even  uint64  // the first operation after an equal gap
	gap   float64 // the equal gap; 0 until evenGap computes it
	last  Point
}

// Rest implements Pacer. If the point `last` is known, the equal gaps are chosen so that the
// schedule reaches this point.
func (p *Poisson) Rest(n uint64, last Point) Rest {
	return &poissonRest{drawn: *p, even: n + mostWalked, last: last}
}

// Due implements Pacer.
func (r *poissonRest) Due(n uint64) int64 {
	if n < r.even {
		return r.drawn.Due(n)
	}
	r.evenGap()
	return saturate(r.drawn.sum + float64(n-r.even)*r.gap)
}

// evenGap draws all random gaps, and computes the equal gap.
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

// First implements Rest.
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

// Rest implements Pacer. It ignores its arguments and returns r.
func (r *poissonRest) Rest(uint64, Point) Rest { return r }
