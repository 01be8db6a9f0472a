//go:build linux

package e2e_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// harmless is a command that writes to a user's cluster. Its arguments do not include the
// endpoints.
type harmless struct {
	args []string
	code []int // accepted exit codes
}

// command parses a command line. On a busy machine, a capacity search may end without a result, so
// command also accepts the exit code for an unknown capacity.
func command(args string) harmless {
	h := harmless{args: strings.Fields(args), code: []int{exitDone}}
	switch h.args[0] {
	case "capacity":
		h.code = append(h.code, exitNotKnown)
	case "check": // a check may find that limits are exceeded
		h.code = append(h.code, exitFailed, exitNotKnown)
	}
	return h
}

// benchKinds has the shortest useful command for every kind of `bench`.
var benchKinds = map[string]string{
	"put":             "bench put --total 300 --clients 4 --key-space-size 100",
	"get":             "bench get --total 300 --clients 4 --key-space-size 100",
	"mixed":           "bench mixed --total 300 --clients 4 --key-space-size 100",
	"delete":          "bench delete --total 100 --clients 4",
	"cas":             "bench cas --total 300 --clients 4 --key-space-size 100",
	"exists":          "bench exists --total 300 --clients 4 --key-space-size 100",
	"list":            "bench list --total 100 --clients 4 --key-space-size 100",
	"txn-put":         "bench txn-put --total 100 --clients 4 --key-space-size 100",
	"range":           "bench range foo --total 100",
	"stm":             "bench stm --total 50 --clients 4 --keys 100 --stm-locker lock-client",
	"txn-mixed":       "bench txn-mixed --total 100 --clients 4 --key-space-size 100",
	"watch":           "bench watch --streams 2 --watch-per-stream 2 --watched-key-total 4 --key-space-size 10 --put-total 100",
	"watch-get":       "bench watch-get --watchers 4 --events 4 --duration 1s",
	"watch-latency":   "bench watch-latency --streams 2 --watchers-per-stream 4 --put-total 100",
	"lease-keepalive": "bench lease-keepalive --total 100 --clients 4",
}

// lacks lists the kinds of `bench` that a store does not support.
var lacks = map[string][]string{
	"etcd":      {},
	"zookeeper": {"range", "stm", "txn-mixed", "watch", "watch-get", "watch-latency", "lease-keepalive", "list"},
	"consul":    {"exists", "range", "stm", "txn-mixed", "watch", "watch-get", "watch-latency", "lease-keepalive"},
}

// otherCommands lists commands other than `bench` that write to a cluster.
var otherCommands = []string{
	"check perf --rate 50 --clients 4 --duration 2s",
	"check datascale --load s",
	"capacity --objective p99<500ms --until 8s --from 50 --max-rate 200 --set key-space=100",
	"bench put --verify --val-size 32 --total 200 --clients 4 --key-space-size 50",
	"bench mixed --total 50 --key-space-size 20 --prefix deep/down/below/",
	"bench put --total 20 --prefix deep/name-",
}

// onlyEtcd lists commands that the test runs only on etcd.
var onlyEtcd = []string{
	"bench stm --total 10 --clients 2 --stm-locker lock-rpc",
	"bench put --total 20 --prefix= --key-size 12", // writes keys without a prefix; the user has none of these keys
}

// commandSample lists the commands that CI tests with stores other than etcd.
var commandSample = []string{"put", "get", "mixed", "delete"}

// TestEveryBenchCommandIsHarmless checks that benchKinds contains every kind of `bench`.
func TestEveryBenchCommandIsHarmless(t *testing.T) {
	w := newWorld(t)
	help := w.run(t, "bench", "--help").exits(t, exitDone).stdout.String()
	_, rest, _ := strings.Cut(help, "\nWrite:\n")
	lists, _, _ := strings.Cut(rest, "\nCluster flags:\n")
	kinds := regexp.MustCompile(`(?m)^  ([a-z-]+)  `).FindAllStringSubmatch(lists, -1)
	if len(kinds) != len(benchKinds) {
		t.Errorf("the help of bench lists %d commands, but %d of them are tested against a user's cluster", len(kinds), len(benchKinds))
	}
	for _, kind := range kinds {
		if benchKinds[kind[1]] == "" {
			t.Errorf("bench %s is not tested against a user's cluster", kind[1])
		}
	}
}

