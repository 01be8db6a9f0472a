package null

import (
	"slices"
	"sort"
	"strings"
)

// updateIndex updates the index. It inserts the entries that were added since the last call, and
// drops the entries that were removed. It finds their positions by binary search and moves the
// entries between these positions as blocks. Therefore, listing keys after every write is cheap.
func (s *Space[T]) updateIndex() {
	var added, removed []*Entry[T]
	for i := range s.shards {
		h := &s.shards[i]
		added = append(added, h.added...)
		removed = append(removed, h.removed...)
		clear(h.added)
		clear(h.removed)
		h.added, h.removed = h.added[:0], h.removed[:0]
	}
	s.drop(removed)
	s.merge(slices.DeleteFunc(added, func(e *Entry[T]) bool { return e.removed }))
}

func byKey[T any](a, b *Entry[T]) int { return strings.Compare(a.Key, b.Key) }

// drop removes entries from the index, starting with the lowest key.
func (s *Space[T]) drop(removed []*Entry[T]) {
	if len(removed) == 0 {
		return
	}
	slices.SortFunc(removed, byKey)
	gap := s.search(0, len(s.index), []byte(removed[0].Key))
	remaining := gap
	for i := range removed {
		next := len(s.index)
		if i+1 < len(removed) {
			next = s.search(gap+1, next, []byte(removed[i+1].Key))
		}
		remaining += copy(s.index[remaining:], s.index[gap+1:next])
		gap = next
	}
	clear(s.index[remaining:])
	s.index = s.index[:remaining]
}

// merge inserts entries into the index, starting with the highest key.
func (s *Space[T]) merge(added []*Entry[T]) {
	slices.SortFunc(added, byKey)
	end := len(s.index)
	s.index = append(s.index, added...)
	for i, e := range slices.Backward(added) {
		at := s.search(0, end, []byte(e.Key))
		copy(s.index[at+i+1:], s.index[at:end])
		s.index[at+i], e.indexed = e, true
		end = at
	}
}

// search returns the position of the first entry in index[from:end] whose key is greater than or
// equal to `key`. It returns end if no entry has such a key.
func (s *Space[T]) search(from, end int, key []byte) int {
	return from + sort.Search(end-from, func(i int) bool { return s.index[from+i].Key >= string(key) })
}
