//go:build linux

// Command hostsdemo runs scenarios/hosts-demo.yaml on this machine. It creates a network namespace
// for each host of the scenario, starts an agent on each host, and runs "quorumbench run" in a
// separate namespace. docs/how-to/many-machines.md shows how to use it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store/registry"
	"github.com/quorumbench/quorumbench/internal/testing/hosts"
)

func main() {
	scenarioFile := flag.String("scenario", "scenarios/hosts-demo.yaml", "path of the scenario; hostsdemo creates its hosts")
	program := flag.String("program", "bin/quorumbench", "path of the quorumbench binary, which runs the scenario and the agents on its hosts")
	flag.Parse()
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	var err error
	if hosts.IsRestarted() {
		err = demo(*program, *scenarioFile, flag.Args(), signals)
	} else {
		err = restart(signals)
	}
	var ended *exec.ExitError
	// The program that ended with this exit code has already printed the reason.
	if errors.As(err, &ended) && ended.ExitCode() > 0 {
		os.Exit(ended.ExitCode())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "hostsdemo:", err)
		os.Exit(1)
	}
}

// restart runs this program again, in a namespace in which the program can create hosts.
func restart(signals <-chan os.Signal) error {
	c := hosts.RestartCommand(context.Background(), os.Args[1:]...)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := runWithSignals(c, signals)
	if refused := hosts.ExplainRefusal(err); refused != nil {
		return refused
	}
	return err
}

// runWithSignals runs a program until it ends. If a signal arrives, runWithSignals asks the program
// to end.
func runWithSignals(c *exec.Cmd, signals <-chan os.Signal) error {
	c.Cancel = nil
	if err := c.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	for {
		select {
		case s := <-signals:
			// After Ctrl-C, the terminal itself sends SIGINT to all processes in the group. So only
			// SIGTERM must be forwarded.
			if s == syscall.SIGTERM {
				_ = c.Process.Signal(s)
			}
		case err := <-ended:
			return err
		}
	}
}

// demo creates the hosts and runs the scenario on them.
func demo(program, file string, flags []string, signals <-chan os.Signal) (err error) {
	dir, err := os.MkdirTemp("", "quorumbench-hosts-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if program, err = filepath.Abs(program); err != nil {
		return err
	}
	file, execFlags, err := withAvailableStores(file, dir)
	if err != nil {
		return err
	}
	s, err := scenario.ParseFile(file, registry.Catalog{}, scenario.Options{})
	if err != nil {
		return err
	}
	places, err := hostPlaces(s)
	if err != nil {
		return err
	}
	n, err := hosts.New(places...)
	if err != nil {
		return err
	}
	defer n.Close()
	agents, err := n.Agents(program, dir, os.Stderr, execFlags...)
	if err != nil {
		return err
	}
	for _, a := range agents {
		fmt.Fprintf(os.Stderr, "hostsdemo: host %s has an agent at %s\n", a.Name, a.Target())
	}
	select {
	case <-signals: // a signal arrived before the run started
		return errors.Join(errors.New("interrupted"), hosts.Stop(agents))
	default:
	}
	c := exec.Command(program, append([]string{"run", "--agent-certs", filepath.Join(dir, "certs"), file}, flags...)...)
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	return errors.Join(runWithSignals(c, signals), hosts.Stop(agents))
}

// cetcd is the entry in the scenario for the only server that quorumbench cannot install. cetcdEnv
// is the environment variable with the path of this server.
const (
	cetcd    = ", {name: cetcd, exec: bin/cetcd}"
	cetcdEnv = "QUORUMBENCH_CETCD"
)

// withAvailableStores writes a copy of the scenario with the stores that are available on this
// machine. It omits cetcd if cetcd's binary is missing. It also returns the flags that allow the
// agents to start the stores.
func withAvailableStores(file, dir string) (path string, flags []string, err error) {
	text, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(text), cetcd) {
		return file, nil, err
	}
	binary := "bin/cetcd"
	if named := os.Getenv(cetcdEnv); named != "" {
		binary = named
	}
	replacement := ""
	if _, err := os.Stat(binary); err == nil {
		if binary, err = filepath.Abs(binary); err != nil {
			return "", nil, err
		}
		replacement, flags = fmt.Sprintf(", {name: cetcd, exec: %q}", binary), []string{"--exec", binary}
	} else {
		fmt.Fprintf(os.Stderr, "hostsdemo: cetcd is left out, because its binary is missing: build it as described in docs/reference/commands.md (stores), and write it to bin/cetcd or to the path in %s\n", cetcdEnv)
	}
	path = filepath.Join(dir, filepath.Base(file))
	return path, flags, os.WriteFile(path, []byte(strings.ReplaceAll(string(text), cetcd, replacement)), 0o600)
}

// hostPlaces returns the names and addresses of the scenario's hosts.
func hostPlaces(s *scenario.Scenario) (all []hosts.HostAddress, err error) {
	for i := range s.Hosts {
		h := &s.Hosts[i]
		ip, port, err := net.SplitHostPort(h.Address)
		if h.Transport != scenario.TransportAgent || err != nil || port != hosts.Port || slices.ContainsFunc(all, func(p hosts.HostAddress) bool { return p.Address == ip }) {
			return nil, fmt.Errorf("host %s of the scenario must have an agent at a separate address, port %s", h.Name, hosts.Port)
		}
		all = append(all, hosts.HostAddress{Name: h.Name, Address: ip})
	}
	if len(all) == 0 {
		return nil, errors.New("the scenario has no hosts")
	}
	return all, nil
}
