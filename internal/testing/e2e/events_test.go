//go:build linux

package e2e_test

import (
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/registry"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// eventful has two trials on the same cluster. In the first trial members write snapshots, and in
// the second the leader is killed.
const eventful = `
name: eventful
order: written
defaults: {store: NAME, connections: 6, rate: 200, key-space: 200, operation: put, timeout: 5s, target: all, settings: {SETTINGS}}
trials:
  - {name: snapshots, warmup: 300ms, duration: 5s}
  - {name: killed, warmup: 300ms, duration: 8s}
`

// Events in the members' logs become events of the trial, with member, time and log line, and
// appear in the printed table. The test expects snapshots of all members, and the election after
// the leader was killed. Events of an earlier trial on the same cluster do not appear.
func TestMembersLogsBecomeEvents(t *testing.T) {
	t.Parallel()
	all := map[string]string{
		"etcd":      "snapshot-count: 200",
		"etcdv2":    "snapshot-count: 200",
		"zookeeper": "snap-count: 200, heap: 64m, tick-time: 500",
		"consul":    "raft_snapshot_threshold: 100, raft_snapshot_interval: 1s",
		"zetcd":     "snapshot-count: 200",
	}
	for _, name := range settle.Sample(t, 1, slices.Sorted(maps.Keys(all))) {
		settings := all[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st, err := registry.Lookup(name)
			if err != nil {
				t.Fatal(err)
			}
			exec := server(t, st)
			settle.RetryMeasurement(t, func(r settle.Reporter) {
				w := newWorld(t)
				dir := w.path("run")
				which := name
				if exec != "" {
					which += ", exec: " + strconv.Quote(exec)
				}
				text := strings.NewReplacer("NAME", which, "SETTINGS", settings).Replace(eventful)
				p := w.start(t, "run", w.file(t, "eventful.yaml", text), "--out", dir)
				if !p.preloads(t, r) {
					return
				}
				p.measuring(t, dir, "trial-02-killed")
				killed := w.theLeader(t, st, dir)
				for _, process := range w.processesOf(killed) {
					if err := syscall.Kill(process.pid, syscall.SIGKILL); err != nil {
						t.Fatal(err)
					}
				}
				p.end(t) // the verdict does not matter
				run := openRun(t, dir, record.Complete)
				checkSnapshots(t, dir, byName(t, run, "snapshots"))
				checkElected(t, r, dir, byName(t, run, "killed"), killed)
				for _, says := range []string{"\nEvents", "snapshots: ", " snapshots (", " election"} {
					if out := p.stdout.String(); !strings.Contains(out, says) {
						t.Errorf("the output does not contain %q:\n%s", says, out)
					}
				}
			})
		})
	}
}

// theLeader returns the name of the leader in the run's newest cluster. The run may have older
// clusters, because a cluster that loses a member on a busy machine is replaced.
func (w *world) theLeader(t *testing.T, st store.Store, dir string) string {
	t.Helper()
	run, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	cluster := run.Clusters[len(run.Clusters)-1]
	if isProxy(st) {
		return leaderByLogs(t, st, filepath.Join(dir, "logs", cluster.ID))
	}
	access, names := store.Access{}, map[string]string{}
	for _, m := range cluster.Members {
		access.Endpoints = append(access.Endpoints, m.Endpoint)
		names[m.Endpoint] = m.Name
	}
	admin, err := st.Admin(access)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = admin.Close() }()
	name := ""
	eventually(t, patience, "a member leads", func() bool {
		status, err := admin.Status(t.Context())
		if err != nil || status.Leader() == nil {
			return false
		}
		name = names[status.Leader().Endpoint]
		return name != ""
	})
	return name
}

// events checks a trial's events and returns them.
func events(t *testing.T, dir string, trial *record.Trial) []record.Event {
	t.Helper()
	files, err := record.OpenTrial(dir, trial.Folder)
	if err != nil {
		t.Fatal(err)
	}
	from, to := trial.Started.Add(-2*time.Second), trial.Opened.Add(time.Duration(trial.Seconds*1e9)+patience)
	for _, e := range files.Events {
		if e.Time.Before(from) || e.Time.After(to) {
			t.Errorf("trial %s, from %v to %v, has an event outside this period: %+v", trial.Name, from, to, e)
		}
		if e.Line != "" && (!strings.HasPrefix(e.Text, e.Member+" ") || e.Duration < 0 || len(e.Line) > 500) {
			t.Errorf("%s has the invalid event %+v", trial.Name, e)
		}
	}
	return files.Events
}

func checkSnapshots(t *testing.T, dir string, trial *record.Trial) {
	t.Helper()
	all := events(t, dir, trial)
	for _, member := range []string{"m1", "m2", "m3"} {
		for _, kind := range []store.SignalKind{store.SnapshotStarted, store.SnapshotDone} {
			if !slices.ContainsFunc(all, func(e record.Event) bool {
				return e.Kind == string(kind) && e.Member == member && e.Line != ""
			}) {
				t.Errorf("%s: none of the events is %s of member %s (%d events)", trial.Name, kind, member, len(all))
			}
		}
	}
}

func checkElected(t *testing.T, r settle.Reporter, dir string, trial *record.Trial, killed string) {
	t.Helper()
	all := events(t, dir, trial)
	if len(trial.LostMembers) != 1 || trial.LostMembers[0] != killed {
		t.Errorf("%s: %s was killed, but the lost members are %v", trial.Name, killed, trial.LostMembers)
	}
	elections := 0
	for _, e := range all {
		if e.Kind != string(store.Elected) {
			continue
		}
		if elections++; e.Line == "" {
			t.Errorf("%s: an election is not based on a log line, although the logs contain every election: %+v", trial.Name, e)
		}
	}
	if trial.TermChanges != elections { // on a busy machine an election may occur after the window
		r.Errorf("%s: the logs have %d elections, but the window has %d term changes", trial.Name, elections, trial.TermChanges)
	}
	for _, kind := range []store.SignalKind{store.ElectionStarted, store.Elected} {
		if !slices.ContainsFunc(all, func(e record.Event) bool {
			return e.Kind == string(kind) && e.Member != "" && e.Member != killed && e.Line != ""
		}) {
			t.Errorf("%s: after %s was killed, no event %s has another member: %+v", trial.Name, killed, kind, all)
		}
	}
}
