//go:build linux

package hosts

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// Port is the port on which every agent listens, at its host's address.
const Port = "7420"

// Agent is a "quorumbench agent" process that runs on a host.
type Agent struct {
	*Host
	Dir     string // the folder in which the agent may write
	Process *os.Process
	Ended   chan struct{}
	state   *os.ProcessState // set after the process has ended
}

// Target is the agent's HOST:PORT.
func (a *Agent) Target() string { return a.Address + ":" + Port }

// Agents creates certificates in DIR/certs and starts an agent with the given flags on each host.
// The agent on host NAME may write in the folder DIR/NAME. The agents write their error output to
// the writer `output`. Agents returns when all agents listen.
func (n *Network) Agents(program, dir string, output io.Writer, flags ...string) ([]*Agent, error) {
	addresses := make([]string, len(n.Hosts))
	for i, h := range n.Hosts {
		addresses[i] = h.Address
	}
	certs := filepath.Join(dir, "certs")
	if out, err := exec.Command(program, "agent", "certs", "--hosts", strings.Join(addresses, ","), "--dir", certs).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("there are no certificates: %s: %s", err.Error(), out)
	}
	var all []*Agent
	for _, h := range n.Hosts {
		a, err := h.agent(program, certs, filepath.Join(dir, h.Name), output, flags)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("the agent on %s does not start: %w", h.Name, err), Stop(all))
		}
		all = append(all, a)
	}
	return all, nil
}

func (h *Host) agent(program, certs, dir string, output io.Writer, flags []string) (*Agent, error) {
	a := &Agent{Host: h, Dir: dir, Ended: make(chan struct{})}
	c := exec.Command(program, append([]string{
		"agent", "--listen", a.Target(), "--dir", dir, "--ca", filepath.Join(certs, "ca.crt"),
		"--cert", filepath.Join(certs, h.Address+".crt"), "--key", filepath.Join(certs, h.Address+".key"),
	}, flags...)...)
	c.Stderr = output
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := h.Start(c); err != nil {
		return nil, err
	}
	a.Process = c.Process
	line, err := bufio.NewReader(out).ReadString('\n')
	go func() {
		_ = c.Wait() // c.ProcessState has the result
		a.state = c.ProcessState
		close(a.Ended)
	}()
	if err == nil && strings.TrimSpace(line) != a.Target() {
		err = fmt.Errorf("it listens at %q", line)
	}
	if err != nil {
		_ = a.Process.Kill()
		<-a.Ended
	}
	return a, err
}

// Stop asks the agents to end and waits until they have ended. It returns an error that lists the
// agents that failed. The list excludes agents that had ended before the call.
func Stop(all []*Agent) (err error) {
	var running []*Agent
	for _, a := range all {
		select {
		case <-a.Ended:
		default:
			running = append(running, a)
			_ = a.Process.Signal(syscall.SIGTERM)
		}
	}
	for _, a := range running {
		if <-a.Ended; !a.state.Success() {
			err = errors.Join(err, fmt.Errorf("the agent on %s ended with %v", a.Name, a.state))
		}
	}
	return err
}
