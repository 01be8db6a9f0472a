package trial

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/text"
)

// findMembers determines which members are running, and whether they accept connections from
// quorumbench and accept the given user.
func (t *Trial) findMembers(ctx context.Context) (*members, error) {
	access := t.Cluster.Access()
	if !t.Cluster.attached() {
		var err error
		if t.loops, err = t.Worker.Check(ctx, t.newAssignment(access.Endpoints)); err != nil {
			return nil, err
		}
		return t.meet(ctx, access)
	}
	given := access.Endpoints
	answering, absent, err := t.findAnswering(ctx, given)
	if err != nil {
		return nil, err
	}
	access.Endpoints = answering
	m, err := t.meet(ctx, access)
	if err != nil {
		return nil, err
	}
	if err := store.CheckOneCluster(m.status().Members); err != nil {
		m.close()
		return nil, err
	}
	duplicates, reached := duplicateNotes(m.status().Members), m.status()
	asked, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	all, err := store.AskMembers(asked, m.admin)
	all = atGivenEndpoints(all, reached.Members, given)
	total := len(all)
	unnamed := slices.IndexFunc(all, func(e store.Member) bool { return e.Endpoint == "" })
	if t.Spec.Load.Target.Mode == kv.AnyEndpoint {
		m.duplicateNotes, m.total = duplicates, total // the list may be empty if the user may not list the members or if no member responds
		all = slices.DeleteFunc(all, func(e store.Member) bool { return e.Endpoint == "" })
		m.findOthers(ctx, t.Cluster.Store, access, store.Endpoints(all))
		m.absent = absent
		return m, nil
	}
	m.close()
	switch {
	case unnamed >= 0 && t.Spec.Load.Target.Mode == kv.LeaderOnly && reached.Leader() != nil: // the address of the leader is sufficient
		all = slices.DeleteFunc(all, func(e store.Member) bool { return e.Endpoint == "" })
	case unnamed >= 0:
		return nil, fmt.Errorf("target %v requires all members, but %s does not report the address of its member %s; specify the endpoints of all members",
			t.Spec.Load.Target, t.Cluster.Store.Name(), all[unnamed].Name)
	case err != nil:
		return nil, fmt.Errorf("target %v requires all members, but %s does not list them: %w", t.Spec.Load.Target, t.Cluster.Store.Name(), err)
	}
	access.Endpoints = inOrder(given, store.Endpoints(all))
	if m, err = t.meet(ctx, access); err != nil {
		return nil, err
	}
	if err := m.markAbsent(absent, given, t.Spec.Load.Target); err != nil {
		m.close()
		return nil, err
	}
	m.duplicateNotes, m.total = duplicates, total
	return m, nil
}

// duplicateNotes returns a note for each pair of endpoints at which the same member responds.
func duplicateNotes(reached []store.Member) (notes []string) {
	for i, a := range reached {
		for _, b := range reached[:i] {
			if a.Err == nil && b.Err == nil && a.ID != 0 && a.ID == b.ID {
				notes = append(notes, fmt.Sprintf("The member %[3]s responds at the endpoints %[1]s and %[2]s, which belong either to one server or to two clusters that were started with the same names; specify each member once.", b.Endpoint, a.Endpoint, cmp.Or(a.Name, record.ID(a.ID).String())))
			}
		}
	}
	return notes
}

// findAnswering returns the given endpoints that can serve the load. For each other endpoint,
// absent contains the reason why the endpoint cannot serve the load. findAnswering returns an error
// if no endpoint can serve the load.
func (t *Trial) findAnswering(ctx context.Context, given []string) (answering []string, absent map[string]error, err error) {
	if t.loops, err = t.Worker.Check(ctx, t.newAssignment(given)); err == nil {
		return given, nil, nil
	}
	if len(given) == 1 || ctx.Err() != nil || errors.As(err, new(*load.RefusedError)) {
		return nil, nil, err
	}
	absent = map[string]error{}
	var unready *load.UnreadyError
	if errors.As(err, &unready) {
		for i, e := range unready.Endpoints {
			absent[e] = unready.Errs[i]
		}
	} else {
		absent = t.checkEach(ctx, given)
	}
	for _, e := range given {
		if absent[e] == nil {
			answering = append(answering, e)
		}
	}
	if len(answering) == 0 || len(answering) == len(given) { // the error does not depend on the endpoint
		return nil, nil, err
	}
	if t.loops, err = t.Worker.Check(ctx, t.newAssignment(answering)); err != nil {
		return nil, nil, err
	}
	return answering, absent, nil
}

