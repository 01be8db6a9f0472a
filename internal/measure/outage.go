package measure

import (
	"math"
	"math/bits"
)

// Pulse has a bit for each millisecond of a window. The bit is set if an operation was done in that
// millisecond.
type Pulse struct{ alive []uint64 }

// add adds the bits for one second.
func (p *Pulse) add(second int, alive *Milliseconds) {
	last := 1000*second + 999
	for len(p.alive) <= last>>6 {
		p.alive = append(p.alive, 0)
	}
	for i, word := range alive {
		for word != 0 {
			at := 1000*second + i<<6 + bits.TrailingZeros64(word)
			if at > last {
				return // the remaining bits are after the second's 1000 milliseconds
			}
			p.alive[at>>6] |= 1 << (at & 63)
			word &= word - 1
		}
	}
}

// HasCompletion reports whether an operation was done in the interval [from, to). Both times are in
// milliseconds since the start of the window.
func (p *Pulse) HasCompletion(from, to int) bool {
	for at := max(from, 0); at < min(to, 64*len(p.alive)); at++ {
		if p.alive[at>>6]&(1<<(at&63)) != 0 {
			return true
		}
	}
	return false
}

// Gap is a period without a completed operation. From and To are in milliseconds since the start of
// the window.
type Gap struct{ From, To int }

// Length returns the length of the gap in milliseconds.
func (g Gap) Length() int { return g.To - g.From }

// Outage returns two gaps: `outage` is the longest gap that ends after the time `from` and begins
// before the time `until`, and `before` is, for comparison, the longest gap between the times
// `since` and `from`. All times are in milliseconds since the start of the window. ok is false if
// the first gap is not an outage, because judging by the earlier gaps, its length can be due to
// chance. An outage that lasts until the end of the window ends at the time `until`.
//
// Example: the longest gap before a fault at 5000 is 3 ms. If no operation is done from 5002 to
// 7100, the outage is [5002, 7100).
func (p *Pulse) Outage(since, from, until int) (outage, before Gap, ok bool) {
	until = min(until, 64*len(p.alive))
	// These counts are for the time before `from`: silentMS is the number of milliseconds without
	// an operation, gaps is the number of gaps that these milliseconds form, and activeMS is the
	// number of milliseconds with an operation.
	silentMS, gaps, activeMS := 0, 0, 0
	since = max(since, 0)
	gapStart := since
	endGap := func(at int) {
		g := Gap{gapStart, at}
		switch {
		case g.To <= from:
			if silentMS += g.Length(); g.Length() > 0 {
				gaps++
			}
			if g.Length() > before.Length() {
				before = g
			}
		case g.Length() > outage.Length():
			outage = g
		}
	}
	for at := since; at < until; at++ {
		if p.alive[at>>6]&(1<<(at&63)) == 0 {
			continue
		}
		if at < from {
			activeMS++
		}
		endGap(at)
		gapStart = at + 1
	}
	endGap(until)
	// If gaps are random, their lengths are exponentially distributed: for some number m, gaps that
	// are m milliseconds longer are less frequent by the factor e. If two sets contain the same
	// number of gaps, then in only one of a thousand cases the longest gap of one set exceeds the
	// longest gap of the other set by more than 7*m milliseconds.
	margin := 1
	if gaps > 0 && gaps < silentMS {
		margin = max(margin, int(math.Ceil(-7/math.Log(1-float64(gaps)/float64(silentMS)))))
	}
	return outage, before, activeMS > 0 && outage.Length() > before.Length()+margin
}
