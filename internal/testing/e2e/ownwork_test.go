//go:build linux

package e2e_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/etcd"
	"github.com/quorumbench/quorumbench/internal/store/etcdv2"
	"github.com/quorumbench/quorumbench/internal/testing/hosts"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// lasting is a load that the test ends once all its faults are over.
const lasting = `
name: own-work
defaults: {STORE, connections: 3, rate: 100, key-space: 60, timeout: 5s, warmup: 300ms}
trials:
  - {name: first, mix: {put: 1, get: 1}, duration: 10m, faults: [FAULTS]}
`

// suffer injects faults one after the other, and returns the records of the faults and the number
// of fault steps in the events. The function `check` examines the cluster before the run ends.
func (w *world) suffer(t *testing.T, st store.Store, exec, settings string, faults []string, check func()) (done []record.Fault, steps int) {
	t.Helper()
	for i := range faults {
		what, lasts, _ := strings.Cut(faults[i], " for ")
		faults[i] = fmt.Sprintf("%s at %ds", what, i+1)
		if lasts != "" {
			faults[i] += " for " + lasts
		}
	}
	dir := w.path("run")
	file := strings.Replace(withStore(lasting, st, exec), "connections: 3", settings+"connections: 3", 1)
	p := w.start(t, "run", w.file(t, "faults.yaml", strings.Replace(file, "FAULTS", strings.Join(faults, ", "), 1)), "--out", dir)
	p.measuring(t, dir, "trial-01-first")
	events := ""
	said := func(kind string) int { return strings.Count(events, fmt.Sprintf("%q", kind)) }
	eventually(t, lifetime, "all faults were over", func() bool {
		select {
		case <-p.ended:
			return true
		default:
			text, _ := os.ReadFile(filepath.Join(dir, "trial-01-first", "events.jsonl"))
			events = string(text)
			return said(record.FaultReady)+said(record.FaultUndone) >= len(faults)
		}
	})
	check()
	p.signal(t, syscall.SIGINT)
	<-p.ended
	done = byName(t, openRun(t, dir, record.Interrupted), "first").Faults
	for _, f := range done {
		if f.Failure != "" || f.BeganAt == nil || f.HealedAt == nil || f.RecoveredAt == nil {
			t.Errorf("the fault had no effect: %+v", f)
			continue
		}
		t.Logf("%s of %s began at %.3g s and was healed at %.3g s; the cluster had recovered at %.3g s", f.Description, f.Member, *f.BeganAt, *f.HealedAt, *f.RecoveredAt)
	}
	return done, said(record.FaultStep)
}

// During a load, quorumbench can run the store's own maintenance, replace a member by an empty
// member, and restart the members one after the other, as far as the store supports these
// operations. Afterwards the cluster is complete again. The rolling restart takes up to a minute,
// so only `make test-long` runs it. TestRollingUpgrade covers a rolling restart that also replaces
// the server's binary.
func TestOwnWorkDuringALoad(t *testing.T) {
	t.Parallel()
	eachStore(t, nil, func(t *testing.T, st store.Store, exec string) {
		settings, faults := "", []string(nil)
		for _, of := range []struct {
			feature kv.Feature
			fault   string
		}{
			{kv.LeaderTransfer, "move-leader follower"}, {kv.Compaction, "compact"}, {kv.Defragmentation, "defragment all"},
			{kv.Snapshots, "snapshot leader"}, {kv.Alarms, "alarm follower for 200ms"}, {kv.AuthSwitch, "enable-auth for 200ms"},
			{kv.SpaceQuota, "fill-quota for 200ms"}, {kv.Replacement, "replace follower for 200ms"},
			{kv.Learners, "add-learner for 200ms"},
		} {
			if st.Capabilities().Has(of.feature) {
				faults = append(faults, of.fault)
			}
		}
		if st.Capabilities().Has(kv.SpaceQuota) {
			settings = "settings: {quota-backend-bytes: 16777216}, "
		}
		more := 0
		if st.Capabilities().Has(kv.Learners) {
			more = 2
		}
		if settle.Long() {
			faults, more = append(faults, "rolling-restart"), more+3
		}
		if len(faults) == 0 {
			t.Skip("the store supports none of these maintenance operations; make test-long restarts its members one after the other")
		}
		w := newWorld(t)
		if done, steps := w.suffer(t, st, exec, settings, faults, func() {}); len(done) != len(faults) || steps != more {
			t.Errorf("%d of %d faults were executed, with %d steps", len(done), len(faults), steps)
		}
	})
}

// TLS members receive new certificates, one member after the other and at the requested time.
// Existing connections stay open. After a restart, a member uses the new certificates. CI tests one
// of the settings.
func TestCertificatesAreReplaced(t *testing.T) {
	t.Parallel()
	all := map[string]string{"clients": "tls: true", "peers too": "tls: true, peer-tls: true"}
	for _, name := range settle.Sample(t, 1, slices.Sorted(maps.Keys(all))) {
		settings := all[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			done, steps := w.suffer(t, etcd.New(), "", "settings: {"+settings+"}, ", []string{"new-certificate all", "new-certificate leader", "restart follower", "add-learner for 100ms"}, func() {})
			if len(done) != 4 || steps != 2 {
				t.Errorf("%d steps: %+v", steps, done)
			}
			first := byName(t, openRun(t, w.path("run"), record.Interrupted), "first")
			if first.Operations == 0 {
				t.Error("the trial over TLS has no operations")
			}
		})
	}
}

