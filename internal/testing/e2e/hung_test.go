//go:build linux

package e2e_test

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/registry"
	"github.com/quorumbench/quorumbench/internal/testing/servers/official"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// hanging is a trial in which the leader is paused. It uses the default operation timeout.
const hanging = `
name: hanging
defaults: {store: NAME, connections: 6, key-space: 200, operation: put, target: leader, settings: {SETTINGS}}
trials:
  - {name: first, LOAD, warmup: 1s, duration: 10s}
`

// hang runs the trial with the given load and pauses the leader in the measurement window. It
// returns the result, the leader's name, and the time of the pause.
func (w *world) hang(t *testing.T, st store.Store, settings, load string) (first *record.Trial, leader string, stopped time.Time) {
	t.Helper()
	dir := w.path("run")
	which := st.Name()
	if exec := server(t, st); exec != "" {
		which += fmt.Sprintf(", exec: %q", exec)
	}
	text := strings.NewReplacer("NAME", which, "SETTINGS", settings, "LOAD", load).Replace(hanging)
	p := w.start(t, "run", w.file(t, "hanging.yaml", text), "--out", dir)
	p.measuring(t, dir, "trial-01-first")
	leader = w.theLeader(t, st, dir)
	stopped = time.Now()
	for _, process := range w.processesOf(leader) {
		pause(t, process.pid) // paused until the end of the test
	}
	p.end(t) // the verdict does not matter
	return byName(t, openRun(t, dir, record.Complete), "first"), leader, stopped
}

// checkHung checks that the election's time comes from the members' logs, that the election is
// recorded once and within the window, and that the verdict lists only the member that was paused.
// On a busy machine the election may occur after the window; checkHung then reports an error to r
// and returns false.
func checkHung(t *testing.T, r settle.Reporter, w *world, first *record.Trial, leader string, stopped time.Time) (elected time.Time, ok bool) {
	t.Helper()
	elections := 0
	for _, e := range events(t, w.path("run"), first) {
		t.Logf("%v: %s: %s", e.Time.Sub(stopped), e.Kind, e.Text)
		if e.Kind != string(store.Elected) || e.Time.Before(stopped) {
			continue
		}
		if e.Line == "" || e.Member == leader {
			t.Errorf("the election %v after the pause has no log line or elected the paused member: %+v", e.Time.Sub(stopped), e)
		}
		elections++
		elected = e.Time
	}
	if elections == 0 || first.TermChanges != elections || rule(first, 14) == "" {
		r.Errorf("the logs have %d elections, the window has %d term changes, and the verdict is %v", elections, first.TermChanges, first.Verdict)
		return elected, false
	}
	if len(first.LostMembers) != 1 || first.LostMembers[0] != leader || !strings.Contains(rule(first, 13), leader) {
		t.Errorf("%s was paused, but the lost members are %v and the verdict is %v", leader, first.LostMembers, first.Verdict)
	}
	return elected, true
}

// A paused leader costs only the time of the election (according to the members' logs), not the
// operation timeout: the longest gap is at most half a second longer than the election. Operations
// to which the paused member did not respond are attributed to the role leader, which the member
// had when it was paused.
func TestHungLeaderCostsTheElection(t *testing.T) {
	t.Parallel()
	all := map[string]string{"etcd": "", "etcdv2": "", "consul": "", "zookeeper": "heap: 64m, tick-time: 500"}
	for _, name := range settle.Sample(t, 1, slices.Sorted(maps.Keys(all))) {
		settings := all[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st, err := registry.Lookup(name)
			if err != nil {
				t.Fatal(err)
			}
			settle.RetryMeasurement(t, func(r settle.Reporter) {
				w := newWorld(t)
				first, leader, stopped := w.hang(t, st, settings, "arrival: constant, rate: 200")
				elected, ok := checkHung(t, r, w, first, leader, stopped)
				if !ok {
					return
				}
				election := elected.Sub(stopped)
				if most := election + 500*time.Millisecond; first.LongestGap > most.Seconds() {
					r.Errorf("according to the logs, the election took %v, but the longest gap is %v s", election, first.LongestGap)
				}
				t.Logf("according to the logs, the election took %v; the longest gap is %v s", election, first.LongestGap)
				checkCharged(t, first)
			})
		})
	}
}

