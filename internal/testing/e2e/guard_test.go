//go:build linux

package e2e_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quorumbench/quorumbench/internal/run/guard"
	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testing/servers/official"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// If the servers refuse values of the load's size, the command ends before it writes any keys.
func TestRefusedValueEndsTheCommandBeforeTheLoad(t *testing.T) {
	eachUsed(t, func(t *testing.T, w *world, u *inUse) {
		before := u.read(t)
		for _, command := range []string{"bench put --total 20 --val-size 3000000", "bench get --total 20 --key-space-size 10 --val-size 3000000"} {
			said := u.quorumbench(t, w, strings.Fields(command)...).exits(t, exitFailed).stderr.String()
			if !strings.Contains(said, "the load requires the operation put, but "+u.endpoint+" rejects the request: ") || strings.Contains(said, "preloading") || strings.Contains(said, "measuring") {
				t.Errorf("%s printed %q", command, said)
			}
			u.unchanged(t, before, command)
		}
	})
}

// Without permission, quorumbench neither replaces nor deletes keys that no run wrote. No message
// suggests a command that would delete such keys.
func TestForeignKeysAreNotTouched(t *testing.T) {
	eachUsed(t, func(t *testing.T, w *world, u *inUse) {
		u.put(t, "quorumbench/mine")
		u.put(t, "quorumbench/check-perf/mine")
		before := u.read(t)
		for command, code := range map[string]int{
			"bench put --total 10": exitFailed, "bench get --total 10": exitFailed, "bench delete --total 10": exitFailed,
			"bench put --total 10 --prefix=": exitFailed, "bench put --total 10 --prefix quorumbench": exitFailed,
			"bench put --total 10 --cleanup": exitFailed, "check perf --rate 10 --duration 1s": 3, "cleanup --prefix quorumbench/": exitFailed,
			"check perf --rate 10 --duration 1s --prefix quorumbench/": 3, "cleanup": exitDone,
		} {
			p := u.quorumbench(t, w, strings.Fields(command)...).exits(t, code)
			said := p.stderr.String() + p.stdout.String()
			if command != "cleanup" && strings.Count(said, "quorumbench: ") != 1 {
				t.Errorf("%s printed %q", command, said)
			}
			for _, advice := range []string{"etcdctl", "zkCli", "consul kv", "elete with"} {
				if strings.Contains(said, advice) {
					t.Errorf("%s suggests deleting keys that it does not own: %s", command, said)
				}
			}
			u.unchanged(t, before, command)
		}
		u.quorumbench(t, w, "bench", "put", "--total", "10", "--overwrite-existing").exits(t, exitDone)
		now := u.read(t)
		for key, value := range before.Keys {
			if now.Keys[key] != value {
				t.Errorf("the value of %s was %q and is now %q", key, value, now.Keys[key])
			}
		}
	})
}

// An interrupted run removes its keys. The command `cleanup` removes the keys of a killed run, and
// so does the next run. Neither removes the keys of a run that is still active.
func TestCleanupAfterInterruptedAndKilledRuns(t *testing.T) {
	eachUsed(t, func(t *testing.T, w *world, u *inUse) {
		before := u.read(t)
		begin := func() *startedProgram {
			p := u.quorumbench(t, w, "bench", "put", "--total", "100000000", "--key-space-size", "100", "--prefix", "app/bench/")
			p.awaitText(t, "measuring")
			eventually(t, patience, "keys were written", func() bool { return len(u.read(t).Keys) > len(before.Keys)+10 })
			return p
		}
		for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
			p := begin()
			p.signal(t, signal)
			p.exits(t, exitInterrupted)
			u.unchanged(t, before, signal.String())
		}
		p := begin()
		if said := u.quorumbench(t, w, "cleanup", "--prefix", "app/bench/").exits(t, exitFailed).stdout.String(); !strings.Contains(said, "is still active") {
			t.Errorf("cleanup printed %q about a run in progress", said)
		}
		if said := u.quorumbench(t, w, "bench", "put", "--total", "10", "--prefix", "app/bench/").exits(t, exitFailed).stderr.String(); !strings.Contains(said, "is in use by") {
			t.Errorf("a second run printed %q", said)
		}
		kill := func(p *startedProgram) {
			p.signal(t, syscall.SIGKILL)
			<-p.ended
			if got := u.read(t); len(got.Keys) == len(before.Keys) {
				t.Fatal("a killed run left no keys")
			}
		}
		kill(p)
		u.quorumbench(t, w, "cleanup", "--prefix", "app/bench/", "--dry-run").exits(t, exitDone)
		u.quorumbench(t, w, "cleanup").exits(t, exitDone) // cleans up below another prefix
		if said := u.quorumbench(t, w, "cleanup", "--prefix", "app/bench/").exits(t, exitDone).stdout.String(); !strings.Contains(said, "Removed ") {
			t.Errorf("cleanup printed %q", said)
		}
		u.unchanged(t, before, "cleanup")
		kill(begin())
		u.quorumbench(t, w, "bench", "put", "--total", "10", "--prefix", "app/bench/").exits(t, exitDone)
		u.unchanged(t, before, "another run with the prefix of one that was killed")
	})
}

