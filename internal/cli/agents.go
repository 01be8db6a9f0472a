package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/run/agent"
	"github.com/quorumbench/quorumbench/internal/run/agent/overssh"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/text"
)

// agents holds the sessions with the agents of a run's hosts.
type agents struct {
	certs  string         // folder that "agent certs" made; empty for none
	access overssh.Access // for hosts reached via ssh
	say    func(format string, args ...any)

	mu      sync.Mutex
	remotes map[*scenario.Host]*agent.Remote
	hosts   []scenario.Host // hosts of the scenario
}

// check returns a usage error if the scenario's agents need certificates that are not given, or if
// flags for agents or ssh are given and no host uses them.
func (a *agents) check(s *scenario.Scenario) error {
	needed, overSSH := "", false
	for i := range s.Hosts {
		h := &s.Hosts[i]
		overSSH = overSSH || h.Via == scenario.ViaSSH
		if h.Via == scenario.ViaAgent && !h.Unix() {
			needed = h.Name
		}
	}
	switch {
	case needed != "" && a.certs == "":
		return command.Usage("--agent-certs is missing: the folder with ca.crt, controller.crt and controller.key, for the agent of host %s", needed)
	case needed == "" && a.certs != "":
		return command.Usage("--agent-certs is for hosts that are reached via agent, and the scenario has none")
	case a.access != overssh.Access{} && !overSSH:
		return command.Usage("--ssh-identity, --ssh-known-hosts and --ssh-config are for hosts that are reached via ssh, and the scenario has none")
	}
	return nil
}

// dial begins a session with the agent of a host. It is called concurrently for several hosts.
func (a *agents) dial(ctx context.Context, h *scenario.Host) (*agent.Remote, error) {
	to := agent.Target{Name: h.Name, Address: h.Address, Version: agentVersion()}
	switch {
	case h.Via == scenario.ViaSSH:
		way, err := a.overSSH(ctx, h)
		if err != nil {
			return nil, err
		}
		to.Way = way
	case !h.Unix():
		to.CACert, to.Cert, to.Key = filepath.Join(a.certs, "ca.crt"), filepath.Join(a.certs, "controller.crt"), filepath.Join(a.certs, "controller.key")
	}
	return a.keep(h)(agent.Dial(ctx, to))
}

// keep returns a function that passes the result of a dial on and remembers the host's agent.
func (a *agents) keep(h *scenario.Host) func(*agent.Remote, error) (*agent.Remote, error) {
	return func(r *agent.Remote, err error) (*agent.Remote, error) {
		if err == nil {
			a.mu.Lock()
			defer a.mu.Unlock()
			if a.remotes == nil {
				a.remotes = map[*scenario.Host]*agent.Remote{}
			}
			a.remotes[h] = r
		}
		return r, err
	}
}

// overSSH starts an agent on a host over ssh.
func (a *agents) overSSH(ctx context.Context, h *scenario.Host) (*overssh.Machine, error) {
	user, at, err := h.SSH()
	if err != nil {
		return nil, err
	}
	self, err := command.Self()
	if err != nil {
		return nil, err
	}
	return overssh.Reach(ctx, overssh.Target{
		Name: h.Name, User: user, Address: at, Dir: h.Dir, Binary: self, Access: a.access,
		Copying: func(bytes int64) {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.say("copying quorumbench (%s) to host %s", text.Mebibytes(bytes), h.Name)
		},
	})
}

// inPods returns the dial function for hosts that are pods.
func (a *agents) inPods(p *pods) func(context.Context, *scenario.Host) (*agent.Remote, error) {
	return func(ctx context.Context, h *scenario.Host) (*agent.Remote, error) {
		return a.keep(h)(p.dial(ctx, h))
	}
}

// clocks returns a sentence about each agent's clock.
func (a *agents) clocks() (lines []string) {
	for i := range a.hosts {
		r := a.remotes[&a.hosts[i]]
		if r == nil {
			continue
		}
		o := r.Offset()
		way := "ahead of"
		if o.Ahead < 0 {
			way = "behind"
		}
		line := fmt.Sprintf("the clock of agent %s was %v %s this machine's (± %v); the times that it reported are corrected", r.Name(), o.Ahead.Abs().Round(time.Microsecond), way, o.Bound.Round(time.Microsecond))
		if o.Jumps > 0 {
			line += fmt.Sprintf("; the clock was set %s and moved by %v in total, and times before each step are corrected by the earlier offset", text.Plural(uint64(o.Jumps), "time"), o.Moved.Round(time.Microsecond))
		}
		lines = append(lines, line)
	}
	return lines
}
