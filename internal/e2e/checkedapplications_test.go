//go:build linux

package e2e_test

import (
	"cmp"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/results/record"
)

const applicationScenario = `
name: application
defaults: {store: etcd, endpoints: ["ENDPOINT"], connections: 4, timeout: 1s, check: true}
trials:
  - {name: kubernetes, application: kubernetes, nodes: 20, pods-per-node: 15, churn: 30, duration: 6s}
`

// TestLiesToAnApplicationAreFound: what cannot be of an API server's transactions, reads,
// lists and watch events is found, and named; and a server that tells the truth is
// accused of nothing, also where it leaves writes without an answer.
func TestLiesToAnApplicationAreFound(t *testing.T) {
	t.Parallel()
	seeds, err := strconv.Atoi(cmp.Or(os.Getenv("QUORUMBENCH_LIES"), "1"))
	if err != nil {
		t.Fatal(err)
	}
	// Writes are done whose answers are lost with their connections.
	closes := "delay=uniform(0ms,20ms)"
	for at := 1500; at < 6000; at += 250 {
		closes += fmt.Sprintf("; close@%dms", at)
	}
	for name, of := range map[string]struct {
		script string
		want   []string
	}{
		"honest":    {"", nil},
		"closing":   {closes, nil},
		"lost":      {"lie=lost every %d", []string{"lost write"}},
		"twice":     {"lie=twice every %d", []string{"write applied twice"}},
		"absent":    {"lie=absent every %d", []string{"stale read", "lost write"}},
		"damaged":   {"wrong=value every %d", []string{"two values at one revision", "value that nobody wrote"}},
		"behind":    {"lie=behind every %d", []string{"reordered write", "stale read"}},
		"cas":       {closes + "; lie=cas every 2", []string{"compare-and-set on another version"}},
		"lose":      {"watch=lose every %d", []string{"watch event missed"}},
		"duplicate": {"watch=duplicate every %d", []string{"watch event twice"}},
		"reorder":   {"watch=reorder every %d", []string{"watch event out of order"}},
		"invent":    {"watch=invent every %d", []string{"value that nobody wrote"}},
	} {
		script, want := of.script, of.want
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			for seed := range seeds {
				rules, code := fmt.Sprintf("seed=%d; %s", seed, script), exitFailed
				if strings.Contains(script, "%d") {
					rules = fmt.Sprintf("seed=%d; "+script, seed, 151+seed)
				}
				if want == nil {
					code = exitDone
				}
				file := w.file(t, "application.yaml", strings.ReplaceAll(applicationScenario, "ENDPOINT", w.nullServer(t, "--script", rules)))
				dir := w.path(fmt.Sprint("run", seed))
				w.run(t, "run", file, "--seed", fmt.Sprint(seed), "--out", dir).exits(t, code)
				a := byName(t, whole(t, dir, record.Complete), "kubernetes").Answers
				found := uint64(0)
				for _, kind := range want {
					found += a.Wrong[kind]
				}
				if want == nil && len(a.Wrong) > 0 || want != nil && found == 0 {
					t.Errorf("seed %d: found are %v, and is to be one of %q", seed, a.Wrong, want)
				}
				// The null server forgets what was: a watcher that is created again has its end.
				told := a.Watches != nil && a.Watches.Events > 0 && (a.Watches.Progress > 0 || a.Watches.Ended > 0)
				if !told || len(a.Members) != 1 || a.Members[0].Keys < 1000 {
					t.Errorf("seed %d: watchers were told %+v, and members were read as %+v", seed, a.Watches, a.Members)
				}
			}
		})
	}
}

const realApplication = `
name: application
defaults: {store: etcd, members: 3, connections: 8, timeout: 5s, check: true, application: kubernetes, nodes: 20, pods-per-node: 15, churn: 20}
trials:
  - {name: steady, duration: 5s}
  - {name: broken, duration: 10s, faults: [kill leader at 1s for 1s, pause leader at 6s for 700ms]}
`

// TestAnApplicationIsNotAccused: an API server's load on real members is not accused, also
// where what an earlier load left is there, and where members are killed and its calls end
// without an answer.
func TestAnApplicationIsNotAccused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dir := w.path("run")
	w.run(t, "run", w.file(t, "application.yaml", realApplication), "--out", dir).exits(t, exitDone)
	run := whole(t, dir, record.Complete)
	for _, name := range []string{"steady", "broken"} {
		trial := byName(t, run, name)
		a := trial.Answers
		if a == nil || len(a.Wrong) > 0 || a.Failure != "" || len(a.Members) != 3 || a.Watches == nil || a.Watches.Events == 0 || a.Watches.Progress == 0 {
			t.Fatalf("of %s it says %+v", name, a)
		}
		for _, m := range a.Members {
			if m.Failure != "" || m.Keys < 500 || m.Keys != a.Members[0].Keys {
				t.Errorf("a member was read so: %+v", m)
			}
		}
		if a.Operations < trial.Due+3*a.Members[0].Keys || a.Keys < a.Members[0].Keys {
			t.Errorf("%d operations of %d keys were checked, and %d calls were due", a.Operations, a.Keys, trial.Due)
		}
	}
	if a := byName(t, run, "broken").Answers; a.Watches.Resumed == 0 || a.Indefinite < 2 {
		t.Errorf("where the leader was killed, %d writes may have been done, and watchers were told %+v", a.Indefinite, a.Watches)
	}
	w.run(t, "check-answers", dir).exits(t, exitDone)
}
