//go:build linux

package e2e_test

import (
	"context"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testing/servers/official"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// leads returns the names of the run's leader and of one other member.
func leads(t *testing.T, members []record.Member) (leader, follower string) {
	t.Helper()
	client := official.Etcd(t, store.Access{Endpoints: []string{members[0].Endpoint}})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	status, err := client.Status(ctx, members[0].Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range members {
		if uint64(m.ID) == status.Leader {
			leader = m.Name
		} else {
			follower = m.Name
		}
	}
	if leader == "" || follower == "" {
		t.Fatalf("the leader has the ID %x, and the members are %+v", status.Leader, members)
	}
	return leader, follower
}

// faulty has a trial during which a test kills or pauses a member, and a second trial.
const faulty = `
name: faulty
order: written
defaults: {store: etcd, connections: 6, clients: 24, key-space: 200, operation: put, timeout: 2s}
trials:
  - {name: first, target: TARGET, warmup: 300ms, duration: 6s}
  - {name: next, target: TARGET, warmup: 300ms, duration: 500ms, timeout: 60s}
`

// startFaulty starts the scenario, waits until the first trial has recorded a one-second interval
// of its window, and returns the leader and a follower.
func (w *world) startFaulty(t *testing.T, target string) (p *startedProgram, leader, follower string) {
	t.Helper()
	dir := w.path("run")
	p = w.start(t, "run", w.file(t, "faulty.yaml", strings.ReplaceAll(faulty, "TARGET", target)), "--out", dir)
	p.measuring(t, dir, "trial-01-first")
	run, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	leader, follower = leads(t, run.Clusters[0].Members)
	return p, leader, follower
}

// With `target: leader`, the load moves to the new leader after an election.
func TestKilledLeaderIsFollowed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p, leader, _ := w.startFaulty(t, "leader")
	if err := syscall.Kill(w.member(t, leader), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	run := openRun(t, w.path("run"), afterLoss(t, p))
	first := byName(t, run, "first")
	checkLoss(t, w, first, leader)
	if rule(first, 14) == "" || first.TermChanges == 0 {
		t.Errorf("the verdict reports no election: %v; the trial has %d term changes", first.Verdict, first.TermChanges)
	}
	files, err := record.OpenTrial(w.path("run"), first.Folder)
	if err != nil {
		t.Fatal(err)
	}
	checkElection(t, files, leader)
	checkFollowed(t, first, files, leader)
	checkNext(t, run)
}

// afterLoss waits for the end of a run that lost a member. The run must be complete.
func afterLoss(t *testing.T, p *startedProgram) record.State {
	t.Helper()
	p.exits(t, exitDone)
	return record.Complete
}

// indefinite contains the kinds of errors after which the store may have executed a write.
var indefinite = map[string]bool{
	"connection_lost": true, "timeout": true, "leader_changed": true, "store_timeout": true, "store_error": true,
}

func checkLoss(t *testing.T, w *world, trial *record.Trial, lost string) {
	t.Helper()
	if len(trial.LostMembers) != 1 || trial.LostMembers[0] != lost || !strings.Contains(rule(trial, 13), lost) {
		t.Errorf("%s was killed, but the lost members are %v and the verdict is %v", lost, trial.LostMembers, trial.Verdict)
	}
	if trial.ErrorsByKind["connection_lost"] == 0 || trial.Operations == 0 {
		t.Errorf("the trial has %d operations and the errors %v", trial.Operations, trial.ErrorsByKind)
	}
	for kind := range trial.ErrorsByKind {
		if !indefinite[kind] && kind != "no_leader" && kind != "not_sent" {
			t.Errorf("errors of the unexpected kind %s: %v", kind, trial.ErrorTexts)
		}
	}
	files, err := record.OpenTrial(w.path("run"), trial.Folder)
	if err != nil {
		t.Fatal(err)
	}
	if last := files.Timeline[len(files.Timeline)-1]; last.OK == 0 {
		t.Errorf("no operation completed in the last second: %+v", last)
	}
	reported := false
	for _, e := range files.Events {
		reported = reported || e.Kind == "member_lost" && e.Member == lost
	}
	if !reported {
		t.Errorf("no event reports that %s was lost: %+v", lost, files.Events)
	}
}

func checkElection(t *testing.T, files *record.Files, before string) {
	t.Helper()
	for _, e := range files.Events {
		if e.Kind == "election" && e.Member != "" && e.Member != before && !e.Time.IsZero() && e.Text != "" {
			return
		}
	}
	t.Errorf("no event reports the election: %+v", files.Events)
}

// checkFollowed checks that at least two members served operations, that a member's role is known
// for each term in which the member served operations, and that a leader served at least 90 % of
// the operations.
func checkFollowed(t *testing.T, trial *record.Trial, files *record.Files, before string) {
	t.Helper()
	roles, names := map[record.ID]map[uint64]string{}, map[record.ID]string{}
	for _, r := range trial.Roles {
		if roles[r.Member] == nil {
			roles[r.Member] = map[uint64]string{}
		}
		roles[r.Member][r.Term], names[r.Member] = r.Role, r.Name
	}
	answered := map[string]int64{}
	for _, i := range files.Intervals {
		if i.Phase != measure.Measured || i.Time != record.Response {
			continue
		}
		id := record.ID(i.Member)
		answered[names[id]] += i.Total()
		if role := roles[id][i.Term]; role == "" {
			t.Errorf("the role of member %v in term %d is unknown: %v", id, i.Term, trial.Roles)
		}
	}
	if len(answered) < 2 || answered[before] == 0 {
		t.Errorf("%s led until it was killed, but the responses came from %v", before, answered)
	}
	served := map[string]uint64{}
	for _, s := range trial.ByRole {
		served[s.Role] += s.Operations
	}
	if 10*served["leader"] < 9*trial.Operations {
		t.Errorf("the trial has %d operations; operations by role are %v", trial.Operations, served)
	}
}

// checkNext checks that the trial after the loss of a member uses a complete cluster.
func checkNext(t *testing.T, run *record.Run) {
	t.Helper()
	next := byName(t, run, "next")
	if len(run.Clusters) != 2 || next.Cluster != run.Clusters[1].ID || len(run.Clusters[1].Members) != 3 {
		t.Errorf("the next trial ran on cluster %s, and the clusters are %+v", next.Cluster, run.Clusters)
	}
	if next.Errors > 0 || next.Operations == 0 || len(next.LostMembers) > 0 || rule(next, 13) != "" {
		t.Errorf("the next trial has %d operations, the errors %v and the lost members %v", next.Operations, next.ErrorsByKind, next.LostMembers)
	}
}

// A member is paused while the window opens, and again while the window closes. Every operation
// must be accounted for, and nothing may hang.
func TestStoppedMemberAcrossTheWindowsEdges(t *testing.T) {
	t.Parallel()
	settle.RetryMeasurement(t, func(r settle.Reporter) {
		w := newWorld(t)
		dir := w.path("run")
		p := w.start(t, "run", w.file(t, "paused.yaml", paused), "--out", dir)
		p.awaitText(t, "warming up")
		run, err := record.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		_, follower := leads(t, run.Clusters[0].Members)
		resume := pause(t, w.member(t, follower))
		p.awaitText(t, "measuring")
		resume()
		p.measuring(t, dir, "trial-01-first")
		pause(t, w.member(t, follower)) // paused until the end of the test
		stoppedAt := time.Now()
		p.exits(t, exitDone)
		// The limit covers the rest of the window, the timeout of 3 s, a last status
		// request to the members, and their shutdown.
		checkBetween(r, "the time until the end", time.Since(stoppedAt), 0, 25*time.Second)

		run = openRun(t, dir, record.Complete)
		first := byName(t, run, "first")
		if first.InFlightAtStart == 0 || first.OldestInFlightAgeNS < int64(100*time.Millisecond) || rule(first, 15) == "" {
			// On a busy machine, the pause may have ended before the window opened.
			r.Errorf("%d operations were carried in, the oldest with an age of %v; the verdict is %v", first.InFlightAtStart, time.Duration(first.OldestInFlightAgeNS), first.Verdict)
		}
		if rule(first, 13) == "" || len(first.LostMembers) != 1 || first.LostMembers[0] != follower {
			t.Errorf("%s was paused until the end, but the lost members are %v and the verdict is %v", follower, first.LostMembers, first.Verdict)
		}
		timeouts := first.ErrorTimes["timeout"]
		if timeouts.Count == 0 || first.Errors != timeouts.Count {
			t.Errorf("the errors are %v", first.ErrorsByKind)
		}
		checkTimeouts(t, r, first, 3*time.Second)
		if next := byName(t, run, "next"); next.Errors > 0 || next.Operations == 0 {
			t.Errorf("the next trial has %d operations and the errors %v", next.Operations, next.ErrorsByKind)
		}
	})
}

// checkTimeouts checks that operations without a response failed at the timeout. If the machine was
// stopped, the operations may fail later. A simulated test of the engine checks the times to the
// nanosecond.
func checkTimeouts(t *testing.T, r settle.Reporter, trial *record.Trial, timeout time.Duration) {
	t.Helper()
	timeouts := trial.ErrorTimes["timeout"]
	first, last := time.Duration(timeouts.Min.NS), time.Duration(timeouts.Max.NS)
	checkBetween(t, "the first timeout", first, timeout*99/100, lifetime)
	checkBetween(t, "the last timeout", last, timeout, lifetime)
	checkBetween(r, "the first timeout", first, timeout*99/100, timeout+500*time.Millisecond)
	checkBetween(r, "the last timeout", last, timeout, timeout+time.Second)
}

const paused = `
name: paused
order: written
defaults: {store: etcd, connections: 6, clients: 24, key-space: 200, operation: get, consistency: local, timeout: 3s, target: all}
trials:
  - {name: first, warmup: 5s, duration: 4s}
  - {name: next, warmup: 300ms, duration: 500ms, preload: false, timeout: 60s}
`