// The command cleanup fails if keys stay that it was asked to remove. It does not fail because of
// keys that an active run will remove itself.
func TestCleanupFailsIfRequestedKeysStay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	u := w.used(t, "etcd")
	before := u.read(t)
	client := official.Etcd(t, store.Access{Endpoints: []string{u.endpoint}})
	self, err := host.Identify(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	leave := func(run string, place host.Place) {
		m := guard.Marker{Run: run, Prefix: "quorumbench/", WasEmpty: true, Place: place, Owner: self}
		b, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		for key, value := range map[string]string{guard.MarkerKey(m.Prefix): string(b), "quorumbench/1": "of the run"} {
			if _, err := client.Put(t.Context(), key, value); err != nil {
				t.Fatal(err)
			}
		}
	}
	cleanup := func(code int, want string, args ...string) {
		t.Helper()
		p := u.quorumbench(t, w, append([]string{"cleanup"}, args...)...).exits(t, code)
		if said := p.stdout.String() + p.stderr.String(); !strings.Contains(said, want) {
			t.Errorf("cleanup %q printed %q, which does not contain %q", args, said, want)
		}
	}
	run, other := string(host.NewMark()), string(host.NewMark())
	leave(run, host.CurrentPlace())
	cleanup(exitDone, "is still active")
	cleanup(exitFailed, "is still active", "--prefix", "quorumbench/")
	cleanup(exitFailed, "is still active", "--run", run)
	leave(run, host.Place{Machine: "another", Boot: "another"})
	cleanup(exitFailed, "If the run has ended, remove the keys with --run "+run)
	cleanup(exitFailed, "remove the keys with --run "+run, "--dry-run")
	cleanup(exitFailed, "no run with the ID \""+other+"\" has left keys", "--run", other)
	cleanup(exitDone, "Removed ", "--run", run)
	u.unchanged(t, before, "cleanup")
	cleanup(exitDone, "No run has left anything")
}

// One run may use two addresses of the same cluster. Both trials write below the same prefix, and
// the run removes the keys from both trials.
func TestOneRunAtTwoAddressesOfACluster(t *testing.T) {
	eachUsed(t, func(t *testing.T, w *world, u *inUse) {
		before := u.read(t)
		ip, port, _ := strings.Cut(u.endpoint, ":")
		trials := ""
		for name, endpoint := range map[string]string{"first": u.endpoint, "second": "[::ffff:" + ip + "]:" + port} {
			trials += fmt.Sprintf("- {name: %s, store: %s, operation: put, endpoints: ['%s'], clients: 1, total: 10, key-space: 10}\n", name, u.store, endpoint)
		}
		path := filepath.Join(t.TempDir(), "two.yaml")
		if err := os.WriteFile(path, []byte("trials:\n"+trials), 0o600); err != nil {
			t.Fatal(err)
		}
		w.start(t, "run", path).exits(t, exitDone)
		u.unchanged(t, before, "a run at two addresses")
	})
}

// If another program writes a key below the prefix, during a run or after the run was killed,
// quorumbench keeps the key and lists it.
func TestForeignKeysBelowThePrefixStay(t *testing.T) {
	eachUsed(t, func(t *testing.T, w *world, u *inUse) {
		users := u.read(t).Keys
		p := u.quorumbench(t, w, "bench", "put", "--total", "100000000", "--key-space-size", "20")
		p.awaitText(t, "measuring")
		u.put(t, "quorumbench/mine")
		p.signal(t, syscall.SIGINT)
		p.exits(t, exitInterrupted)
		if said := p.stderr.String(); !strings.Contains(said, `quorumbench/mine", does not belong to this run and is kept`) {
			t.Errorf("the output is %s", said)
		}
		for key, value := range u.read(t).Keys {
			if _, was := users[key]; !was && value != "the user's" && key != "/quorumbench" {
				t.Errorf("the key %s was not removed", key)
			}
		}
		p = u.quorumbench(t, w, "bench", "put", "--total", "100000000", "--key-space-size", "20", "--prefix", "other/")
		p.awaitText(t, "measuring")
		before := u.read(t)
		p.signal(t, syscall.SIGKILL)
		<-p.ended
		u.put(t, "other/mine")
		u.quorumbench(t, w, "cleanup", "--prefix", "other/").exits(t, exitDone)
		for key, value := range u.read(t).Keys {
			if _, was := users[key]; !was && value != "the user's" && key != "/quorumbench" && key != "/other" {
				t.Errorf("the key %s was not removed", key)
			}
		}
		if got := u.read(t).Keys; got["other/mine"]+got["/other/mine"] == "" || len(got) > len(before.Keys) {
			t.Errorf("after cleanup, the cluster contains the keys %v", got)
		}
	})
}