// quorumbench can also replace the certificates of members on an agent. The agent writes the
// members' files.
func TestCertificatesAreReplacedOnAgents(t *testing.T) {
	t.Parallel()
	if !inNetwork(t) {
		return
	}
	w := newWorld(t)
	n, err := hosts.New(hosts.AssignAddresses("there")...)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(n.Close)
	agents, err := n.Agents(os.Getenv(binaryEnv), w.path("agents"), os.Stderr, "--heartbeat", "5s")
	if err != nil {
		t.Fatal(err)
	}
	file := w.file(t, "certificates.yaml", fmt.Sprintf(`
name: certificates
hosts: [{name: there, address: '%s', via: agent}]
trials:
  - name: first
    store: {name: etcd, settings: {tls: true, peer-tls: true}}
    operation: put
    members: 3
    duration: 12s
    rate: 50
    connections: 4
    key-space: 50
    warmup: 0s
    members-on: [there]
    workers-on: [there]
    faults: [new-certificate all at 1s, new-certificate leader at 3s, restart follower at 5s]
`, agents[0].Target()))
	w.run(t, "run", file, "--agent-certs", w.path("agents", "certs"), "--out", w.path("run")).exits(t, exitDone)
	first := byName(t, openRun(t, w.path("run"), record.Complete), "first")
	if len(first.Faults) != 3 || first.Operations == 0 {
		t.Fatalf("the trial has %d operations and the faults %+v", first.Operations, first.Faults)
	}
	for _, f := range first.Faults {
		if f.Failure != "" || f.BeganAt == nil || f.RecoveredAt == nil {
			t.Errorf("the fault had no effect: %+v", f)
		}
	}
	if err := hosts.Stop(agents); err != nil {
		t.Error(err)
	}
}

// An upgrade restarts the members of an etcd cluster with another binary, one after the other.
func TestRollingUpgrade(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.installed(t, etcdv2.Name, "")
	st := etcdv2.New()
	before := w.path("before")
	if err := os.Symlink(server(t, st), before); err != nil {
		t.Fatal(err)
	}
	running := func() (old, all int) {
		for _, p := range w.processes() {
			if strings.Contains(p.args, " --name=m") {
				if all++; strings.HasPrefix(p.args, before) {
					old++
				}
			}
		}
		return old, all
	}
	done, steps := w.suffer(t, st, before, "", []string{"rolling-upgrade to default"}, func() {
		if old, all := running(); old != 0 || all != 3 {
			t.Errorf("%d of %d members run the old binary: %v", old, all, w.processes())
		}
	})
	if len(done) != 1 || steps != 3 {
		t.Errorf("%d steps: %+v", steps, done)
	}
}

// An impossible maintenance step is reported before anything starts.
func TestImpossibleOwnWorkIsReportedBeforeTheStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const file = "trials: [{store: STORE, operation: put, duration: 9s, faults: [FAULT]}]\n"
	for _, of := range []struct {
		store, fault string
		code         int
		want         string
	}{
		{"etcd", "rolling-upgrade to " + w.path("nothing") + " at 1s", exitFailed, "no such file"},
		{"etcd", "rolling-upgrade to 1.2.3 at 1s", exitUsage, "the etcd server that is built into quorumbench has version"},
		{"etcd", "fill-quota at 1s for 1s", exitUsage, "to fill etcd's quota, quorumbench writes at most 1 GiB; set a quota of at most this size"},
		{"etcd", "new-certificate m1 at 1s", exitUsage, "needs members that use TLS; add settings: {tls: true}"},
		{"consul", "new-certificate m1 at 1s", exitUsage, "quorumbench cannot replace the certificates of running members of consul"},
		{"consul", "add-learner at 1s for 1s", exitUsage, "quorumbench cannot add a learner to a cluster of consul"},
		{"zookeeper", "move-leader follower at 1s", exitUsage, "ZooKeeper cannot transfer leadership"},
		{"consul", "enable-auth at 1s for 1s", exitUsage, "Consul's ACLs are enabled in the members' configuration"},
		{"zetcd", "replace m1 at 1s for 1s", exitUsage, "quorumbench cannot replace a member of zetcd with an empty member"},
	} {
		text := strings.NewReplacer("STORE", of.store, "FAULT", of.fault).Replace(file)
		w.run(t, "run", w.file(t, "f.yaml", text), "--out", w.path("run")).exits(t, of.code).oneSentence(t, of.want)
	}
	if len(w.processes()) > 0 {
		t.Errorf("the program started processes: %v", w.processes())
	}
}
