//go:build linux

package e2e_test

import (
	"bufio"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/run/host/disk"
	"github.com/quorumbench/quorumbench/internal/run/host/network"
	"github.com/quorumbench/quorumbench/internal/testing/hosts"
)

// hostsCheck contains the fields of `check hosts --format json` that the test reads.
type hostsCheck struct {
	Stores []struct {
		Store, State string
		Rules        []struct {
			Rule, State string
			Where       []string
			Slow        struct{ Value float64 } `json:"slow_share"`
		}
		Settings []struct{ Name, Value string }
	}
	Hosts []struct {
		Name       string
		ClockBound *float64 `json:"clock_bound_seconds"`
	}
	Pairs []struct {
		From, To string
		Trips    int     `json:"round_trips"`
		Mean     float64 `json:"mean_seconds"`
	}
}

// spaces starts an agent in each of three network namespaces, and returns the agents' targets. The
// links from db3 to the other hosts delay packets. This does not need the kernel's netem.
func (w *world) spaces(t *testing.T, delay time.Duration) (targets []string) {
	t.Helper()
	names := []string{"db1", "db2", "db3"}
	n, err := network.Start(t.Context(), os.Getenv(binaryEnv), names)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(n.Close)
	slow := network.Link{Delay: delay}
	if err := n.Set(t.Context(), []network.Fault{{From: "db3", To: "db1", Link: slow}, {From: "db3", To: "db2", Link: slow}}); err != nil {
		t.Fatal(err)
	}
	var addresses []string
	for i := range names {
		addresses = append(addresses, n.Space(i).Address())
	}
	w.run(t, "agent", "certs", "--hosts", strings.Join(addresses, ","), "--dir", w.path("certs")).exits(t, exitDone)
	for i, name := range names {
		targets = append(targets, net.JoinHostPort(addresses[i], hosts.Port))
		cert := w.path("certs", addresses[i])
		c := exec.Command(os.Getenv(binaryEnv), "agent", "--listen", targets[i], "--dir", w.path(name),
			"--ca", w.path("certs", "ca.crt"), "--cert", cert+".crt", "--key", cert+".key")
		c.Env = w.env
		out, err := c.StdoutPipe()
		if err == nil {
			err = n.Space(i).Run(c.Start)
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = c.Process.Signal(syscall.SIGTERM)
			if err := c.Wait(); err != nil {
				t.Errorf("the agent on %s ended with %v", name, err)
			}
		})
		if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || strings.TrimSpace(line) != targets[i] {
			t.Fatalf("the agent on %s listens at %q: %v", name, line, err)
		}
	}
	return targets
}

// fastDisk mounts a simulated disk in a host's folder. Its files are in memory, so that other
// writes to this machine's disk do not affect the simulated disk. Each sync takes the given
// additional time.
func (w *world) fastDisk(t *testing.T, name string, delay time.Duration) {
	t.Helper()
	memory, err := os.MkdirTemp("/dev/shm", "quorumbench-test-")
	if err != nil {
		t.Skip("this machine has no folder in memory: ", err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(memory) })
	at := filepath.Join(memory, name)
	if err := os.Mkdir(at, 0o700); err != nil {
		t.Fatal(err)
	}
	d, err := disk.Start(t.Context(), os.Getenv(binaryEnv), at)
	if err != nil {
		t.Skip("a disk cannot be simulated on this machine: ", err)
	}
	t.Cleanup(d.Close)
	if err := d.Set(t.Context(), disk.Faults{SyncDelay: delay}); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(at, w.path(name)); err != nil {
		t.Fatal(err)
	}
}

// Three hosts in network namespaces are checked: one has a slow disk, and one a slow network. The
// verdict names both, the recommended settings follow from the network, and nothing remains, also
// after Ctrl-C.
func TestCheckHosts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const added, slow = 80 * time.Millisecond, 30 * time.Millisecond
	for name, delay := range map[string]time.Duration{"db1": 0, "db2": slow, "db3": 0} {
		w.fastDisk(t, name, delay)
	}
	targets := w.spaces(t, added)
	args := []string{"check", "hosts", "--hosts", "agent:" + strings.Join(targets, ",agent:"), "--agent-certs", w.path("certs"), "--format", "json"}

	p := w.run(t, append(args, "--duration", "40s")...)
	var c hostsCheck
	if err := json.Unmarshal([]byte(p.stdout.String()), &c); err != nil {
		t.Fatalf("%v: %s", err, p.stdout.String())
	}
	p.exits(t, exitFailed)
	for i, rule := range c.Stores[0].Rules[:3] {
		if c.Stores[0].Store != "etcd" || rule.Rule != "disk" || rule.Where[0] != c.Hosts[i].Name || c.Hosts[i].ClockBound == nil {
			t.Errorf("the rule for %s on host %d is %+v, and the clock bound is %v", c.Stores[0].Store, i, rule, c.Hosts[i].ClockBound)
		}
		// A busy machine delays some writes on every host.
		if bad := i == 1; bad && (rule.State != "fail" || rule.Slow.Value < 0.99) || !bad && rule.Slow.Value > 0.5 {
			t.Errorf("the rule about the disk of host %d is %+v", i, rule)
		}
	}
	if len(c.Pairs) != 3 {
		t.Errorf("the check measured %d pairs of hosts, want 3", len(c.Pairs))
	}
	for _, pair := range c.Pairs {
		far := pair.From == c.Hosts[2].Name || pair.To == c.Hosts[2].Name
		if pair.Trips < 50 || far != (pair.Mean >= added.Seconds()) {
			t.Errorf("%+v", pair)
		}
	}
	settings := c.Stores[0].Settings
	if len(settings) != 2 || settings[0].Name != "heartbeat-interval" {
		t.Fatalf("the suggested settings are %+v", settings)
	}
	if beat, err := time.ParseDuration(settings[0].Value); err != nil || beat < added+slow {
		t.Errorf("the suggested settings are %+v", settings)
	}
	for _, s := range c.Stores {
		for _, rule := range s.Rules {
			if s.Store == "consul" && rule.Rule == "mean round trip" && (rule.State != "fail" || len(rule.Where) != 2) {
				t.Errorf("the rule for Consul is %+v", rule)
			}
		}
	}
	w.noData(t)

	p = w.start(t, args...)
	p.awaitText(t, "writing at most ")
	if err := syscall.Kill(p.pid, syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	p.exits(t, exitInterrupted)
	w.noData(t)
}

// noData tests that the hosts' folders contain no file of a check.
func (w *world) noData(t *testing.T) {
	t.Helper()
	for _, pattern := range []string{w.path("db?", "quorumbench-data-*"), w.path("db?", "*", "quorumbench-data-*")} {
		if left, _ := filepath.Glob(pattern); len(left) > 0 {
			t.Errorf("the check left these files: %v", left)
		}
	}
}
