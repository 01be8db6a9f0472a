package replay

import (
	"cmp"
	"slices"

	"github.com/quorumbench/quorumbench/internal/recording"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// places are the connections of a store whose sessions are connections: the calls of a
// recorded session go over one, in their order. Sessions of which one had ended before
// the other began may share one.
type places struct {
	of    []int32   // by call
	lines [][]int32 // by place: its calls, in their order
	heads []int     // by place: the first in its line that may not have been sent
	sent  []bool    // by call; also of those that were given up
}

// placesOf divides connections among so many places, or as many as are needed at once.
func placesOf(calls []*recording.Call, connections map[uint32]span, most int) *places {
	order := make([]uint32, 0, len(connections))
	for conn := range connections {
		order = append(order, conn)
	}
	slices.SortFunc(order, func(a, b uint32) int {
		return cmp.Or(cmp.Compare(connections[a].first, connections[b].first), cmp.Compare(a, b))
	})
	place := map[uint32]int32{}
	var ends []int64 // by place
	for _, conn := range order {
		at := slices.IndexFunc(ends, func(end int64) bool { return end < connections[conn].first })
		if at < 0 {
			at = len(ends)
			ends = append(ends, 0)
		}
		ends[at], place[conn] = connections[conn].last, int32(at) // #nosec G115 -- as many as connections
	}
	n := min(len(ends), scenario.MaxConnections)
	if most > 0 {
		n = most
	}
	p := &places{of: make([]int32, len(calls)), lines: make([][]int32, n), heads: make([]int, n), sent: make([]bool, len(calls))}
	for i, c := range calls {
		at := int(place[c.Conn]) % n
		p.of[i] = int32(at) // #nosec G115 -- below n
		p.lines[at] = append(p.lines[at], int32(i))
	}
	return p
}

// next reports whether a call is the next of its session.
func (p *places) next(n uint64) bool {
	at := p.of[n]
	line := p.lines[at]
	for p.heads[at] < len(line) && p.sent[line[p.heads[at]]] {
		p.heads[at]++
	}
	return p.heads[at] == len(line) || line[p.heads[at]] == int32(n)
}

// placedSource is a source some of whose calls go over a certain connection: those of a
// session, and of a watcher. It is an engine.Placed.
type placedSource struct{ *source }

// Place implements engine.Placed.
func (s *placedSource) Place(n uint64) int {
	if s.places != nil {
		return int(s.places.of[n])
	}
	watcher, ok := s.watchers.of[int32(n)]
	if !ok || watcher == unknownWatcher {
		return -1
	}
	return int(s.calls[s.watchers.by[watcher]].Conn) % s.conns
}
