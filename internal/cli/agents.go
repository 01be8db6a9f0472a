package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/run/agent"
	"github.com/quorumbench/quorumbench/internal/run/load"
	"github.com/quorumbench/quorumbench/internal/run/runner"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// place is an agent as flags name it.
type place struct{ name, address string }

// placesFlags say on which agents a run's members and load are.
type placesFlags struct {
	members, load []place
	certs         string
}

func (f *placesFlags) register(r command.Flags) {
	command.Repeated(r, "agent", &f.members, "NAME=ADDR", parsePlace, "place members on this agent, on several in turn; ADDR is HOST:PORT or unix:PATH")
	command.Repeated(r, "load-agent", &f.load, "NAME=ADDR", parsePlace, "generate the load on this agent instead of here, on several together")
	r.Text("agent-certs", &f.certs, "DIR", "the folder with the certificates of \"quorumbench agent certs\"")
}

// parsePlace reads NAME=ADDR.
func parsePlace(s string) (place, error) {
	name, address, ok := strings.Cut(s, "=")
	if !ok || name == "" || address == "" {
		return place{}, fmt.Errorf("%q is no agent; write NAME=HOST:PORT", s)
	}
	return place{name, address}, nil
}

// check says what is wrong with the flags.
func (f *placesFlags) check() error {
	all := append(slices.Clone(f.members), f.load...)
	for i, p := range all {
		for _, other := range all[:i] {
			if (p.name == other.name) != (p.address == other.address) {
				return command.Usage("--agent: %s=%s and %s=%s are one agent with two names, or two with one", other.name, other.address, p.name, p.address)
			}
		}
		if !agent.IsUnix(p.address) && f.certs == "" {
			return command.Usage("--agent-certs is missing: the folder with ca.crt, controller.crt and controller.key")
		}
	}
	if len(all) == 0 && f.certs != "" {
		return command.Usage("--agent-certs is for --agent and --load-agent")
	}
	return nil
}

// suits refuses a scenario that says itself how many generate the load.
func (f *placesFlags) suits(s *scenario.Scenario) error {
	for i := range s.Trials {
		if l := &s.Trials[i].Load; len(f.load) > 0 && l.Workers > 1 {
			return command.Usage("trial %s has %d workers, and --load-agent says who generates the load; give one of them", s.Trials[i].Name, l.Workers)
		}
	}
	return nil
}

// places are the agents of a run.
type places struct {
	remotes []*agent.Remote
	of      map[place]*agent.Remote
}

// reach begins a session with each agent, and places the run there.
func (f *placesFlags) reach(ctx context.Context, o *runner.Options) (*places, error) {
	p := &places{of: map[place]*agent.Remote{}}
	for _, one := range append(slices.Clone(f.members), f.load...) {
		if p.of[one] != nil {
			continue
		}
		to := agent.Target{Name: one.name, Address: one.address, Version: agentVersion()}
		if !agent.IsUnix(one.address) {
			to.CACert, to.Cert, to.Key = filepath.Join(f.certs, "ca.crt"), filepath.Join(f.certs, "controller.crt"), filepath.Join(f.certs, "controller.key")
		}
		r, err := agent.Dial(ctx, to)
		if err != nil {
			return nil, errors.Join(err, p.leave())
		}
		p.of[one], p.remotes = r, append(p.remotes, r)
	}
	for _, one := range f.members {
		o.Hosts = append(o.Hosts, p.of[one].Host())
	}
	var workers load.Workers
	for _, one := range f.load {
		workers = append(workers, load.Named{Worker: p.of[one].Worker(), Name: one.name})
	}
	if len(workers) > 0 {
		o.Worker = workers
	}
	return p, nil
}

// leave ends the sessions, and with them what is left of the run.
func (p *places) leave() error {
	var errs []error
	for _, r := range p.remotes {
		errs = append(errs, r.Close())
	}
	return errors.Join(errs...)
}

// clocks is a sentence about each agent's clock.
func (p *places) clocks() (lines []string) {
	for _, r := range p.remotes {
		o := r.Offset()
		line := fmt.Sprintf("the clock of agent %s was %v ahead of ours, to within %v; its times were corrected by that", r.Name(), o.Ahead.Round(time.Microsecond), o.Bound.Round(time.Microsecond))
		if o.Jumps > 0 {
			line += fmt.Sprintf(", and it moved by %v meanwhile", o.Moved.Round(time.Microsecond))
		}
		lines = append(lines, line)
	}
	return lines
}