// applied lists, for each store, applications with a minimum of clients and keys. The scenario
// files for Kubernetes and Patroni are tested with the other scenario files.
var applied = map[string][]string{
	"etcd":      {"application: election-race", "application: election-queue"},
	"zookeeper": {"application: election-race", "application: election-queue", "application: membership, services: 10, instances-per-service: 4, discovery-clients: 10, services-per-client: 3, instance-churn: 1"},
	"consul":    {"application: election-race", "application: catalog, services: 10, instances-per-service: 4, discovery-clients: 10, services-per-client: 3, instance-churn: 1"},
}

// TestApplicationsLeaveARunningClusterUnchanged runs each application until it completes. Long
// tests also run each application again, kill it with SIGKILL, and clean up. In both cases, no
// keys, leases, sessions or services may remain.
func TestApplicationsLeaveARunningClusterUnchanged(t *testing.T) {
	eachUsed(t, func(t *testing.T, w *world, u *inUse) {
		before := u.read(t)
		for i, app := range applied[u.store] {
			file := w.file(t, fmt.Sprintf("app-%d.yaml", i), fmt.Sprintf("name: app\ntrials:\n  - {store: %s, endpoints: ['%s'], duration: 2s, %s}\n", u.store, u.endpoint, app))
			p := w.run(t, "run", file, "--out", w.path(fmt.Sprintf("out-%d", i))).exits(t, exitDone)
			if said := p.stderr.String(); !strings.Contains(said, `below "quorumbench`) && !strings.Contains(said, `below "/quorumbench/`) {
				t.Errorf("%s does not print which keys it writes:\n%s", app, said)
			}
			u.unchanged(t, before, app)
			if !settle.Long() {
				continue // the sessions of a killed run take one minute to expire
			}
			p = w.start(t, "run", file, "--out", w.path(fmt.Sprintf("killed-%d", i)))
			p.awaitText(t, "measuring")
			p.signal(t, syscall.SIGKILL)
			<-p.ended
			u.quorumbench(t, w, "cleanup").exits(t, exitDone)
			eventually(t, patience, "leases and sessions without a key expired", func() bool { return cmp.Equal(before, u.read(t)) })
		}
	})
}

// The history of a running etcd is compacted only with an explicit flag. To coordinate compactions,
// the load uses a separate key.
func TestNoClusterWideChangeWithoutAFlag(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	u := w.used(t, "etcd")
	before := u.read(t)
	for _, load := range []string{"compact: {every: 1s}", "compact-first: true", "cleanup: true, cleanup-compact: true", "cleanup: true, cleanup-defragment: true"} {
		file := w.file(t, "load.yaml", fmt.Sprintf("name: load\ntrials:\n  - {store: etcd, endpoints: ['%s'], operation: put, duration: 1s, %s}\n", u.endpoint, load))
		if said := w.run(t, "run", file).exits(t, exitUsage).stderr.String(); !strings.Contains(said, "cluster-wide") {
			t.Errorf("%s is rejected with %q", load, said)
		}
		u.unchanged(t, before, load)
	}
	file := w.file(t, "allowed.yaml", fmt.Sprintf("name: load\ntrials:\n  - {store: etcd, endpoints: ['%s'], operation: put, clients: 4, connections: 1, key-space: 100, duration: 1s, warmup: 0s, compact-first: true, cluster-wide: true}\n", u.endpoint))
	if said := w.run(t, "run", file, "--out", w.path("allowed")).exits(t, exitDone).stderr.String(); !strings.Contains(said, "compacts the history of all keys") {
		t.Errorf("the output is %q", said)
	}
	after := u.read(t)
	if !maps.Equal(before.Keys, after.Keys) || !slices.Contains(after.Others, "the history is gone") {
		t.Errorf("with cluster-wide: true, the cluster contains %v", after)
	}
}

// If a run must keep its keys, the run lists them, the next run reuses them, and the command that
// the run prints removes them.
func TestKeptKeys(t *testing.T) {
	eachUsed(t, func(t *testing.T, w *world, u *inUse) {
		before := u.read(t)
		p := u.quorumbench(t, w, "bench", "put", "--total", "20", "--cleanup=false").exits(t, exitDone)
		if got := u.read(t); len(got.Keys) <= len(before.Keys) || !strings.Contains(p.stderr.String(), "left the run's keys below") {
			t.Fatalf("the cluster has %d keys, and stderr is %s", len(got.Keys), p.stderr.String())
		}
		u.quorumbench(t, w, "cleanup").exits(t, exitDone)
		if got := u.read(t); len(got.Keys) <= len(before.Keys) {
			t.Fatal("cleanup removed kept keys")
		}
		u.quorumbench(t, w, "bench", "get", "--total", "20", "--key-space-size", "100", "--cleanup=false").exits(t, exitDone)
		u.quorumbench(t, w, "cleanup", "--prefix", "quorumbench/").exits(t, exitDone)
		u.unchanged(t, before, "cleanup")
	})
}
