package runner

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/run/trial"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/text"
)

// reach connects to a host. No other code depends on how the host is reached.
func (r *run) reach(ctx context.Context, h *scenario.Host) (*reached, error) {
	if h.Via != scenario.ViaLocal {
		a, err := r.Agent(ctx, h)
		if err != nil {
			return nil, err
		}
		return &reached{Host: *h, host: a.Host(), worker: a.Worker, leave: a.Close}, nil
	}
	return &reached{
		Host: *h, host: newHost().WithAddress(h.Address),
		worker: func() load.Worker { return &load.Local{Stores: r.Lookup} },
	}, nil
}

// atOnce is the maximum number of hosts to which reachHosts connects concurrently. The connections
// are concurrent because each takes several round trips and a handshake.
const atOnce = 16

// reachHosts connects to the scenario's hosts and makes them available for members. If it returns
// an error, the caller must still call leaveHosts.
func (r *run) reachHosts(ctx context.Context) error {
	all := make([]*reached, len(r.Scenario.Hosts))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for i := range all {
		group.Go(func() error {
			if ctx.Err() != nil { // another host has already failed
				return context.Cause(ctx)
			}
			h, err := r.reach(ctx, &r.Scenario.Hosts[i])
			if err != nil {
				return err
			}
			if c := h.clock(); c != nil {
				h.before = new(reading(c))
			}
			all[i] = h
			return nil
		})
	}
	err := group.Wait()
	for _, h := range all {
		if h != nil {
			r.reached, r.Hosts = append(r.reached, h), append(r.Hosts, h.host)
		}
	}
	return err
}

// mostLeaving is the maximum number of errors that leaveHosts reports individually.
const mostLeaving = 3

// leaveHosts ends the sessions with the hosts. It returns err, joined with the errors from ending
// the sessions.
func (r *run) leaveHosts(err error) error {
	errs := make([]error, len(r.reached))
	var leaving sync.WaitGroup
	for i, h := range r.reached {
		if h.leave != nil {
			leaving.Go(func() { errs[i] = h.leave() })
		}
	}
	leaving.Wait()
	more := 0
	for _, failed := range errs {
		reported := also(err, failed)
		if failed == nil || err != nil && reported.Error() == err.Error() {
			continue // err already contains this error
		}
		if more++; more <= mostLeaving {
			err = reported
		}
	}
	if more > mostLeaving {
		err = fmt.Errorf("%w; disconnecting from %s also failed", err, text.Plural(uint64(more-mostLeaving), "more host"))
	}
	return err
}

// generators returns the hosts that generate a trial's load.
func (r *run) generators(spec *scenario.Trial) []host.Host {
	all := []host.Host{}
	for _, h := range r.named(r.Scenario.WorkersOn(spec)) {
		all = append(all, h.host)
	}
	if len(all) == 0 {
		return []host.Host{r.host}
	}
	return all
}

// generator returns the first host that generates the trial's load. The trial's recorded conditions
// describe this host's machine.
func (r *run) generator(spec *scenario.Trial) host.Host { return r.generators(spec)[0] }

// sources returns the hosts that a trial uses, or nil if none of them has its own clock.
func (r *run) sources(spec *scenario.Trial) (all []trial.Source) {
	apart := false
	first := func(names []string, n int) []string { return names[:min(len(names), n)] } // members and workers are placed on hosts in turn
	members, generators := first(r.Scenario.MembersOn(spec), spec.Cluster.Members), first(r.Scenario.WorkersOn(spec), max(int(spec.Load.Workers), 1))
	if spec.Cluster.Attach != nil {
		members = nil
	}
	for _, h := range r.reached {
		one := trial.Source{Name: h.Name, Host: h.host, Members: slices.Contains(members, h.Name), Load: slices.Contains(generators, h.Name)}
		if one.Members || one.Load {
			all, apart = append(all, one), apart || h.clock() != nil
		}
	}
	if !apart {
		return nil
	}
	return all
}

// named returns the reached hosts with the given names.
func (r *run) named(names []string) []*reached {
	out := make([]*reached, len(names))
	for i, name := range names {
		out[i] = r.reached[slices.IndexFunc(r.reached, func(h *reached) bool { return h.Name == name })]
	}
	return out
}

// membersOn returns the hosts on which a trial's members are placed.
func (r *run) membersOn(spec *scenario.Trial) (hosts []host.Host) {
	for _, h := range r.named(r.Scenario.MembersOn(spec)) {
		hosts = append(hosts, h.host)
	}
	if len(hosts) == 0 {
		return r.hosts()
	}
	return hosts
}

// worker returns the worker that generates the trial's load. It may be a combination of several
// workers. These are placed on the scenario's hosts in turn, or in this process.
func (r *run) worker(spec *scenario.Trial) load.Worker {
	n, on := max(int(spec.Load.Workers), 1), r.named(r.Scenario.WorkersOn(spec))
	switch {
	case len(on) == 0 && n == 1:
		return &load.Local{Stores: r.Lookup, Script: r.Script}
	case len(on) == 0:
		return load.NewLocals(n, r.Lookup)
	}
	all, workersOf := make(load.Workers, n), map[*reached]int{}
	process := func(i int) *reached { // returns nil for local hosts, whose workers are in this process
		if h := on[i%len(on)]; h.Via != scenario.ViaLocal {
			return h
		}
		return nil
	}
	for i := range all {
		workersOf[process(i)]++
	}
	for i := range all {
		h := on[i%len(on)]
		all[i] = load.Named{Worker: h.worker(), Name: fmt.Sprintf("w%d on %s", i+1, h.Name), OtherWorkers: workersOf[process(i)] - 1}
	}
	return all
}

// hostName returns the scenario's name for a host, or "" if the host is not in the scenario.
func (r *run) hostName(of host.Host) string {
	for _, h := range r.reached {
		if h.host == of {
			return h.Name
		}
	}
	return ""
}

// recordedHosts returns the hosts for the record. If ended is set, the records include the states
// of the hosts' clocks.
func (r *run) recordedHosts(ended bool) (all []record.Host) {
	for _, h := range r.reached {
		one := record.Host{Name: h.Name, Address: h.Address, Via: h.Via.String(), Machine: r.about[h.host].Machine.Name}
		if ended {
			one.Clock = h.recordedClock()
		}
		all = append(all, one)
	}
	return all
}

// hosts returns the default hosts for members.
func (r *run) hosts() []host.Host {
	if len(r.Hosts) > 0 {
		return r.Hosts
	}
	return []host.Host{r.host}
}

// describeHosts asks every host for its description. It returns each machine once, beginning with
// the machine of this process.
func (r *run) describeHosts(ctx context.Context) ([]measure.Machine, error) {
	r.about = map[host.Host]host.Description{}
	var places []host.Place
	var machines []measure.Machine
	hosts := append([]host.Host{r.host}, r.Hosts...)
	all := make([]host.Description, len(hosts))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for i, h := range hosts {
		group.Go(func() (err error) {
			all[i], err = h.Describe(ctx)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	for i, h := range hosts {
		d := all[i]
		r.about[h] = d
		if !slices.ContainsFunc(places, d.Place.SameMachine) {
			places, machines = append(places, d.Place), append(machines, d.Machine)
		}
	}
	return machines, nil
}
