package trial

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/run/probe"
)

// findLocalMembers finds the members of a running cluster that run on the generator's machine.
// These are the processes that listen on the given endpoints or on endpoints in the store's member
// list. If other machines generate load, findLocalMembers finds nothing.
func (t *Trial) findLocalMembers(ctx context.Context, m *members) {
	c := &t.Cluster
	remote := slices.ContainsFunc(t.Sources, func(s Source) bool {
		_, apart := s.Host.(host.Remote)
		return s.Load && apart
	})
	if remote || !c.attached() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	endpoints := slices.Clone(m.givenEndpoints)
	named, _ := m.admin.Members(ctx) // if the store returns no member list, only the given endpoints are searched
	for i := range named {
		if e := named[i].Endpoint; e != "" && !slices.Contains(endpoints, e) {
			endpoints = append(endpoints, e)
		}
	}
	c.recordLocalMembers(endpoints, probe.FindServers(ctx, endpoints))
}

// recordLocalMembers records the servers that listen on the endpoints. found contains the server at
// each endpoint.
func (c *Cluster) recordLocalMembers(endpoints []string, found []probe.Server) {
	c.LocalPIDs, c.UnfoundReason = nil, ""
	var unseen, forwarded []string
	for i, l := range found {
		if !l.IsLocal {
			continue
		}
		c.Shared = new(true)
		switch {
		case l.PID == 0:
			unseen = append(unseen, endpoints[i])
		case l.IsForwarder():
			forwarded = append(forwarded, fmt.Sprintf("%s (%s)", endpoints[i], l.Program))
		case !slices.Contains(c.LocalPIDs, l.PID):
			c.LocalPIDs = append(c.LocalPIDs, l.PID)
		}
	}
	const effect = "quorumbench cannot determine how much processor time other programs took from the members (R23)"
	switch {
	case len(unseen) > 0:
		c.UnfoundReason = fmt.Sprintf("%s to this machine, but the system does not show which process listens there, so %s. To see the process, run quorumbench as root.", addressesBelong(unseen), effect)
	case len(forwarded) > 0:
		c.UnfoundReason = fmt.Sprintf("%s to this machine, but the program that listens there only forwards requests to another program, so %s.", addressesBelong(forwarded), effect)
	}
}

// addressesBelong returns the subject and the verb of a sentence about addresses.
func addressesBelong(all []string) string {
	if len(all) == 1 {
		return "The address " + all[0] + " belongs"
	}
	return "The addresses " + strings.Join(all, ", ") + " each belong"
}

// unfoundNotes returns a note if the processes of some members on the generator's machine are
// unknown. Otherwise it returns nil.
func (c *Cluster) unfoundNotes() []string {
	if c.UnfoundReason == "" {
		return nil
	}
	return []string{c.UnfoundReason}
}

// localProcesses returns the IDs of the member processes that were found. The keys are names for
// the processes. The processes have no rows in machines.csv.
func (c *Cluster) localProcesses() map[string]int {
	all := map[string]int{}
	if c.UnfoundReason == "" { // if members are missing, their processor time would be counted as that of other programs
		for _, pid := range c.LocalPIDs {
			all[fmt.Sprintf("member with process %d", pid)] = pid
		}
	}
	return all
}
