//go:build linux

package e2e_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/host/network"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

const networkFaultsScenario = `
name: links
defaults: {STORE, connections: 3, clients: 6, key-space: 60, timeout: 5s, warmup: 300ms}
trials:
  - {name: first, mix: {put: 1, get: 1}, duration: DURATION, faults: [FAULTS]}
`

// linkFaults lists all network faults, in the order in which a test injects them. someOf lists, for
// each store, the faults that CI injects; a long test injects all faults.
var (
	linkFaults = []string{
		"isolate leader", "isolate follower direction in", "split leader", "bridge follower", "blackhole leader from clients", "blackhole follower",
		"delay leader by 50ms", "loss all by 5%", "reorder all by 10%", "slow-link follower to 200KB/s",
	}
	someOf = map[string][]string{
		"etcd":      {"isolate leader"},
		"zookeeper": {"blackhole leader"},
		"consul":    {"loss all by 5%"},
	}
)

// On every store, network faults can be injected and healed. After each fault the cluster is
// complete again. The verdict does not count the injected faults against the trial. At the end,
// nothing remains of the members' networks.
func TestNetworkFaults(t *testing.T) {
	t.Parallel()
	if err := network.CheckSupport(); err != nil {
		t.Skip(err)
	}
	all := settle.Long()
	suits := func(st store.Store) bool { return all || len(someOf[st.Name()]) > 0 }
	eachStore(t, suits, func(t *testing.T, st store.Store, exec string) {
		faults := linkFaults
		if !all {
			faults = someOf[st.Name()]
		}
		w, attempt := newWorld(t), 0
		settle.RetryMeasurement(t, func(r settle.Reporter) {
			attempt++
			dir := w.path(fmt.Sprintf("run%d", attempt))
			w.run(t, "run", w.file(t, "links.yaml", withStore(linksScenario(faults), st, exec)), "--out", dir).exits(t, exitDone)
			trial := byName(t, openRun(t, dir, record.Complete), "first")
			if len(trial.Faults) != len(faults) {
				t.Fatalf("the faults are %+v", trial.Faults)
			}
			for _, f := range trial.Faults {
				t.Logf("%+v", f)
				if f.Failure != "" || f.BeganAt == nil || f.HealedAt == nil || f.RecoveredAt == nil {
					r.Errorf("the fault had no effect: %+v", f)
				}
			}
			for _, number := range []int{1, 2, 3, 4, 11, 13, 14, 18, 31} {
				if why := rule(trial, number); why != "" {
					r.Errorf("the verdict has a reason that should be absent: %s", why)
				}
			}
			nothingLeft(t, w, addressOf(t, dir))
		})
	})
}

// linksScenario returns a scenario that injects the faults one after the other, with enough time
// between them for elections.
func linksScenario(faults []string) string {
	var timed []string
	for i, f := range faults {
		timed = append(timed, fmt.Sprintf("%s at %ds for 1500ms", f, 1+5*i))
	}
	return strings.NewReplacer("DURATION", fmt.Sprintf("%ds", 5*len(faults)), "FAULTS", strings.Join(timed, ", ")).Replace(networkFaultsScenario)
}

// addressOf returns the address of one member of a run's cluster.
func addressOf(t *testing.T, dir string) net.IP {
	t.Helper()
	run, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(run.Clusters) == 0 {
		return nil
	}
	address, _, err := net.SplitHostPort(run.Clusters[0].Members[0].Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	return net.ParseIP(address)
}

// nothingLeft waits until the world has no process and this machine has no address in the members'
// network.
func nothingLeft(t *testing.T, w *world, member net.IP) {
	t.Helper()
	eventually(t, patience, "the processes ended", func() bool { return len(w.processes()) == 0 })
	eventually(t, patience, "the members' network went away", func() bool {
		all, err := net.InterfaceAddrs()
		return err == nil && !slices.ContainsFunc(all, func(a net.Addr) bool {
			subnet, ok := a.(*net.IPNet)
			return ok && subnet.Contains(member)
		})
	})
}

// If the user has no permission to create networks, the command fails before it starts anything.
func TestNetworkFaultsWithoutPermissionAreRefused(t *testing.T) {
	t.Parallel()
	if err := network.CheckSupport(); err != nil {
		t.Skip(err)
	}
	w := newWorld(t)
	file := w.file(t, "cut.yaml", "trials: [{store: etcd, operation: put, duration: 5s, faults: [isolate leader at 1s for 1s]}]")
	setpriv, err := exec.LookPath("setpriv")
	if err != nil {
		t.Skip("dropping privileges needs setpriv, which is missing: install Debian's util-linux")
	}
	p := w.startWith(t, setpriv, "--bounding-set", "-net_admin,-sys_admin", os.Getenv(binaryEnv), "run", file, "--out", w.path("run"))
	p.exits(t, exitFailed).oneSentence(t, "require root")
	if _, err := os.Stat(w.path("run")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the program created a run directory: %v", err)
	}
}
