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

// connectHost connects to a host. No other code depends on how the host is reached.
func (r *run) connectHost(ctx context.Context, h *scenario.Host) (*connectedHost, error) {
	if h.Transport != scenario.TransportLocal {
		a, err := r.Agent(ctx, h)
		if err != nil {
			return nil, err
		}
		return &connectedHost{Host: *h, host: a.Host(), worker: a.Worker, disconnect: a.Close}, nil
	}
	return &connectedHost{
		Host: *h, host: newHost().WithAddress(h.Address),
		worker: func() load.Worker { return &load.Local{Stores: r.Lookup} },
	}, nil
}

// maxConcurrentDials is the maximum number of hosts to which connectHosts connects concurrently.
// The connections are concurrent because each takes several round trips and a handshake.
const maxConcurrentDials = 16

// connectHosts connects to the scenario's hosts and makes them available for members. If it returns
// an error, the caller must still call disconnectHosts.
func (r *run) connectHosts(ctx context.Context) error {
	all := make([]*connectedHost, len(r.Scenario.Hosts))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxConcurrentDials)
	for i := range all {
		group.Go(func() error {
			if ctx.Err() != nil { // another host has already failed
				return context.Cause(ctx)
			}
			h, err := r.connectHost(ctx, &r.Scenario.Hosts[i])
			if err != nil {
				return err
			}
			if c := h.clock(); c != nil {
				h.firstClock = new(clockReading(c))
			}
			all[i] = h
			return nil
		})
	}
	err := group.Wait()
	for _, h := range all {
		if h != nil {
			r.connectedHosts = append(r.connectedHosts, h)
		}
	}
	return err
}

// maxListedErrors is the maximum number of errors that disconnectHosts reports individually.
const maxListedErrors = 3

// disconnectHosts ends the sessions with the hosts. It returns err, joined with the errors from
// ending the sessions.
func (r *run) disconnectHosts(err error) error {
	errs := make([]error, len(r.connectedHosts))
	var leaving sync.WaitGroup
	for i, h := range r.connectedHosts {
		if h.disconnect != nil {
			leaving.Go(func() { errs[i] = h.disconnect() })
		}
	}
	leaving.Wait()
	more := 0
	for _, failed := range errs {
		reported := joinErrors(err, failed)
		if failed == nil || err != nil && reported.Error() == err.Error() {
			continue // err already contains this error
		}
		if more++; more <= maxListedErrors {
			err = reported
		}
	}
	if more > maxListedErrors {
		err = fmt.Errorf("%w; disconnecting from %s also failed", err, text.Plural(uint64(more-maxListedErrors), "more host"))
	}
	return err
}

// generators returns the hosts that generate a trial's load.
func (r *run) generators(spec *scenario.Trial) []host.Host {
	all := []host.Host{}
	for _, h := range r.findHosts(r.Scenario.WorkerHosts(spec)) {
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
	members, generators := first(r.Scenario.MemberHosts(spec), spec.Cluster.Members), first(r.Scenario.WorkerHosts(spec), max(int(spec.Load.Workers), 1))
	if spec.Cluster.RunningCluster != nil {
		members = nil
	}
	for _, h := range r.connectedHosts {
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

// findHosts returns the connected hosts with the given names.
func (r *run) findHosts(names []string) []*connectedHost {
	out := make([]*connectedHost, len(names))
	for i, name := range names {
		out[i] = r.connectedHosts[slices.IndexFunc(r.connectedHosts, func(h *connectedHost) bool { return h.Name == name })]
	}
	return out
}

// membersOn returns the hosts on which a trial's members are placed.
func (r *run) membersOn(spec *scenario.Trial) (hosts []host.Host) {
	for _, h := range r.findHosts(r.Scenario.MemberHosts(spec)) {
		hosts = append(hosts, h.host)
	}
	if len(hosts) == 0 {
		return []host.Host{r.host}
	}
	return hosts
}

// worker returns the worker that generates the trial's load. It may be a combination of several
// workers. These are placed on the scenario's hosts in turn, or in this process.
func (r *run) worker(spec *scenario.Trial) load.Worker {
	n, on := max(int(spec.Load.Workers), 1), r.findHosts(r.Scenario.WorkerHosts(spec))
	switch {
	case len(on) == 0 && n == 1:
		return &load.Local{Stores: r.Lookup, Script: r.Script}
	case len(on) == 0:
		return load.NewLocals(n, r.Lookup)
	}
	all, workersOf := make(load.Workers, n), map[*connectedHost]int{}
	process := func(i int) *connectedHost { // returns nil for local hosts, whose workers are in this process
		if h := on[i%len(on)]; h.Transport != scenario.TransportLocal {
			return h
		}
		return nil
	}
	for i := range all {
		workersOf[process(i)]++
	}
	for i := range all {
		h := on[i%len(on)]
		all[i] = load.NamedWorker{Worker: h.worker(), Name: fmt.Sprintf("w%d on %s", i+1, h.Name), OtherWorkers: workersOf[process(i)] - 1}
	}
	return all
}

// hostName returns the scenario's name for a host, or "" if the host is not in the scenario.
func (r *run) hostName(of host.Host) string {
	for _, h := range r.connectedHosts {
		if h.host == of {
			return h.Name
		}
	}
	return ""
}

// recordedHosts returns the hosts for the record. If ended is set, the records include the states
// of the hosts' clocks.
func (r *run) recordedHosts(ended bool) (all []record.Host) {
	for _, h := range r.connectedHosts {
		one := record.Host{Name: h.Name, Address: h.Address, Via: h.Transport.String(), Machine: r.descriptions[h.host].Machine.Name}
		if ended {
			one.Clock = h.recordedClock()
		}
		all = append(all, one)
	}
	return all
}

// describeHosts asks every host for its description. It returns each machine once, beginning with
// the machine of this process.
func (r *run) describeHosts(ctx context.Context) ([]measure.Machine, error) {
	r.descriptions = map[host.Host]host.Description{}
	var places []host.Place
	var machines []measure.Machine
	hosts := []host.Host{r.host}
	for _, h := range r.connectedHosts {
		hosts = append(hosts, h.host)
	}
	all := make([]host.Description, len(hosts))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxConcurrentDials)
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
		r.descriptions[h] = d
		if !slices.ContainsFunc(places, d.Place.SameMachine) {
			places, machines = append(places, d.Place), append(machines, d.Machine)
		}
	}
	return machines, nil
}
