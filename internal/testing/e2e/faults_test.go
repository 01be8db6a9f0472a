//go:build linux

package e2e_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/host/network"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

const faultsScenario = `
name: faulty
defaults: {STORE, connections: 3, clients: 6, key-space: 60, timeout: 5s, warmup: 300ms}
trials:
  - name: first
    mix: {put: 1, get: 1}
    duration: 8s
    faults:
      - pause leader at 1500ms for 700ms
      - {at: 6s, do: kill, member: leader, for: 500ms}
`

// On every store, quorumbench injects each fault on the member that is leader at that time, and
// heals the fault. After each fault the cluster is complete again. The verdict does not count the
// faults against the trial.
func TestFaultsAreInjectedAndHealed(t *testing.T) {
	t.Parallel()
	eachStore(t, nil, func(t *testing.T, st store.Store, exec string) {
		w, attempt := newWorld(t), 0
		// A lack of CPU time can cause additional elections.
		settle.RetryMeasurement(t, func(r settle.Reporter) {
			attempt++
			dir := w.path(fmt.Sprintf("run%d", attempt))
			p := w.run(t, "run", w.file(t, "faulty.yaml", withStore(faultsScenario, st, exec)), "--out", dir).exits(t, exitDone)
			trial := byName(t, openRun(t, dir, record.Complete), "first")
			_, table, _ := strings.Cut(p.stdout.String(), "\nOutages")
			if len(trial.Faults) != 2 {
				t.Fatalf("the faults are %+v", trial.Faults)
			}
			files, err := record.OpenTrial(dir, trial.Folder)
			if err != nil {
				t.Fatal(err)
			}
			for i, f := range trial.Faults {
				t.Logf("%+v", f)
				if f.Failure != "" || f.BeganAt == nil || f.HealedAt == nil || f.RecoveredAt == nil {
					t.Errorf("the fault had no effect: %+v", f)
					continue
				}
				if f.Role != "leader" || f.Member == "" || (f.EndedAt != nil) != (i == 1) {
					t.Errorf("the fault was injected on the %s %s", f.Role, f.Member)
				}
				if lasted := *f.HealedAt - *f.BeganAt; lasted < []float64{0.7, 0.5}[i] || *f.BeganAt < f.ScheduledAt {
					t.Errorf("the outage lasted %g s, beginning at %g s", lasted, *f.BeganAt)
				}
				if f.LongestGapBefore != nil && !strings.Contains(table, "\n"+f.Description+" ") {
					t.Errorf("the table has no %s:\n%s", f.Description, p.stdout.String())
				}
				if c := f.Clients; c == nil || c.Clients != 6 || c.Worst < c.Median || c.Worst > 0 && f.Outage != nil && c.Worst < *f.Outage-0.01 {
					t.Errorf("the outages of the clients are %+v, but the outage of the whole load is %v", c, f.Outage)
				}
				for _, kind := range []string{record.FaultBegan, record.FaultHealed, record.FaultReady} {
					n := 0
					for _, e := range files.Events {
						if e.Kind == kind && e.Member == f.Member {
							n++
						}
					}
					if n == 0 {
						t.Errorf("no event %s of member %s is recorded", kind, f.Member)
					}
				}
			}
			for _, number := range []int{1, 2, 3, 4, 11, 13, 14, 18, 31} {
				if why := rule(trial, number); why != "" {
					r.Errorf("the verdict has a reason that should be absent: %s", why)
				}
			}
			if trial.TermChangesInFaults != trial.TermChanges {
				r.Errorf("%d elections, %d of them during faults", trial.TermChanges, trial.TermChangesInFaults)
			}
		})
	})
}

const watchedScenario = `
name: watched
defaults: {store: etcd, connections: 3, clients: 6, key-space: 20, timeout: 5s, warmup: 300ms, duration: 7s}
trials:
  - name: first
    mix: {put: 4, keepalive: 1}
    watch: {watchers: 6, streams: 3}
    faults: [pause follower at 1500ms for 700ms, pause leader at 4s for 1s]
`

