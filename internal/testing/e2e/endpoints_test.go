//go:build linux

package e2e_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/quorumbench/quorumbench/internal/store/registry"
	"github.com/quorumbench/quorumbench/internal/testing/servers"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// upCluster runs `cluster up` for a store until the end of the test, and returns the endpoints and
// each member's process ID.
func (w *world) upCluster(t *testing.T, name, members string) (endpoints []string, pids []int) {
	t.Helper()
	dir, err := os.MkdirTemp(w.dir, "up-"+name+"-")
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(dir, "cluster")
	args := []string{"cluster", "up", "--store", name, "--dir", dir, "--members", members}
	if name != "etcd" {
		st, err := registry.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		args = append(args, "--exec", servers.InstalledServer(t, st))
	}
	up := w.run(t, args...).exits(t, exitDone)
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

// realStores lists the stores that are not proxies.
var realStores = []string{"etcd", "zookeeper", "consul"}

// TestGivenEndpoints passes the endpoints of real clusters in different ways. All tests of a store
// use one cluster of three members. At the end, one of these members is killed. CI tests one of the
// stores.
func TestGivenEndpoints(t *testing.T) {
	t.Parallel()
	for _, name := range settle.Sample(t, 1, realStores) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			endpoints, pids := w.upCluster(t, name, "3")
			t.Run("reached where given", func(t *testing.T) { reachedWhereGiven(t, w, name, endpoints) })
			t.Run("two clusters", func(t *testing.T) { twoClusters(t, w, name, endpoints) })
			if name == "etcd" {
				t.Run("a member ends before the load", func(t *testing.T) { endsBeforeTheLoad(t, w, endpoints) })
				t.Run("a member is given twice", func(t *testing.T) { givenTwice(t, w, endpoints) })
			}
			t.Run("a dead member", func(t *testing.T) { deadMember(t, w, name, endpoints, pids) })
		})
	}
}

// twoClusters passes the endpoints of two clusters to one command. The command must refuse them
// before the load, and the error must list both endpoints.
func twoClusters(t *testing.T, w *world, name string, three []string) {
	a, _ := w.upCluster(t, name, "1")
	b, _ := w.upCluster(t, name, "1")
	both := a[0] + "," + b[0]
	commands := [][]string{
		{"bench", "put", "--total", "10"}, {"bench", "get", "--total", "10", "--target", "all"}, {"check", "perf"},
		{"capacity", "--objective", "p99<1s"},
	}
	if name == "zookeeper" { // a standalone server and a member of an ensemble
		commands = append(commands, []string{"bench", "put", "--total", "10", "--endpoints", a[0] + "," + three[0]})
	}
	for _, args := range commands {
		if !slices.Contains(args, "--endpoints") {
			args = append(args, "--endpoints", both)
		}
		p := w.run(t, append(args, "--store", name)...).exits(t, exitFailed)
		p.oneSentence(t, "belong to different clusters", a[0])
	}
	if name == "etcd" { // through etcd's other API
		p := w.run(t, "bench", "put", "--store", "etcd-gateway", "--total", "10", "--endpoints", both).exits(t, exitFailed)
		p.oneSentence(t, "belong to different clusters", a[0], b[0])
	}
}

// deadMember kills one of three members. Targets that need this member must be refused. With every
// other target, quorumbench must use the remaining members and report the dead member.
func deadMember(t *testing.T, w *world, name string, endpoints []string, pids []int) {
	if err := syscall.Kill(pids[1], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	list := strings.Join(endpoints, ",")
	eventually(t, patience, "the others elected a leader", func() bool {
		p := w.run(t, "bench", "put", "--store", name, "--endpoints", list, "--total", "1", "--target", "leader")
		return p.state.ExitCode() == exitDone
	})
	check := w.run(t, "check", "perf", "--store", name, "--endpoints", list, "--rate", "20", "--duration", "1s")
	if out := check.stdout.String(); !strings.Contains(out, "The member at "+endpoints[1]+" did not respond before the load") {
		t.Errorf("check perf does not name the dead member:\n%s", out)
	}
	for _, target := range []string{"any", "all", "leader", "followers", "member:3"} {
		trial := w.bench(t, endpoints, exitDone, "put", "--store", name, "--total", "30", "--target", target)
		if len(trial.Absent) != 1 || trial.Absent[0].Endpoint != endpoints[1] {
			t.Errorf("target %s: the absent members are %v, want the member at %s", target, trial.Absent, endpoints[1])
		}
		if slices.Contains(trial.Endpoints, endpoints[1]) || trial.Errors > 0 || len(trial.LostMembers) > 0 {
			t.Errorf("target %s: the endpoints are %v, %d operations failed, and the lost members are %v", target, trial.Endpoints, trial.Errors, trial.LostMembers)
		}
	}
	w.run(t, "bench", "put", "--store", name, "--endpoints", list, "--total", "30", "--target", "member:2").
		exits(t, exitFailed).oneSentence(t, "target member:2", endpoints[1])
}

// reachedWhereGiven connects to three members through forwarders, at addresses that the members do
// not advertise. With every target, quorumbench must use the forwarders.
func reachedWhereGiven(t *testing.T, w *world, name string, endpoints []string) {
	var given []string
	for _, e := range endpoints {
		given = append(given, forward(t, e))
	}
	for _, target := range []string{"all", "leader", "followers", "member:2"} {
		trial := w.bench(t, given, exitDone, "put", "--store", name, "--total", "30", "--target", target)
		for _, e := range trial.Endpoints {
			if !slices.Contains(given, e) {
				t.Errorf("target %s: the load went to %s, which is not one of the given endpoints", target, e)
			}
		}
		if target == "member:2" && !slices.Equal(trial.Endpoints, given[1:2]) {
			t.Errorf("target member:2 has the endpoints %v, want %s", trial.Endpoints, given[1])
		}
	}
}

// forward starts a forwarder that passes connections on to an endpoint until the test ends, and
// returns the forwarder's address.
func forward(t *testing.T, to string) string {
	t.Helper()
	l := servers.Loopback(t)
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
				_, _ = io.Copy(to, from) // when one direction ends, both connections are closed
				_, _ = from.Close(), to.Close()
			}
			go pass(in, out)
			go pass(out, in)
		}
	}()
	return l.Addr().String()
}

