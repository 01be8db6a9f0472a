package measure

import (
	"math"
	"math/bits"
)

// Pulse is in which milliseconds of a window an operation was done, a bit each.
type Pulse struct{ alive []uint64 }

// Add adds a second of the window, of which others may have been added.
func (p *Pulse) Add(s *Second) { p.add(s.Index, &s.Alive) }

// add adds the milliseconds of a second.
func (p *Pulse) add(second int, alive *[16]uint64) {
	last := 1000*second + 999
	for len(p.alive) <= last>>6 {
		p.alive = append(p.alive, 0)
	}
	for i, word := range alive {
		for word != 0 {
			at := 1000*second + i<<6 + bits.TrailingZeros64(word)
			if at > last {
				return // no second has more
			}
			p.alive[at>>6] |= 1 << (at & 63)
			word &= word - 1
		}
	}
}

// Any reports whether an operation was done from one millisecond until before another.
func (p *Pulse) Any(from, to int) bool {
	for at := max(from, 0); at < min(to, 64*len(p.alive)); at++ {
		if p.alive[at>>6]&(1<<(at&63)) != 0 {
			return true
		}
	}
	return false
}

// Gap is a time without any operation done, in milliseconds of the window.
type Gap struct{ From, To int }

// Length is how long it was, in milliseconds.
func (g Gap) Length() int { return g.To - g.From }

// Outage is the longest gap that ends after one time and begins before another, in
// milliseconds of the window, and the longest gap between since and the first time;
// both are known to a millisecond. ok is false if the first is no outage: not longer, by
// more than chance makes of gaps, than what there was before. until is the window's
// end if the outage lasts until then.
func (p *Pulse) Outage(since, from, until int) (outage, before Gap, ok bool) {
	until = min(until, 64*len(p.alive))
	silent, gaps, ticks := 0, 0, 0 // before: milliseconds without an operation, in so many gaps, and with one
	began := 0
	end := func(at int) {
		g := Gap{began, at}
		switch {
		case g.To <= since:
		case g.To <= from:
			g.From = max(g.From, since)
			if silent += g.Length(); g.Length() > 0 {
				gaps++
			}
			if g.Length() > before.Length() {
				before = g
			}
		case g.Length() > outage.Length():
			outage = g
		}
	}
	for at := range until {
		if p.alive[at>>6]&(1<<(at&63)) == 0 {
			continue
		}
		if at >= since && at < from {
			ticks++
		}
		end(at)
		began = at + 1
	}
	end(until)
	// The longest of many gaps that come by chance, and fall off over m, is beyond that
	// of as many others by more than 7 m once in a thousand times.
	margin := 1
	if gaps > 0 && gaps < silent {
		margin = max(margin, int(math.Ceil(-7/math.Log(1-float64(gaps)/float64(silent)))))
	}
	return outage, before, ticks > 0 && outage.Length() > before.Length()+margin
}
