package measure

import (
	"cmp"
	"slices"
)

// place identifies a second of a load by its phase and its number.
type place struct {
	phase Phase
	index int
}

// place returns the phase and the number of the second.
func (s *Second) place() place { return place{s.Phase, s.Index} }

// isBefore reports whether p is earlier than o.
func (p place) isBefore(o place) bool { return p.compare(o) < 0 }

// compare orders seconds by phase, then by number.
func (p place) compare(o place) int {
	return cmp.Or(cmp.Compare(p.phase, o.phase), cmp.Compare(p.index, o.index))
}

// waiting holds, in order, the seconds that at least one shard has not added yet. Each entry is the
// sum over the shards that have added the second. So the memory use depends on the distance between
// the first and the last shard, but not on the number of shards. A shard may be late by the timeout
// of its operations. Therefore all entries except mostOpen are encoded (AppendSecond), which takes
// a few KiB instead of megabytes.
//
// Invariant: the field `seconds` is sorted by place, `packed` is the total length of the entries'
// bytes, and at most mostOpen entries are not encoded.
type waiting struct {
	seconds []waitingSecond
	packed  int // total size of all encoded seconds in bytes
}

// mostOpen is the maximum number of waiting seconds that are not encoded. The seconds of shards
// that are not late differ by at most two.
const mostOpen = 3

// waitingSecond is a second that waits for other shards.
type waitingSecond struct {
	place
	whole *Second // nil if the second is encoded in bytes
	bytes []byte
	parts int
	named Reported
}

// add adds one shard's part of a second. If `ours` is set, add may keep or modify s: the first part
// becomes the merged second, and the histograms of all further parts are passed to `recycle`. If
// `ours` is not set, add copies the part.
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
		e.addPart(s, cells)
	default:
		w.decode(e)
		e.addPart(s, cells)
	}
	if ours && e.whole != s {
		s.recycle(recycle)
	}
	w.encodeEarliest()
}

// addPart merges a part into the second. It uses the given cells instead of the part's own cells.
func (e *waitingSecond) addPart(s *Second, cells []*Cell) {
	one := *s
	one.Cells = cells
	e.whole.merge(&one)
}

// sameCells reports whether two slices share the same memory.
func sameCells(a, b []*Cell) bool { return len(a) == 0 || &a[0] == &b[0] }

// decode decodes a waiting second, if it is encoded.
func (w *waiting) decode(e *waitingSecond) {
	if e.whole != nil {
		return
	}
	w.packed -= len(e.bytes)
	c := coder{b: e.bytes, reading: true, ours: true, fresh: NewHistogram}
	e.whole, e.bytes = &Second{}, nil
	c.second(e.whole) // cannot fail, because this process encoded the bytes
}

// encodeEarliest encodes the earliest seconds so that at most mostOpen seconds are not encoded.
func (w *waiting) encodeEarliest() {
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

// takeFirst removes and returns the earliest second. It sorts the series, so that their order does
// not depend on the order of the shards.
func (w *waiting) takeFirst() *Second {
	e := &w.seconds[0]
	w.decode(e)
	whole, several := e.whole, e.parts > 1
	w.seconds = slices.Delete(w.seconds, 0, 1)
	if several {
		slices.SortFunc(whole.Cells, func(a, b *Cell) int { return a.compare(&b.Series) })
	}
	return whole
}

// compare orders series by all their fields.
func (s *Series) compare(o *Series) int {
	return cmp.Or(cmp.Compare(s.Kind, o.Kind), cmp.Compare(s.Consistency, o.Consistency), cmp.Compare(s.Member, o.Member), cmp.Compare(s.Term, o.Term))
}