// endsBeforeTheLoad runs loads in which a member is lost after 1, 2, … 8 connections, so that it is
// lost at each step before and at the start of the load. The load must then run on the other
// member, and the lost member must be reported unless it was lost during the load. CI tests four of
// these numbers.
func endsBeforeTheLoad(t *testing.T, w *world, endpoints []string) {
	named := 0
	for _, command := range []string{"put", "get"} {
		for _, connections := range settle.Sample(t, 4, []int{1, 2, 3, 4, 5, 6, 7, 8}) {
			given := []string{endpoints[0], endingForward(t, endpoints[1], connections)}
			trial := w.bench(t, given, exitDone, command, "--total", "50", "--key-space-size", "100", "--conns", "4", "--clients", "4")
			for _, m := range trial.Absent {
				if m.Endpoint != given[1] || slices.Contains(trial.Endpoints, given[1]) {
					t.Errorf("%s after %d connections: the absent member is %s, and the load went to %v", command, connections, m.Endpoint, trial.Endpoints)
				}
				named++
			}
		}
	}
	if named == 0 {
		t.Error("no trial reported the absent member")
	}
}

// endingForward forwards the given number of connections to an endpoint. After the last of them is
// accepted, it stops listening and closes all connections.
func endingForward(t *testing.T, to string, most int) string {
	t.Helper()
	l := servers.Loopback(t)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		var all []net.Conn
		for range most {
			in, err := l.Accept()
			if err != nil {
				return // the test ended
			}
			out, err := net.Dial("tcp", to)
			if err != nil {
				_ = in.Close()
				continue
			}
			go func() { _, _ = io.Copy(in, out) }()
			go func() { _, _ = io.Copy(out, in) }()
			all = append(all, in, out)
		}
		_ = l.Close()
		for _, c := range all {
			_ = c.Close()
		}
	}()
	return l.Addr().String()
}

// TestSimilarClustersAreDistinguished passes endpoints of two clusters whose members have the same
// names and numbers, as they may have in containers. Reads must reveal that these are two clusters.
func TestSimilarClustersAreDistinguished(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var given []string
	for _, name := range []string{"one", "other"} {
		client, peer := freeAddress(t), freeAddress(t)
		config := fmt.Sprintf(`{"name": "default", "data-dir": %q, "listen-client-urls": "http://%[2]s", "advertise-client-urls": "http://%[2]s",
			"listen-peer-urls": "http://%s", "initial-advertise-peer-urls": "http://localhost:2380", "initial-cluster": "default=http://localhost:2380"}`, w.path(name), client, peer)
		// The member runs until the test ends.
		w.start(t, "member", "etcd", "--config", w.file(t, name+".json", config))
		given = append(given, client)
	}
	for _, e := range given {
		eventually(t, patience, "the member serves", func() bool {
			return w.run(t, "bench", "get", "--endpoints", e, "--no-preload", "--total", "1").state.ExitCode() == exitDone
		})
	}
	w.bench(t, given[:1], exitDone, "put", "--total", "10")
	for _, args := range [][]string{{"bench", "put", "--total", "10"}, {"bench", "get", "--total", "10"}, {"check", "perf"}} {
		p := w.run(t, append(args, "--endpoints", strings.Join(given, ","))...).exits(t, exitFailed)
		p.oneSentence(t, "belong to different clusters", given[0], given[1])
	}
}

// freeAddress returns an address on this machine at which nothing listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	l := servers.Loopback(t)
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// givenTwice passes two endpoints of one member and one endpoint of another member. The report must
// mention the duplicate, and quorumbench must not count the duplicate endpoint as another member.
func givenTwice(t *testing.T, w *world, endpoints []string) {
	given := []string{forward(t, endpoints[0]), forward(t, endpoints[0]), endpoints[2]}
	trial := w.bench(t, given, exitDone, "put", "--total", "30", "--target", "all")
	if slices.Contains(trial.Endpoints, given[1]) || !slices.Contains(trial.Endpoints, endpoints[1]) {
		t.Errorf("the load went to %v", trial.Endpoints)
	}
	if !slices.ContainsFunc(trial.Notes, func(n string) bool {
		return strings.Contains(n, " responds at the endpoints "+given[0]+" and "+given[1])
	}) {
		t.Errorf("notes %q", trial.Notes)
	}
}
