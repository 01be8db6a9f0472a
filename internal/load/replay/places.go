package replay

import (
	"cmp"
	"container/heap"
	"slices"

	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store/call"
)

// places assigns calls to connections, for a store in which a connection is a session. The calls of
// a recorded session use the same connection, in their recorded order. Sessions that do not overlap
// may share a connection.
type places struct {
	byCall       []int32   // by call: the index of its connection (its place)
	callsByPlace [][]int32 // by place: the calls on it, in order
	nextIndexes  []int     // by place: index in callsByPlace[place]; calls before it were sent
	sent         []bool    // by call: the call was sent or given up
}

// newPlaces assigns the recorded connections to at most `limit` places. If `limit` is 0, it uses as
// many places as the recording needed at the same time.
func newPlaces(calls []*call.Call, connections map[uint32]span, limit int) *places {
	order := make([]uint32, 0, len(connections))
	for conn := range connections {
		order = append(order, conn)
	}
	slices.SortFunc(order, func(a, b uint32) int {
		return cmp.Or(cmp.Compare(connections[a].first, connections[b].first), cmp.Compare(a, b))
	})
	place := map[uint32]int32{}
	var taken takenPlaces
	for _, conn := range order {
		span, at := connections[conn], len(taken)
		if at > 0 && taken[0].end < span.first {
			at = int(taken[0].place)
			taken[0].end = span.last
			heap.Fix(&taken, 0)
		} else {
			heap.Push(&taken, takenPlace{span.last, int32(at)}) // #nosec G115 -- as many as connections
		}
		place[conn] = int32(at) // #nosec G115 -- as many as connections
	}
	n := min(len(taken), scenario.MaxConnections)
	if limit > 0 {
		n = limit
	}
	p := &places{byCall: make([]int32, len(calls)), callsByPlace: make([][]int32, n), nextIndexes: make([]int, n), sent: make([]bool, len(calls))}
	for i, c := range calls {
		at := int(place[c.Conn]) % n
		p.byCall[i] = int32(at) // #nosec G115 -- below n
		p.callsByPlace[at] = append(p.callsByPlace[at], int32(i))
	}
	return p
}

// takenPlace is a place, and the time at which the last session on this place ends.
type takenPlace struct {
	end   int64
	place int32
}

// takenPlaces implements heap.Interface. Its first element is the place that becomes free first.
type takenPlaces []takenPlace

func (t takenPlaces) Len() int { return len(t) }

func (t takenPlaces) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(t[i].end, t[j].end), cmp.Compare(t[i].place, t[j].place)) < 0
}

func (t takenPlaces) Swap(i, j int) { t[i], t[j] = t[j], t[i] }

// Push implements heap.Interface.
func (t *takenPlaces) Push(x any) { *t = append(*t, x.(takenPlace)) }

// Pop implements heap.Interface.
func (t *takenPlaces) Pop() any {
	last := (*t)[len(*t)-1]
	*t = (*t)[:len(*t)-1]
	return last
}

// isNext reports whether a call is the next one to send on its connection.
func (p *places) isNext(n uint64) bool {
	at := p.byCall[n]
	line := p.callsByPlace[at]
	for p.nextIndexes[at] < len(line) && p.sent[line[p.nextIndexes[at]]] {
		p.nextIndexes[at]++
	}
	return p.nextIndexes[at] == len(line) || line[p.nextIndexes[at]] == int32(n)
}

// span is the period that starts with the first call on a connection and ends when the last call
// ends.
type span struct {
	first, last int64
	used        bool
}

func (s span) extend(c *call.Call) span {
	end := c.At + max(c.Duration, 0)
	if !s.used {
		return span{c.At, end, true}
	}
	return span{min(s.first, c.At), max(s.last, end), true}
}
