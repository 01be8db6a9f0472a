package analyze

import (
	"math"
	"slices"

	"github.com/quorumbench/quorumbench/internal/results/record"
)

// uneven is how far a member's part of the load must be from its part of the
// connections, as a share of that, for the members to be listed.
const uneven = 0.1

// unevenMembers reports whether connections to a member were lost, or its part
// of the load was another than its part of the connections.
func unevenMembers(t *record.Trial) bool {
	connections, share := 0, 0.0
	for i := range t.ByMember {
		if l := t.ByMember[i].Links; l != nil {
			connections += l.Opened
			share += t.ByMember[i].Share
			if l.Lost > 0 || l.LostAt != nil {
				return true
			}
		}
	}
	return connections > 0 && share > 0 && slices.ContainsFunc(t.ByMember, func(b record.ByMember) bool {
		if b.Links == nil {
			return false
		}
		equal := float64(b.Links.Opened) / float64(connections)
		return math.Abs(b.Share/share-equal) > uneven*equal
	})
}

// LostConnections are the members that lost connections.
func LostConnections(t *record.Trial) []*record.ByMember {
	var lost []*record.ByMember
	for i := range t.ByMember {
		b := &t.ByMember[i]
		if l := b.Links; l != nil && (l.Lost > 0 || l.LostAt != nil) {
			lost = append(lost, b)
		}
	}
	return lost
}
