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

// agents holds the sessions with the agents on the hosts of a run.
type agents struct {
	certs  string         // folder that "agent certs" created; empty if not given
	access overssh.Access // for hosts reached via ssh
	logf   func(format string, args ...any)

	mu      sync.Mutex
	remotes map[*scenario.Host]*agent.Remote
	hosts   []scenario.Host // hosts of the scenario
}

// registerSSH registers the flags for hosts that are reached via ssh.
func (a *agents) registerSSH(r command.Flags) {
	r.Text("ssh-identity", &a.access.Identity, "FILE", "for hosts reached via ssh: private key to use instead of the keys in the ssh agent and in ~/.ssh")
	r.Text("ssh-known-hosts", &a.access.KnownHosts, "FILE", "for hosts reached via ssh: file with the hosts' public keys, instead of ~/.ssh/known_hosts")
	r.Text("ssh-config", &a.access.Config, "FILE", "for hosts reached via ssh: configuration file, instead of ~/.ssh/config; \"none\" for no file")
}

// check returns a usage error in two cases: an agent on one of the hosts needs certificates but
// none are given, or flags for agents or ssh are given but no host uses them.
func (a *agents) check(hosts []scenario.Host) error {
	needed, overSSH := "", false
	for i := range hosts {
		h := &hosts[i]
		overSSH = overSSH || h.Transport == scenario.TransportSSH
		if h.Transport == scenario.TransportAgent && !h.UsesUnixSocket() {
			needed = h.Name
		}
	}
	switch {
	case needed != "" && a.certs == "":
		return command.Usage("--agent-certs is missing, but the agent on host %s requires certificates; give the folder that contains ca.crt, controller.crt and controller.key", needed)
	case needed == "" && a.certs != "":
		return command.Usage("--agent-certs is only for hosts that are reached via agent, but there is no such host; omit --agent-certs")
	case a.access != overssh.Access{} && !overSSH:
		return command.Usage("--ssh-identity, --ssh-known-hosts and --ssh-config are only for hosts that are reached via ssh, but there is no such host; omit them")
	}
	return nil
}

// dial starts a session with the agent on a host. It may be called concurrently for different
// hosts.
func (a *agents) dial(ctx context.Context, h *scenario.Host) (*agent.Remote, error) {
	target := agent.Target{Name: h.Name, Address: h.Address, Version: agentVersion()}
	switch {
	case h.Transport == scenario.TransportSSH:
		direction, err := a.overSSH(ctx, h)
		if err != nil {
			return nil, err
		}
		target.Transport = direction
	case !h.UsesUnixSocket():
		target.CACert, target.Cert, target.Key = filepath.Join(a.certs, "ca.crt"), filepath.Join(a.certs, "controller.crt"), filepath.Join(a.certs, "controller.key")
	}
	return a.storeRemote(h)(agent.Dial(ctx, target))
}

// storeRemote returns a function that takes the result of a dial. If the dial succeeded, the
// function stores the agent. It returns the result unchanged.
func (a *agents) storeRemote(h *scenario.Host) func(*agent.Remote, error) (*agent.Remote, error) {
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
	user, at, err := h.SSHAddress()
	if err != nil {
		return nil, err
	}
	self, err := command.Self()
	if err != nil {
		return nil, err
	}
	return overssh.Reach(ctx, overssh.Target{
		Name: h.Name, User: user, Address: at, Dir: h.Dir, Binary: self, Access: a.access,
		OnCopy: func(bytes int64) {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.logf("copying quorumbench (%s) to host %s", text.Bytes(uint64(bytes)), h.Name)
		},
	})
}

// inPods returns the dial function for hosts that are Kubernetes pods.
func (a *agents) inPods(p *pods) func(context.Context, *scenario.Host) (*agent.Remote, error) {
	return func(ctx context.Context, h *scenario.Host) (*agent.Remote, error) {
		return a.storeRemote(h)(p.dial(ctx, h))
	}
}

// clocks returns one sentence per agent that states the offset between the agent's clock and this
// machine's clock.
func (a *agents) clocks() (lines []string) {
	for i := range a.hosts {
		r := a.remotes[&a.hosts[i]]
		if r == nil {
			continue
		}
		o := r.Offset()
		direction := "ahead of"
		if o.Ahead < 0 {
			direction = "behind"
		}
		line := fmt.Sprintf("the clock of agent %s was %v %s this machine's clock (± %v); the times that this agent reported have been corrected", r.Name(), o.Ahead.Abs().Round(time.Microsecond), direction, o.Bound.Round(time.Microsecond))
		if o.Jumps > 0 {
			line += fmt.Sprintf("; the agent's clock was changed %s, by %v in total, and times before each change have been corrected with the offset that was valid before that change", text.Plural(uint64(o.Jumps), "time"), o.ChangeSinceFirst.Round(time.Microsecond))
		}
		lines = append(lines, line)
	}
	return lines
}