// checkEach checks each endpoint separately, and returns the errors by endpoint.
func (t *Trial) checkEach(ctx context.Context, given []string) map[string]error {
	failed := map[string]error{}
	var mu sync.Mutex
	var asked sync.WaitGroup
	for _, e := range given {
		asked.Go(func() {
			if _, err := t.Worker.Check(ctx, t.newAssignment([]string{e})); err != nil {
				mu.Lock()
				failed[e] = err
				mu.Unlock()
			}
		})
	}
	asked.Wait()
	return failed
}

// atGivenEndpoints replaces the endpoints in the listed members by the endpoints at which the
// members were reached. A member behind a port forward or in a container may advertise an address
// that is unreachable from here. Members are matched by ID. A member that does not respond or that
// reports no ID cannot be matched. If the number of unmatched members equals the number of
// unmatched given endpoints, these members and endpoints are paired in order.
func atGivenEndpoints(listed, reached []store.Member, given []string) []store.Member {
	out := slices.Clone(listed)
	taken := map[string]bool{}
	var open []int
	for i := range out {
		k := slices.IndexFunc(reached, func(r store.Member) bool { return r.Err == nil && r.ID != 0 && r.ID == out[i].ID && !taken[r.Endpoint] })
		switch {
		case k >= 0:
			out[i].Endpoint = reached[k].Endpoint
		case !slices.Contains(given, out[i].Endpoint):
			open = append(open, i)
			continue
		}
		taken[out[i].Endpoint] = true
	}
	known := func(e string) bool { // whether a listed member has responded at the endpoint e, even if the member was matched with another endpoint
		return slices.ContainsFunc(reached, func(r store.Member) bool {
			return r.Endpoint == e && r.Err == nil && slices.ContainsFunc(listed, func(l store.Member) bool { return l.ID == r.ID && l.ID != 0 })
		})
	}
	var left []string
	for _, e := range given {
		if !taken[e] && !known(e) {
			left = append(left, e)
		}
	}
	if len(open) == len(left) {
		for k, i := range open {
			out[i].Endpoint = left[k]
		}
	}
	return out
}

// inOrder returns the members' endpoints. If all members were given, it returns them in the given
// order. Otherwise it returns them in the order in which the cluster lists them.
func inOrder(given, all []string) []string {
	if sameSet(given, all) {
		return given
	}
	return all
}

// markAbsent marks members that do not respond before the load as absent, so that they are not
// reported as lost. The load runs without them. markAbsent returns an error if the target needs one
// of these members. For the targets "all" and "followers", it also returns an error if at least
// half of the members do not respond and at least one of the members that do not respond has an
// endpoint that was not given.
func (m *members) markAbsent(absent map[string]error, given []string, target kv.Target) error {
	status := m.status()
	m.absent, m.reportsNoStatus = map[string]error{}, map[string]bool{}
	for _, e := range status.Members {
		m.reportsNoStatus[e.Endpoint] = e.Err != nil
		if err := cmp.Or(absent[e.Endpoint], e.Err); err != nil {
			m.absent[e.Endpoint] = err
		}
	}
	if len(m.absent) == 0 {
		return nil
	}
	m.mu.Lock()
	m.losses = nil
	m.mu.Unlock()
	for i, e := range status.Members {
		err := m.absent[e.Endpoint]
		switch {
		case err == nil:
		case target.Mode == kv.SingleMember && target.Member == i+1:
			return fmt.Errorf("target %v: %w", target, err)
		case target.Mode != kv.AllMembers && target.Mode != kv.Followers:
		case len(m.absent)*2 >= len(status.Members) && !slices.Contains(given, e.Endpoint):
			return fmt.Errorf("target %v: the cluster lists a member at %s, which does not respond (%w); specify an endpoint at which this member can be reached", target, e.Endpoint, err)
		}
	}
	if target.Mode == kv.LeaderOnly {
		return m.leaderAnswers(&status)
	}
	return nil
}

