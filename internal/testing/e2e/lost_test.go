//go:build linux

package e2e_test

import (
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// losing is a trial during which members are lost.
const losing = `
name: losing
defaults: {STORE, connections: 6, clients: 24, key-space: 24, operation: put, timeout: 1s, target: all}
trials:
  - {name: first, warmup: 300ms, duration: 6s}
`

// startLosing starts the trial on a store and waits until the trial has recorded a one-second
// interval of its window.
func (w *world) startLosing(t *testing.T, st store.Store, exec string) *startedProgram {
	t.Helper()
	p := w.start(t, "run", w.file(t, "losing.yaml", withStore(losing, st, exec)), "--out", w.path("run"))
	p.measuring(t, w.path("run"), "trial-01-first")
	return p
}

// lost waits for the end of the run and returns the run's trial. The time limit covers the rest of
// the window, the timeout, a last status request to the members, and their shutdown.
func (w *world) lost(t *testing.T, r settle.Reporter, p *startedProgram) *record.Trial {
	t.Helper()
	since := time.Now()
	p.exits(t, exitDone)
	checkBetween(r, "the time until the end", time.Since(since), 0, 25*time.Second)
	return byName(t, openRun(t, w.path("run"), record.Complete), "first")
}

// A run whose member is killed continues without that member. The verdict and an event name the
// member.
func TestKilledMemberIsNamed(t *testing.T) {
	t.Parallel()
	eachStore(t, nil, func(t *testing.T, st store.Store, exec string) {
		settle.RetryMeasurement(t, func(r settle.Reporter) {
			w := newWorld(t)
			p := w.startLosing(t, st, exec)
			killed := w.aFollower(t, st)
			for _, process := range w.processesOf(killed) {
				if err := syscall.Kill(process.pid, syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
			}
			first := w.lost(t, r, p)
			checkLoss(t, w, first, killed)
			checkNamed(t, w, first, killed)
			if first.TermChanges == 0 && rule(first, 14) != "" {
				t.Errorf("no term changed, but the verdict has the reason %q", rule(first, 14))
			}
		})
	})
}

// If a member is paused until the end of a run, the operations sent to it fail at the timeout. The
// verdict and an event name the paused member.
func TestPausedMemberIsNamed(t *testing.T) {
	t.Parallel()
	eachStore(t, nil, func(t *testing.T, st store.Store, exec string) {
		settle.RetryMeasurement(t, func(r settle.Reporter) {
			w := newWorld(t)
			p := w.startLosing(t, st, exec)
			paused := w.aFollower(t, st)
			for _, process := range w.processesOf(paused) {
				pause(t, process.pid) // paused until the end of the test
			}
			first := w.lost(t, r, p)
			checkPaused(t, r, first)
			checkNamed(t, w, first, paused)
		})
	})
}

// checkPaused checks that all operations sent to the paused member fail at the timeout. Other
// operations may fail only if the leader changed.
func checkPaused(t *testing.T, r settle.Reporter, trial *record.Trial) {
	t.Helper()
	timeouts := trial.ErrorTimes["timeout"]
	if timeouts.Count == 0 || trial.Operations == 0 {
		t.Fatalf("the trial has %d operations and the errors %v", trial.Operations, trial.ErrorsByKind)
	}
	for kind := range trial.ErrorsByKind {
		if kind != "timeout" && kind != "not_sent" && (trial.TermChanges == 0 || !indefinite[kind]) {
			t.Errorf("errors of the unexpected kind %s: %v", kind, trial.ErrorTexts)
		}
	}
	checkTimeouts(t, r, trial, time.Second)
}

// checkNamed checks that the verdict and an event list the lost members.
func checkNamed(t *testing.T, w *world, trial *record.Trial, lost ...string) {
	t.Helper()
	if got := slices.Sorted(slices.Values(trial.LostMembers)); !slices.Equal(got, lost) {
		t.Errorf("%s: the lost members are %v, but the record has %v", trial.Name, lost, got)
	}
	files, err := record.OpenTrial(w.path("run"), trial.Folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range files.Events {
		t.Logf("%s: event %s at %v: %s", trial.Name, e.Kind, e.Time.Sub(trial.Started), e.Text)
	}
	t.Logf("%s: %v %v", trial.Name, trial.ErrorsByKind, trial.ErrorTexts)
	for _, name := range lost {
		if !strings.Contains(rule(trial, 13), name) {
			t.Errorf("%s: %s was lost, but the verdict is %v", trial.Name, name, trial.Verdict)
		}
		if !slices.ContainsFunc(files.Events, func(e record.Event) bool { return e.Kind == "member_lost" && e.Member == name && e.Text != "" }) {
			t.Errorf("%s: no event reports that %s was lost: %+v", trial.Name, name, files.Events)
		}
	}
}

// A proxy's servers lose their quorum while the proxies keep running. Every operation must then end
// at its timeout at the latest and be counted, and the verdict must name the members whose servers
// were killed.
func TestProxyWithoutAQuorum(t *testing.T) {
	t.Parallel()
	eachStore(t, isProxy, func(t *testing.T, st store.Store, exec string) {
		settle.RetryMeasurement(t, func(r settle.Reporter) {
			w := newWorld(t)
			p := w.startLosing(t, st, exec)
			for _, name := range []string{"m2", "m3"} {
				if err := syscall.Kill(w.member(t, name), syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
			}
			first := w.lost(t, r, p)
			checkNamed(t, w, first, "m2", "m3")
			files, err := record.OpenTrial(w.path("run"), first.Folder)
			if err != nil {
				t.Fatal(err)
			}
			if last := files.Timeline[len(files.Timeline)-1]; last.OK > 0 || last.Errors == 0 {
				t.Errorf("without a quorum, the last second of the timeline is %+v", last)
			}
			if first.ErrorTimes["timeout"].Count > 0 {
				checkTimeouts(t, r, first, time.Second)
			}
			for kind, times := range first.ErrorTimes {
				checkBetween(r, "the last "+kind, time.Duration(times.Max.NS), 0, 2*time.Second)
			}
		})
	})
}

// isProxy reports whether members forward requests to another server.
func isProxy(st store.Store) bool {
	l, err := st.Launch(store.LaunchSpec{Cluster: "none", Exec: "none", Self: "none", Members: []kv.MemberPlace{
		{Name: "m1", Host: "127.0.0.1", Ports: []int{1, 2, 3, 4}, Dir: "/none"},
	}})
	return err == nil && len(l.Processes[0].Backends) > 0
}