// TestCommandsKeepUserData runs every command that writes. It uses a real cluster that holds a
// user's keys, and each command must leave the cluster unchanged.
func TestCommandsKeepUserData(t *testing.T) {
	eachUsed(t, func(t *testing.T, w *world, u *inUse) {
		var commands []string
		sample := u.store != "etcd" && !settle.Long()
		for kind, args := range benchKinds {
			if !slices.Contains(lacks[u.store], kind) && (!sample || slices.Contains(commandSample, kind)) {
				commands = append(commands, args)
			}
		}
		if u.store == "etcd" {
			commands = append(commands, onlyEtcd...)
		}
		if sample {
			commands = append(commands, otherCommands[0])
		} else {
			commands = append(commands, otherCommands...)
		}
		before := u.read(t)
		for _, args := range commands {
			h := command(args)
			p := u.quorumbench(t, w, h.args...).end(t)
			if code := p.state.ExitCode(); !slices.Contains(h.code, code) {
				t.Errorf("quorumbench %s: exit code %d, not one of %v\n%s%s", p.args, code, h.code, abbreviate(p.stdout.String()), abbreviate(p.stderr.String()))
			}
			if said := p.stderr.String(); h.args[1] != "range" && (!strings.Contains(said, " in the running cluster and re") || !strings.Contains(said, " below ") && !strings.Contains(args, "lease")) {
				t.Errorf("quorumbench %s does not print what it writes:\n%s", p.args, said)
			}
			before = u.unchanged(t, before, "quorumbench "+p.args)
		}
	})
}

// scenarioSample lists the scenarios that CI runs. Each of them once wrote outside quorumbench's
// prefixes.
var scenarioSample = []string{"kubernetes.yaml", "patroni.yaml", "locks.yaml"}

// scenarioOnUsers lists the scenario files, each with the store of the running cluster and with
// arguments that shorten the scenario. A scenario without a store uses several stores. On a cluster
// of a single store, some of its trials fail, but even these must not change the cluster.
var scenarioOnUsers = []struct{ file, store, args string }{
	{"kubernetes.yaml", "etcd", "--set nodes=3 --set duration=6s --set churn=1"},
	{"patroni.yaml", "etcd-gateway", "--set clusters=3 --set failovers=0 --set duration=12s"},
	{"patroni.yaml", "consul", "--set clusters=3 --set failovers=0 --set duration=12s"},
	{"patroni.yaml", "zookeeper", "--set clusters=3 --set failovers=0 --set duration=12s"},
	{"locks.yaml", "etcd", "--set duration=1s --set warmup=200ms --set clients=4"},
	{"fan-out.yaml", "etcd", "--set duration=2s --set watch.watchers=4 --set watch.streams=2 --set watch.connections=1"},
	{"watch-latency.yaml", "etcd", "--set duration=1s --set warmup=200ms --set watch.watchers=4 --set watch.streams=2 --set watch.connections=1"},
	{"regression.yaml", "etcd", "--set duration=500ms --at-most 5s"},
	{"etcd-read-write-mix.yaml", "etcd", "--scale 0.001 --set duration=300ms --set warmup=100ms --set key-space=200"},
	{"etcd-put-range.yaml", "etcd", "--scale 0.001 --set target=all"},
	{"etcd-open-loop-steps.yaml", "etcd", "--scale 0.01 --set duration=500ms --set warmup=100ms"},
	{"etcd-v2-matrix.yaml", "etcdv2", ""},
	{"dbtester-write-1m.yaml", "", "--scale 0.0001"},
	{"dbtester-write-100k-one-client.yaml", "", "--scale 0.0001"},
	{"dbtester-write-1000qps.yaml", "", "--scale 0.0001 --set warmup=100ms"},
	{"dbtester-too-many-keys.yaml", "", "--scale 0.0001"},
	{"dbtester-read-oneshot.yaml", "", "--scale 0.0001"},
	{"dbtester-read-3m-same-key.yaml", "", "--scale 0.0001"},
	{"dbtester-client-variable.yaml", "", "--scale 0.001 --set clients=4"},
	{"six-stores.yaml", "", "--scale 0.01 --set duration=300ms --set warmup=100ms"},
}