// leaderAnswers returns an error if the leader that the members report does not respond.
func (m *members) leaderAnswers(status *store.Status) error {
	_, err := m.targets(kv.Target{Mode: kv.LeaderOnly}, true)
	if err == nil || status.Leader() != nil { // if the leader has reported its state, err contains the reason for which it cannot serve the load
		return err
	}
	named := slices.ContainsFunc(status.Members, func(e store.Member) bool { return e.Err == nil && e.Leader != 0 })
	if !named {
		return err
	}
	return fmt.Errorf("target leader: the leader is the member at %s, which does not respond; specify an endpoint at which this member can be reached", strings.Join(m.absentEndpoints(), " or "))
}

// absentEndpoints returns the endpoints of the members that do not respond, in sorted order.
func (m *members) absentEndpoints() []string {
	var out []string
	for e := range m.absent {
		out = append(out, e)
	}
	slices.Sort(out)
	return out
}

// absentMembers returns the members that did not respond before the load, and a note about each of
// them. The notes also include those about members that were given twice.
func (m *members) absentMembers() (all []record.AbsentMember, notes []string) {
	for _, e := range m.absentEndpoints() {
		a := record.AbsentMember{Endpoint: e, Reason: text.Line(m.absent[e].Error(), store.MaxErrorText)}
		all, notes = append(all, a), append(notes, a.String())
	}
	return all, append(notes, m.duplicateNotes...)
}

// userNotes returns a note if the cluster does not check the given user. If the cluster rejects the
// user, the load fails with a separate error.
func userNotes(ctx context.Context, m *members, access *scenario.RunningCluster) []string {
	if access.User == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	if why, err := m.admin.UncheckedUserReason(ctx); err == nil && why != "" {
		return []string{"The user had no effect: " + why + ". Enable authentication, or leave the user out."}
	}
	return nil
}

// findOthers identifies the members at all endpoints of the cluster, if these differ from the given
// endpoints. During the load, these members are asked for their metrics but not for their status. A
// member that does not respond soon has no name. If none of the members responds, their addresses
// are unreachable from here, and only the members at the given endpoints are used.
func (m *members) findOthers(ctx context.Context, st store.Store, access store.Access, all []string) {
	if len(all) == 0 || sameSet(all, access.Endpoints) {
		return
	}
	for _, endpoint := range all {
		m.others = append(m.others, store.Member{Endpoint: endpoint})
	}
	access.Endpoints = all
	admin, err := st.Admin(access)
	if err != nil {
		return
	}
	defer func() { _ = admin.Close() }() // no request is pending
	ctx, cancel := context.WithTimeout(ctx, firstScrapeTimeout)
	defer cancel()
	status, err := admin.Status(ctx)
	if err != nil {
		m.others = nil
	}
	for _, e := range status.Members {
		if i := slices.IndexFunc(m.others, func(o store.Member) bool { return o.Endpoint == e.Endpoint }); i >= 0 && e.Err == nil {
			m.others[i] = e
		}
	}
}

func sameSet(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// meet asks the members at the endpoints in access for their status.
func (t *Trial) meet(ctx context.Context, access store.Access) (*members, error) {
	admin, err := t.Cluster.Store.Admin(access)
	if err != nil {
		return nil, err
	}
	// If the user allows more time for connecting, this request also gets more time, because a
	// member without a leader may need seconds to respond.
	m, err := connectMembers(ctx, admin, access.Endpoints, t.Cluster.names(), max(statusTimeout, access.DialTimeout))
	if err != nil {
		_ = admin.Close() // the error of the status request is more important
		return nil, fmt.Errorf("%s does not report its state: %w", t.Cluster.Store.Name(), err)
	}
	return m, nil
}