// checkCharged checks that with target leader, at least 90 % of the operations and of the timeouts
// are attributed to a leader. The others may have been sent while the leader was unknown.
func checkCharged(t *testing.T, first *record.Trial) {
	t.Helper()
	served, failed := map[string]uint64{}, map[string]uint64{}
	for _, s := range first.ByRole {
		served[s.Role] += s.Operations
		failed[s.Role] += s.Errors
	}
	if 10*served["leader"] < 9*first.Operations {
		t.Errorf("%d operations succeeded; by role: %v", first.Operations, served)
	}
	if timeouts := first.ErrorsByKind["timeout"]; failed["leader"] < timeouts*9/10 {
		t.Errorf("the errors are %v with %d timeouts, but the errors by role are %v", first.ErrorsByKind, timeouts, failed)
	}
}

// A closed loop sends less while a member is paused. The trial reports how many clients waited for
// that member's responses, and for how long.
func TestHungLeaderHoldsClients(t *testing.T) {
	t.Parallel()
	st, err := registry.Lookup("etcd")
	if err != nil {
		t.Fatal(err)
	}
	settle.RetryMeasurement(t, func(r settle.Reporter) {
		w := newWorld(t)
		first, leader, stopped := w.hang(t, st, "", "clients: 24")
		elected, ok := checkHung(t, r, w, first, leader, stopped)
		if !ok {
			return
		}
		longest := time.Duration(first.LongestStrandedNS)
		checkBetween(t, "the number of clients that waited for the paused member", first.StrandedClients, 1, 24)
		checkBetween(t, "the longest wait of these clients", longest, 0, lifetime)
		checkBetween(r, "the longest wait of these clients", longest, 5*time.Second, 10*time.Second+500*time.Millisecond)
		t.Logf("the election ended after %v; %d clients waited for the paused member for up to %v", elected.Sub(stopped), first.StrandedClients, longest)
		report := w.run(t, "report", w.path("run")).exits(t, exitDone).stdout.String()
		if says := fmt.Sprintf("%d clients waited for a member for up to ", first.StrandedClients); !strings.Contains(report, says) || !strings.Contains(report, ", although the load had already moved to another member") {
			t.Errorf("the report does not contain %q:\n%s", says, report)
		}
	})
}

// `check perf` handles a hanging leader as a trial does: requests that were sent to the leader
// before the election are lost, and all others are written. (There are as many clients as writes,
// so that a missing response blocks no other write.)
func TestHungLeaderInACheck(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, endpoints := w.playground(t, "3")
	client := official.Etcd(t, store.Access{Endpoints: endpoints})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	p := w.start(t, "check", "perf", "--rate", "500", "--clients", "5000", "--conns", "10", "--duration", "10s", "--target", "leader",
		"--endpoints", strings.Join(endpoints, ","))
	eventually(t, patience, "a thousand keys were written", func() bool {
		r, err := client.Get(ctx, "quorumbench/check-perf/", clientv3.WithPrefix(), clientv3.WithCountOnly())
		return err == nil && r.Count > 1000
	})
	leader := w.etcdLeader(ctx, t, client, endpoints)
	resume := pause(t, w.member(t, leader))
	p.awaitText(t, "cleaning up")
	resume()
	p.exits(t, exitFailed)
	found := regexp.MustCompile(`([\d.]+) writes/s`).FindStringSubmatch(p.stdout.String())
	if found == nil {
		t.Fatalf("the output contains no throughput:\n%s", p.stdout.String())
	}
	// An election takes one or two of the ten seconds, so the check still writes at least 250 keys
	// per second.
	if written, err := strconv.ParseFloat(found[1], 64); err != nil || written < 250 {
		t.Errorf("the throughput was %s writes per second", found[1])
	}
}

// etcdLeader returns the name of the leader.
func (w *world) etcdLeader(ctx context.Context, t *testing.T, client *clientv3.Client, endpoints []string) string {
	t.Helper()
	status, err := client.Status(ctx, endpoints[0])
	if err != nil {
		t.Fatal(err)
	}
	list, err := client.MemberList(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range list.Members {
		if m.ID == status.Leader {
			return m.Name
		}
	}
	t.Fatalf("the leader has the ID %x, and the members are %v", status.Leader, list.Members)
	return ""
}
