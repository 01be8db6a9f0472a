package trial

import (
	"cmp"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/store"
)

// memberList is the members as the record has them. A member's number is the
// one that its answers had, by which operations are counted, or else its own word.
func memberList(status *store.Status, memberOf map[string]uint64) []record.Member {
	all := make([]record.Member, 0, len(status.Members))
	for i := range status.Members {
		e := &status.Members[i]
		all = append(all, record.Member{ID: record.ID(cmp.Or(memberOf[e.Endpoint], e.ID)), Name: e.Name, Endpoint: e.Endpoint, Alarms: e.Alarms})
	}
	return all
}
