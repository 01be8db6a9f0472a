package measure

import (
	"cmp"
	"slices"
)

// secondID identifies a second of a load by its phase and its number.
type secondID struct {
	phase Phase
	index int
}

// id returns the phase and the number of the one-second record.
func (s *Second) id() secondID { return secondID{s.Phase, s.Index} }

// isBefore reports whether p is earlier than o.
func (p secondID) isBefore(o secondID) bool { return p.compare(o) < 0 }

// compare orders seconds by phase, then by number.
func (p secondID) compare(o secondID) int {
	return cmp.Or(cmp.Compare(p.phase, o.phase), cmp.Compare(p.index, o.index))
}

// pendingSeconds holds, in order, the seconds that at least one shard has not added yet. Each entry
// is the sum over the shards that have added the second. So the memory use depends on how far the
// slowest shard is behind the fastest one, but not on the number of shards. A shard may be late by
// as much as the timeout of its operations. Therefore at most maxDecoded entries are kept as
// histograms. All others are encoded (see AppendSecond), and take a few KiB each instead of
// megabytes.
//
// Invariant: the field `seconds` is sorted by secondID, `encodedSize` is the total length of the
// entries' bytes, and at most maxDecoded entries are not encoded.
type pendingSeconds struct {
	seconds     []pendingSecond
	encodedSize int // total size of all encoded seconds in bytes
}

// maxDecoded is the maximum number of entries that are kept as histograms. Shards that are not late
// are at most two seconds apart.
const maxDecoded = 3

// pendingSecond is a one-second record that waits for the parts of other shards.
type pendingSecond struct {
	secondID
	merged      *Second // nil if the second is encoded in bytes
	bytes       []byte
	parts       int
	memberTerms MemberTerms
}

// add adds one shard's part of a second. If `owned` is set, add may keep or modify s: the first
// part becomes the merged second, and the histograms of all further parts are passed to `recycle`.
// If `owned` is not set, add copies the part.
func (w *pendingSeconds) add(s *Second, owned bool, recycle func(*Histogram)) {
	i, found := slices.BinarySearchFunc(w.seconds, s.id(), func(e pendingSecond, p secondID) int { return e.compare(p) })
	if !found {
		w.seconds = slices.Insert(w.seconds, i, pendingSecond{secondID: s.id()})
	}
	e := &w.seconds[i]
	e.parts++
	cells := e.memberTerms.limitMembers(s.Cells)
	switch {
	case !found && owned && sameCells(cells, s.Cells):
		e.merged = s
	case !found:
		e.merged = &Second{Phase: s.Phase, Index: s.Index}
		e.addPart(s, cells)
	default:
		w.decode(e)
		e.addPart(s, cells)
	}
	if owned && e.merged != s {
		s.recycle(recycle)
	}
	w.encodeEarliest()
}

// addPart merges a part into the one-second record. It uses the given cells instead of the part's
// own cells.
func (e *pendingSecond) addPart(s *Second, cells []*Cell) {
	one := *s
	one.Cells = cells
	e.merged.merge(&one)
}

// sameCells reports whether two slices share the same memory.
func sameCells(a, b []*Cell) bool { return len(a) == 0 || &a[0] == &b[0] }

// decode decodes a waiting second, if it is encoded.
func (w *pendingSeconds) decode(e *pendingSecond) {
	if e.merged != nil {
		return
	}
	w.encodedSize -= len(e.bytes)
	c := coder{b: e.bytes, reading: true, trusted: true, newHistogram: NewHistogram}
	e.merged, e.bytes = &Second{}, nil
	c.second(e.merged) // cannot fail, because this process encoded the bytes
}

// encodeEarliest encodes the earliest seconds so that at most maxDecoded seconds are not encoded.
func (w *pendingSeconds) encodeEarliest() {
	n := 0
	for i := range w.seconds {
		if w.seconds[i].merged != nil {
			n++
		}
	}
	for i := 0; n > maxDecoded; i++ {
		if e := &w.seconds[i]; e.merged != nil {
			e.bytes, e.merged = slices.Clip(AppendSecond(nil, e.merged)), nil
			w.encodedSize += len(e.bytes)
			n--
		}
	}
}

// takeFirst removes and returns the earliest second. It sorts the series, so that their order does
// not depend on the order of the shards.
func (w *pendingSeconds) takeFirst() *Second {
	e := &w.seconds[0]
	w.decode(e)
	whole, several := e.merged, e.parts > 1
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
