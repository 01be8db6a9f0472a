package trial

import (
	"slices"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// weakerReads returns the store's explanations for those consistency levels in the mix that are
// weaker in this store than their names guarantee. It returns nil if the mix contains no such level.
func weakerReads(s kv.Capabilities, mix []scenario.Operation) map[string]string {
	var out map[string]string
	for level, text := range s.WeakerReads {
		for _, part := range mix {
			if part.Consistency == level {
				if out == nil {
					out = map[string]string{}
				}
				out[level.String()] = text
			}
		}
	}
	return out
}

// assignment returns the load, assigned to the endpoints of its target.
func (t *Trial) assignment(m *members) (*load.Assignment, error) {
	endpoints, voters, err := t.targetEndpoints(m)
	if err != nil {
		return nil, err
	}
	a := t.newAssignment(endpoints)
	a.Voters, a.Members = voters, m.ids()
	return a, nil
}

// conditions returns the conditions under which the trial is measured.
func (t *Trial) conditions(m *members, a *load.Assignment) record.Conditions {
	c := record.NewConditions(&t.Spec)
	status := m.status()
	c.Version, c.Members = status.Version, max(len(status.Members), m.total)
	c.Endpoints, c.Cluster = a.Endpoints, t.Cluster.ID
	c.Loops = t.loops
	c.WeakerReads = weakerReads(t.Cluster.Store.Capabilities(), c.Mix)
	var absent []string
	c.Absent, absent = m.absentMembers()
	c.Durability, c.Machine, c.SharesMachine = t.Cluster.Durability, t.Machine, t.Cluster.Shared
	c.Tool, c.Notes = t.Tool, slices.Concat(c.Notes, t.Cluster.notes(), t.Cluster.unfoundNotes(), t.userNotes, absent, m.hiddenNotes(), t.voteNotes(m, a.Endpoints))
	if rate := t.Spec.Load.Rate.PerSecond; c.Open() && c.Rate == nil {
		c.Rate = &rate
	}
	return c
}
