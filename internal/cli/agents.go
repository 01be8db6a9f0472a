package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/run/agent"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// agents are those of a run's hosts.
type agents struct {
	certs   string // the folder of "agent certs"; empty for none
	remotes []*agent.Remote
}

// check refuses a scenario with agents that no certificate was given for, and
// certificates that none needs.
func (a *agents) check(s *scenario.Scenario) error {
	needed := ""
	for i := range s.Hosts {
		if h := &s.Hosts[i]; h.Via == scenario.ViaAgent && !h.Unix() {
			needed = h.Name
		}
	}
	switch {
	case needed != "" && a.certs == "":
		return command.Usage("--agent-certs is missing: the folder with ca.crt, controller.crt and controller.key, for the agent of host %s", needed)
	case needed == "" && a.certs != "":
		return command.Usage("--agent-certs is for hosts that are reached via agent, and the scenario has none")
	}
	return nil
}

// dial begins a session with a host's agent.
func (a *agents) dial(ctx context.Context, h *scenario.Host) (*agent.Remote, error) {
	to := agent.Target{Name: h.Name, Address: h.Address, Version: agentVersion()}
	if !h.Unix() {
		to.CACert, to.Cert, to.Key = filepath.Join(a.certs, "ca.crt"), filepath.Join(a.certs, "controller.crt"), filepath.Join(a.certs, "controller.key")
	}
	r, err := agent.Dial(ctx, to)
	if err == nil {
		a.remotes = append(a.remotes, r)
	}
	return r, err
}

// clocks is a sentence about each agent's clock.
func (a *agents) clocks() (lines []string) {
	for _, r := range a.remotes {
		o := r.Offset()
		way := "ahead of"
		if o.Ahead < 0 {
			way = "behind"
		}
		line := fmt.Sprintf("the clock of agent %s was %v %s ours, to within %v; what it reported is corrected by that", r.Name(), o.Ahead.Abs().Round(time.Microsecond), way, o.Bound.Round(time.Microsecond))
		if o.Jumps > 0 {
			line += fmt.Sprintf(", and by the offset of before up to where the clock was set; it moved by %v", o.Moved.Round(time.Microsecond))
		}
		lines = append(lines, line)
	}
	return lines
}
