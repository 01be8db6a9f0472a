package pace

// maxDrawnGaps is the number of random gaps that the rest of a Poisson schedule draws. Drawing this
// many gaps takes a few milliseconds.
const maxDrawnGaps = 1 << 18

// poissonRemainder is the rest of a Poisson schedule. It draws the gaps for the first maxDrawnGaps
// operations, and uses equal gaps for later operations. The number of these later operations is
// accurate to one in a thousand or better.
type poissonRemainder struct {
	drawn     Poisson
	firstEven uint64  // the first operation after an equal gap
	gap       float64 // the equal gap; 0 until evenGap computes it
	last      Point
}

// Remainder implements Pacer. If the point `last` is known, the equal gaps are chosen so that the
// schedule reaches this point.
func (p *Poisson) Remainder(n uint64, last Point) Remainder {
	return &poissonRemainder{drawn: *p, firstEven: n + maxDrawnGaps, last: last}
}

// Due implements Pacer.
func (r *poissonRemainder) Due(n uint64) int64 {
	if n < r.firstEven {
		return r.drawn.Due(n)
	}
	r.evenGap()
	return saturate(r.drawn.sum + float64(n-r.firstEven)*r.gap)
}

// evenGap draws all random gaps, and computes the equal gap.
func (r *poissonRemainder) evenGap() {
	if r.gap > 0 {
		return
	}
	r.drawn.Due(r.firstEven)
	r.gap = r.drawn.gap
	if r.last.N > r.firstEven {
		r.gap = max((float64(r.last.Due)-r.drawn.sum)/float64(r.last.N-r.firstEven), 1e-9)
	}
}

// FirstDueAt implements Remainder.
func (r *poissonRemainder) FirstDueAt(at int64) uint64 {
	for ; r.drawn.n < r.firstEven; r.drawn.Due(r.drawn.n + 1) {
		if saturate(r.drawn.sum) >= at {
			return r.drawn.n
		}
	}
	r.evenGap()
	beyond := Constant{gap: r.gap}
	if ns := float64(at) - r.drawn.sum; ns > 0 {
		n := r.firstEven + uint64(ns/beyond.gap)
		for n > r.firstEven && r.Due(n-1) >= at {
			n--
		}
		for r.Due(n) < at {
			n++
		}
		return n
	}
	return r.firstEven
}

// Remainder implements Pacer. It ignores its arguments and returns r.
func (r *poissonRemainder) Remainder(uint64, Point) Remainder { return r }
