package verify

import (
	"fmt"
	"sort"

	"github.com/quorumbench/quorumbench/internal/measure/history"
)

// bound holds the highest revisions in the responses of all operations that had ended by some time,
// and the numbers of these operations.
type bound struct {
	acked, seen     int64 // acked: highest revision in a response that must fit into the linearizable order; seen: highest revision in any response
	ackedBy, seenBy uint32
}

// step is a bound, with the time from which the bound is valid.
type step struct {
	done int64
	bound
}

// revisionHistory stores how the highest revisions grew over time. It keeps the steps that may
// still be needed for the operation that began earliest.
type revisionHistory struct {
	steps   []step
	longest int64
}

func newRevisionHistory(longest int64) *revisionHistory {
	return &revisionHistory{longest: longest, steps: []step{{done: -1}}}
}

// addResponse adds the response to an operation. Callers must pass operations in the order in which
// they ended.
func (s *revisionHistory) addResponse(o *history.Op, r role, ord uint32) {
	if o.Revision == 0 || r != read && r != wrote {
		return
	}
	last := &s.steps[len(s.steps)-1]
	next := *last
	if isLinearizable(o) && o.Revision > next.acked {
		next.acked, next.ackedBy = o.Revision, ord
	}
	if o.Revision > next.seen {
		next.seen, next.seenBy = o.Revision, ord
	}
	switch next.done = o.Done; {
	case next.acked == last.acked && next.seen == last.seen:
	case last.done == o.Done:
		*last = next
	default:
		s.push(next)
	}
}

// push adds a step. If the slice is full, push first removes the older half of the steps, unless a
// later operation may need them.
func (s *revisionHistory) push(next step) {
	if len(s.steps) == cap(s.steps) {
		if half := len(s.steps) / 2; half > 0 && s.steps[half].done < next.done-s.longest {
			s.steps = s.steps[:copy(s.steps, s.steps[half:])]
		}
	}
	s.steps = append(s.steps, next)
}

// boundBefore returns the bound over the operations that ended before a time. It excludes
// operations that ended at exactly this time, because the order of events with equal times is
// unknown.
func (s *revisionHistory) boundBefore(at int64) bound {
	lo, hi, back := 0, len(s.steps), 1
	for hi-back > 0 { // search backwards first, because most operations began a short time ago
		if s.steps[hi-back].done < at {
			lo = hi - back
			break
		}
		hi, back = hi-back, back*2
	}
	i := lo + sort.Search(hi-lo, func(i int) bool { return s.steps[lo+i].done >= at })
	return s.steps[max(i-1, 0)].bound
}

// checkOrder compares the revision of a response with the revisions of all operations that had
// ended before its operation began.
func (c *checker) checkOrder(o *history.Op, r role, ord uint32, limit *bound) {
	switch {
	case o.ContinuesPrevious: // already checked with the first part of the same operation
	case r == wrote && o.Revision <= limit.seen:
		c.found.add(finding{
			kind: ReorderedWrite, guarantee: history.RevisionOrder, key: o.Key, operationCount: 2, ords: [3]uint32{limit.seenBy, ord}, revision: limit.seen,
		})
	case r == read && isLinearizable(o) && o.Revision < limit.acked:
		guarantee := history.Linearizable
		if o.Kind.Writes() {
			guarantee = history.RevisionOrder
		}
		c.found.add(finding{
			kind: StaleRead, guarantee: guarantee, key: o.Key, operationCount: 2, ords: [3]uint32{limit.ackedBy, ord}, revision: limit.acked,
			state: fmt.Sprintf("revision %d had been acknowledged before the operation began", limit.acked),
		})
	}
}

// sessions holds, for each client, the highest revision at which the client was served.
type sessions struct {
	clientIndexes numbered // by client: index in the field all, plus one
	all           []sessionRevision
}

type sessionRevision struct {
	revision, done int64
	ord            uint32
}

func (s *sessions) check(f *findings, o *history.Op, r role, ord uint32) {
	if r != read && r != wrote || o.Final {
		return
	}
	now := sessionRevision{o.Revision, o.Done, ord}
	place := s.clientIndexes.get(uint64(o.Session))
	if place == 0 {
		s.all = append(s.all, now)
		s.clientIndexes.set(uint64(o.Session), uint32(len(s.all)))
		return
	}
	was := &s.all[place-1]
	if o.Revision < was.revision && o.Invoked > was.done {
		f.add(finding{kind: RevisionDecreased, guarantee: history.SessionOrder, key: o.Key, operationCount: 2, ords: [3]uint32{was.ord, ord}, revision: was.revision})
	}
	if o.Revision >= was.revision {
		*was = now
	}
}
