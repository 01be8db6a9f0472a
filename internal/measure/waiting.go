package measure

import (
	"cmp"
	"slices"
)

// place says which second of a load one is.
type place struct {
	phase Phase
	index int
}

func (s *Second) place() place { return place{s.Phase, s.Index} }

func (p place) before(o place) bool { return p.compare(o) < 0 }

func (p place) compare(o place) int {
	return cmp.Or(cmp.Compare(p.phase, o.phase), cmp.Compare(p.index, o.index))
}

// waiting are the seconds that some shard has not handed over yet, in their order.
// Each is what the others handed over of it, merged as it came, so that what is kept
// depends on how far the shards are apart and not on how many there are. All but
// mostOpen are kept as bytes (AppendSecond), which are a few KiB where histograms are
// megabytes: a shard may be behind by the timeout of its operations.
type waiting struct {
	seconds []waitingSecond
	packed  int // bytes
}

// mostOpen is how many seconds wait as histograms: shards that keep up are within
// two seconds of each other.
const mostOpen = 3

// waitingSecond is one of them.
type waitingSecond struct {
	place
	whole *Second // nil: packed
	bytes []byte
	parts int
	named Reported
}

// add merges a part of a second into the whole. Where the part is the first, the
// whole is made of it, or of a copy if it is not ours; else recycle gets its
// histograms if it is ours.
func (w *waiting) add(s *Second, ours bool, recycle func(*Histogram)) {
	i, found := slices.BinarySearchFunc(w.seconds, s.place(), func(e waitingSecond, p place) int { return e.compare(p) })
	if !found {
		w.seconds = slices.Insert(w.seconds, i, waitingSecond{place: s.place()})
	}
	e := &w.seconds[i]
	e.parts++
	cells := e.named.bounded(s.Cells)
	switch {
	case !found && ours && e.parts == 1 && sameCells(cells, s.Cells):
		e.whole = s
	case !found:
		e.whole = &Second{Phase: s.Phase, Index: s.Index}
		e.merge(s, cells)
	default:
		w.open(e)
		e.merge(s, cells)
	}
	if ours && e.whole != s {
		s.recycle(recycle)
	}
	w.pack()
}

// merge adds a part, with these cells for its own.
func (e *waitingSecond) merge(s *Second, cells []*Cell) {
	one := *s
	one.Cells = cells
	e.whole.merge(&one)
}

func sameCells(a, b []*Cell) bool { return len(a) == 0 || &a[0] == &b[0] }

// open makes a second one of histograms again.
func (w *waiting) open(e *waitingSecond) {
	if e.whole != nil {
		return
	}
	w.packed -= len(e.bytes)
	c := coder{b: e.bytes, reading: true, ours: true, fresh: NewHistogram}
	e.whole, e.bytes = &Second{}, nil
	c.second(e.whole) // it was packed here: nothing is wrong with it
}

// pack makes bytes of the earliest ones while there are more than mostOpen.
func (w *waiting) pack() {
	n := 0
	for i := range w.seconds {
		if w.seconds[i].whole != nil {
			n++
		}
	}
	for i := 0; n > mostOpen; i++ {
		if e := &w.seconds[i]; e.whole != nil {
			e.bytes, e.whole = slices.Clip(AppendSecond(nil, e.whole)), nil
			w.packed += len(e.bytes)
			n--
		}
	}
}

// first takes the earliest out. Its series are in an order that does not depend on
// which shard was the first.
func (w *waiting) first() *Second {
	e := &w.seconds[0]
	w.open(e)
	whole, several := e.whole, e.parts > 1
	w.seconds = slices.Delete(w.seconds, 0, 1)
	if several {
		slices.SortFunc(whole.Cells, func(a, b *Cell) int { return a.compare(&b.Series) })
	}
	return whole
}

func (s *Series) compare(o *Series) int {
	return cmp.Or(cmp.Compare(s.Kind, o.Kind), cmp.Compare(s.Consistency, o.Consistency), cmp.Compare(s.Member, o.Member), cmp.Compare(s.Term, o.Term))
}
