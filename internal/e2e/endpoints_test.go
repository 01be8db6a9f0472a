//go:build linux

package e2e_test

import (
	"encoding/json"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/quorumbench/quorumbench/internal/testservers"
)

// upCluster starts a cluster of a store with `cluster up`, which ends with the test, and
// returns its endpoints and the process of each member.
func (w *world) upCluster(t *testing.T, name, members string) (endpoints []string, pids []int) {
	t.Helper()
	dir, err := os.MkdirTemp(w.dir, "up-"+name+"-")
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(dir, "cluster")
	up := w.run(t, "cluster", "up", "--store", name, "--dir", dir, "--members", members).exits(t, exitDone)
	t.Cleanup(func() { w.run(t, "cluster", "down", "--dir", dir).exits(t, exitDone) })
	line, _, _ := strings.Cut(up.stdout.String(), "\n")
	var state struct {
		Members []struct{ Process struct{ Pid int } }
	}
	text, err := os.ReadFile(filepath.Join(dir, "quorumbench-cluster.json"))
	if err == nil {
		err = json.Unmarshal(text, &state)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range state.Members {
		pids = append(pids, m.Process.Pid)
	}
	return strings.Split(line, ","), pids
}

// realStores are the stores with members of their own.
var realStores = []string{"etcd", "zookeeper", "consul"}

// TestTwoClustersAreNotTakenForOne gives the endpoints of two clusters: the command refuses
// them before the load and names both.
func TestTwoClustersAreNotTakenForOne(t *testing.T) {
	for _, name := range realStores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			if name != "etcd" {
				w.installed(t, name, "")
			}
			a, _ := w.upCluster(t, name, "1")
			b, _ := w.upCluster(t, name, "1")
			both := a[0] + "," + b[0]
			commands := [][]string{
				{"bench", "put", "--total", "10"}, {"bench", "get", "--total", "10", "--target", "all"}, {"check", "perf"},
				{"capacity", "--objective", "p99<1s"},
			}
			if name == "zookeeper" { // a standalone server next to a member of an ensemble
				three, _ := w.upCluster(t, name, "3")
				commands = append(commands, []string{"bench", "put", "--total", "10", "--endpoints", a[0] + "," + three[0]})
			}
			for _, args := range commands {
				if !slices.Contains(args, "--endpoints") {
					args = append(args, "--endpoints", both)
				}
				p := w.run(t, append(args, "--store", name)...).exits(t, exitFailed)
				p.oneSentence(t, "two clusters", a[0])
			}
		})
	}
	t.Run("etcd's other APIs", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		a, _ := w.upCluster(t, "etcd", "1")
		b, _ := w.upCluster(t, "etcd", "1")
		p := w.run(t, "bench", "put", "--store", "etcd-gateway", "--total", "10", "--endpoints", a[0]+","+b[0]).exits(t, exitFailed)
		p.oneSentence(t, "two clusters", a[0], b[0])
	})
}

// TestLoadRunsWithoutADeadMember kills one of three members. What needs that member is
// refused; every other target runs on the others, and the dead member is named.
func TestLoadRunsWithoutADeadMember(t *testing.T) {
	for _, name := range realStores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			if name != "etcd" {
				w.installed(t, name, "")
			}
			endpoints, pids := w.upCluster(t, name, "3")
			if err := syscall.Kill(pids[1], syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			eventually(t, patience, "the others elected a leader", func() bool {
				p := w.run(t, "bench", "put", "--store", name, "--endpoints", strings.Join(endpoints, ","), "--total", "1", "--target", "leader")
				return p.state.ExitCode() == exitDone
			})
			for _, target := range []string{"any", "all", "leader", "followers", "member:3"} {
				trial := w.bench(t, endpoints, exitDone, "put", "--store", name, "--total", "30", "--target", target)
				if len(trial.Absent) != 1 || trial.Absent[0].Endpoint != endpoints[1] {
					t.Errorf("target %s: absent members %v, not the one at %s", target, trial.Absent, endpoints[1])
				}
				if slices.Contains(trial.Endpoints, endpoints[1]) || trial.Errors > 0 || len(trial.LostMembers) > 0 {
					t.Errorf("target %s: endpoints %v, %d failed, lost %v", target, trial.Endpoints, trial.Errors, trial.LostMembers)
				}
			}
			list := strings.Join(endpoints, ",")
			w.run(t, "bench", "put", "--store", name, "--endpoints", list, "--total", "30", "--target", "member:2").
				exits(t, exitFailed).oneSentence(t, "target member:2", endpoints[1])
			check := w.run(t, "check", "perf", "--store", name, "--endpoints", list, "--rate", "20", "--duration", "1s")
			if out := check.stdout.String(); !strings.Contains(out, "The member at "+endpoints[1]+" did not answer before the load") {
				t.Errorf("check perf does not name the dead member:\n%s", out)
			}
		})
	}
}

// TestMembersAreReachedWhereTheyWereGiven reaches three members through forwards, at
// addresses that they do not advertise. Every target uses the forwards.
func TestMembersAreReachedWhereTheyWereGiven(t *testing.T) {
	for _, name := range realStores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			if name != "etcd" {
				w.installed(t, name, "")
			}
			endpoints, _ := w.upCluster(t, name, "3")
			var given []string
			for _, e := range endpoints {
				given = append(given, forward(t, e))
			}
			for _, target := range []string{"all", "leader", "followers", "member:2"} {
				trial := w.bench(t, given, exitDone, "put", "--store", name, "--total", "30", "--target", target)
				for _, e := range trial.Endpoints {
					if !slices.Contains(given, e) {
						t.Errorf("target %s: the load went to %s, which was not given", target, e)
					}
				}
				if target == "member:2" && !slices.Equal(trial.Endpoints, given[1:2]) {
					t.Errorf("member 2 is %v, not %s", trial.Endpoints, given[1])
				}
			}
		})
	}
}

// forward passes connections on to an endpoint until the test ends, and returns where.
func forward(t *testing.T, to string) string {
	t.Helper()
	l := testservers.Loopback(t)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return // the test ended
			}
			out, err := net.Dial("tcp", to)
			if err != nil {
				_ = in.Close()
				continue
			}
			pass := func(from, to net.Conn) {
				_, _ = io.Copy(to, from) // the end of either is the end of both
				_, _ = from.Close(), to.Close()
			}
			go pass(in, out)
			go pass(out, in)
		}
	}()
	return l.Addr().String()
}