// TestScenariosKeepUserData runs the scenario files against running clusters.
func TestScenariosKeepUserData(t *testing.T) {
	eachUsed(t, func(t *testing.T, w *world, u *inUse) {
		before := u.read(t)
		for _, s := range scenarioOnUsers {
			sample := !settle.Long()
			if sample && !slices.Contains(scenarioSample, s.file) || s.store != "" && strings.TrimSuffix(s.store, "-gateway") != u.store {
				continue
			}
			args := append([]string{"run", readyScenario(t, s.file), "--set", "endpoints=" + u.endpoint}, strings.Fields(s.args)...)
			if s.store != "" {
				args = append(args, "--store", s.store)
			}
			p := w.run(t, args...)
			if code := p.state.ExitCode(); s.store != "" && code != exitDone {
				t.Errorf("quorumbench %s: exit code %d\n%s%s", p.args, code, abbreviate(p.stdout.String()), abbreviate(p.stderr.String()))
			}
			before = u.unchanged(t, before, "quorumbench "+p.args)
		}
	})
}

func readyScenario(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", "..", "..", "scenarios", name))
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// interruptible lists long loads, which a test interrupts.
var interruptible = []struct{ store, args string }{
	{"etcd", "bench put --duration 60s --clients 8 --key-space-size 1000"},
	{"etcd", "check perf --rate 100 --clients 4 --duration 60s"},
	{"etcd", "run SCENARIOS/kubernetes.yaml --set nodes=5 --set churn=1"},
	{"etcd-gateway", "run SCENARIOS/patroni.yaml --set clusters=3 --set failovers=0"},
	{"zookeeper", "bench put --duration 60s --clients 8 --key-space-size 1000"},
	{"zookeeper", "run SCENARIOS/patroni.yaml --set clusters=3 --set failovers=0"},
	{"consul", "bench put --duration 60s --clients 8 --key-space-size 1000"},
	{"consul", "run SCENARIOS/patroni.yaml --set clusters=3 --set failovers=0"},
}

// startInterruptible starts one of the loads in `interruptible` and waits until the load runs.
func (u *inUse) startInterruptible(t *testing.T, w *world, storeName, text string) *startedProgram {
	t.Helper()
	args := strings.Fields(strings.ReplaceAll(text, "SCENARIOS", filepath.Dir(readyScenario(t, "locks.yaml"))))
	if args[0] == "run" {
		args = append(args, "--store", storeName, "--set", "endpoints="+u.endpoint)
	} else {
		args = append(args, "--store", storeName, "--endpoints", u.endpoint)
	}
	p := w.start(t, args...)
	eventually(t, patience, "the load wrote", func() bool {
		select {
		case <-p.ended:
			t.Fatalf("quorumbench %s ended (%v)\n%s%s", p.args, p.state, p.stdout.String(), p.stderr.String())
		default:
		}
		said := p.stderr.String()
		// While its load runs, the command check prints " writes, " instead of ": measuring".
		return strings.Contains(said, ": measuring") || strings.Contains(said, " writes, ")
	})
	return p
}

// TestInterruptedCommandsKeepUserData interrupts loads with Ctrl-C.
func TestInterruptedCommandsKeepUserData(t *testing.T) {
	eachInterruptible(t, func(t *testing.T, w *world, u *inUse, before contents, p *startedProgram) {
		p.interrupt(t)
		p.exits(t, exitInterrupted)
		u.unchanged(t, before, "interrupted quorumbench "+p.args)
	})
}

// TestKilledCommandsAreCleanedUp kills loads with SIGKILL. `cleanup` then removes the keys that the
// loads left, and nothing else. Leases and sessions without a key expire by themselves.
func TestKilledCommandsAreCleanedUp(t *testing.T) {
	eachInterruptible(t, func(t *testing.T, w *world, u *inUse, before contents, p *startedProgram) {
		p.signal(t, syscall.SIGKILL)
		p.end(t)
		w.run(t, "cleanup", "--store", u.store, "--endpoints", u.endpoint).exits(t, exitDone)
		if !holdsWithin(t, patience, func() bool { return cmp.Equal(before, u.read(t)) }) {
			u.unchanged(t, before, "cleanup after killed quorumbench "+p.args)
		}
	})
}

// eachInterruptible starts every long load on a cluster in use, and calls the function `end` to
// stop the load.
func eachInterruptible(t *testing.T, end func(t *testing.T, w *world, u *inUse, before contents, p *startedProgram)) {
	t.Helper()
	eachUsed(t, func(t *testing.T, w *world, u *inUse) {
		before := u.read(t)
		for _, load := range interruptible {
			if strings.TrimSuffix(load.store, "-gateway") == u.store {
				end(t, w, u, before, u.startInterruptible(t, w, load.store, load.args))
			}
		}
	})
}