// On a real etcd, the watchers of a paused follower receive events late, and no watcher receives
// events while there is no leader. No event is lost, and no lease expires. A write that is in
// flight at the leader may be executed late or never.
func TestWatchersGetLateEventsInAFault(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dir := w.path("run")
	p := w.run(t, "run", w.file(t, "watched.yaml", watchedScenario), "--out", dir).exits(t, exitDone)
	trial := byName(t, openRun(t, dir, record.Complete), "first")
	if len(trial.Faults) != 2 {
		t.Fatalf("the faults are %+v", trial.Faults)
	}
	for _, f := range trial.Faults {
		if f.Failure != "" || f.Watch == nil || f.Watch.MaxDelay == nil || f.Watch.MaxDelayBefore == nil || f.Watch.Lost == nil {
			t.Fatalf("the fault is %+v, and its watch results are %+v", f, f.Watch)
		}
		late, before := lateClass(*f.Watch.MaxDelay), lateClass(*f.Watch.MaxDelayBefore)
		t.Logf("%s: the maximum delay of an event is %g s (before the fault %g s), and %d events are late", f.Description, *f.Watch.MaxDelay, *f.Watch.MaxDelayBefore, f.Watch.Late)
		if *f.Watch.Lost != 0 || f.Watch.EndedWatchers != 0 || f.Leases != nil || (f.Watch.Late > 0) != (late > before) {
			t.Errorf("the watch and lease results of %s are %+v and %+v", f.Description, f.Watch, f.Leases)
		}
	}
	if latest := *trial.Faults[0].Watch.MaxDelay; latest < 0.5 {
		t.Errorf("a follower was paused for 0.7 s, but the maximum delay of an event is %g s", latest)
	}
	// While no writes succeed, there are no events, either.
	if f := trial.Faults[1]; f.Outage != nil && (f.Watch.Outage == nil || *f.Watch.Outage < *f.Outage-0.1) {
		t.Errorf("the outage lasted %g s, but the watch results are %+v", *f.Outage, f.Watch)
	}
	if _, table, _ := strings.Cut(p.stdout.String(), "\nOutages"); !strings.Contains(table, "late events") {
		t.Errorf("the table of outages has no column for late events:\n%s", p.stdout.String())
	}
}

// lateClass returns the lateness class of an event that arrived after the given number of seconds,
// or -1 if the event was not late.
func lateClass(seconds float64) int {
	ms := int64(math.Round(seconds * 1000))
	if ms < measure.MinWait {
		return -1
	}
	return measure.LateClass(ms)
}

// TestFaultsEndWithTheRun ends a run during a fault, with Ctrl-C or SIGKILL. A paused or cut-off
// member must end with the run, and the members' network must be removed. CI tests two of the
// cases.
func TestFaultsEndWithTheRun(t *testing.T) {
	t.Parallel()
	for _, of := range settle.Sample(t, 2, []struct {
		fault  string
		signal syscall.Signal
	}{
		{"pause leader", syscall.SIGKILL}, {"pause leader", syscall.SIGINT}, {"isolate follower", syscall.SIGINT}, {"isolate follower", syscall.SIGKILL},
	}) {
		t.Run(fmt.Sprintf("%s %v", of.fault, of.signal), func(t *testing.T) {
			fault, signal := of.fault, of.signal
			t.Parallel()
			if err := network.CheckSupport(); err != nil && fault == "isolate follower" {
				t.Skip(err)
			}
			w := newWorld(t)
			dir := w.path("run")
			p := w.start(t, "run", w.file(t, "killed.yaml", strings.Replace(killed, "FAULTS", fault+" at 1s for 9m", 1)), "--out", dir)
			p.measuring(t, dir, "trial-01-first")
			eventually(t, patience, "the fault began", func() bool {
				files, err := record.OpenTrial(dir, "trial-01-first")
				return err == nil && slices.ContainsFunc(files.Events, func(e record.Event) bool { return e.Kind == record.FaultBegan })
			})
			member := addressOf(t, dir)
			if member == nil {
				t.Error("the record does not contain the members")
			}
			p.signal(t, signal)
			<-p.ended
			if fault == "isolate follower" {
				nothingLeft(t, w, member)
			}
			eventually(t, patience, "the members ended", func() bool { return len(w.processes()) == 0 })
			if signal == syscall.SIGKILL {
				return
			}
			first := byName(t, openRun(t, dir, record.Interrupted), "first")
			if len(first.Faults) != 1 || first.Faults[0].HealedAt == nil || first.Faults[0].Failure == "" || rule(first, 31) == "" {
				t.Errorf("the faults of the interrupted trial are %+v, and the verdict is %v", first.Faults, first.Verdict)
			}
		})
	}
}

// Faults cannot be injected into a running cluster that quorumbench did not start.
func TestFaultsOfARunningClusterAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	running := w.file(t, "running.yaml", `trials: [{store: etcd, endpoints: "127.0.0.1:1", operation: put, duration: 5s}]`)
	w.run(t, "run", running, "--set", "faults=kill leader at 1s for 1s").exits(t, exitUsage).oneSentence(t, "clusters that quorumbench starts")
}
