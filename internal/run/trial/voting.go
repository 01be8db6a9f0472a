package trial

import (
	"fmt"
	"slices"
	"strings"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
)

// needsVote reports whether the load should avoid members without a vote, unless the target
// specifies members by number. The load should avoid them if it does more than local reads, or if
// members without a vote cannot serve its reads.
func (t *Trial) needsVote() bool {
	l, nonVoterSupport := &t.Spec.Load, t.Cluster.Store.Capabilities().NonVoters
	if !l.ReadsLocally() {
		return true
	}
	return !nonVoterSupport.ForwardsRequests && (!nonVoterSupport.ServesLocalReads || l.Scan.Streamed || t.Cluster.Access().User != "")
}

// targetEndpoints returns the endpoints to which the load is sent. voters contains the endpoints
// that are used to prepare the load, if these differ from the endpoints to which the load is sent.
// The error explains which members cannot serve the load.
func (t *Trial) targetEndpoints(m *members) (endpoints, voters []string, err error) {
	target, needs, nonVoterSupport := t.Spec.Load.Target, t.needsVote(), t.Cluster.Store.Capabilities().NonVoters
	if endpoints, err = m.targets(target, needs); err != nil {
		if i := slices.IndexFunc(m.allMembers(), func(e store.Member) bool { return e.HiddenData != "" && e.Role == kv.UnknownRole }); i >= 0 {
			err = fmt.Errorf("%w: %s", err, m.allMembers()[i].HiddenData)
		}
		return nil, nil, err
	}
	nonVoters := m.withoutVote()
	hasNoVote := func(endpoint string) bool { return memberAt(nonVoters, endpoint) != nil }
	if needs && !nonVoterSupport.ForwardsRequests && !slices.ContainsFunc(endpoints, func(e string) bool { return !hasNoVote(e) }) {
		can := "cannot serve this load"
		if nonVoterSupport.ServesLocalReads {
			can = "serves only local reads of keys, and none if a user is given"
		}
		return nil, nil, fmt.Errorf("target %v: %s has no vote (%s) and %s; choose a member with a vote", target, describe(memberAt(nonVoters, endpoints[0])), nonVoterSupport.Name, can)
	}
	if !slices.ContainsFunc(endpoints, hasNoVote) {
		return endpoints, nil, nil
	}
	voters = slices.DeleteFunc(slices.Clone(endpoints), hasNoVote)
	for _, e := range m.allMembers() {
		if len(voters) == 0 && e.Err == nil && (e.Role == kv.Leader || e.Role == kv.Follower) {
			voters = append(voters, e.Endpoint)
		}
	}
	if len(voters) == 0 && !nonVoterSupport.ForwardsRequests && t.Spec.Load.Preload {
		return nil, nil, fmt.Errorf("the preload writes keys, but %s has no vote (%s); also specify the endpoint of a member with a vote, or remove the preload",
			describe(memberAt(nonVoters, endpoints[0])), nonVoterSupport.Name)
	}
	return endpoints, voters, nil
}

// hiddenNotes returns notes about members that the user is not permitted to see.
func (m *members) hiddenNotes() (notes []string) {
	for _, e := range m.allMembers() {
		if e.HiddenData == "" {
			continue
		}
		if note := strings.ToUpper(e.HiddenData[:1]) + e.HiddenData[1:] + "."; !slices.Contains(notes, note) {
			notes = append(notes, note)
		}
	}
	return notes
}

// voteNotes returns a note about each member without a vote. The note explains the member's role in
// the load.
func (t *Trial) voteNotes(m *members, endpoints []string) (notes []string) {
	for _, e := range m.withoutVote() {
		what := "the load was sent to members with a vote"
		switch {
		case !slices.Contains(endpoints, e.Endpoint):
		case t.needsVote():
			what = "it forwards writes and linearizable reads to the leader"
		default:
			what = "it served local reads, and members with a vote prepared the load"
		}
		name := t.Cluster.Store.Capabilities().NonVoters.Name
		notes = append(notes, fmt.Sprintf("%s has no vote (%s): %s.", describe(&e), name, what))
	}
	return notes
}
