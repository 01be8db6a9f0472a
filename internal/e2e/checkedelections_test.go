//go:build linux

package e2e_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/store"
)

const electionScenario = `
name: application
defaults: {store: PROTOCOL, endpoints: ["ENDPOINT"], timeout: 1s, check: true}
trials:
  - {name: election, application: election-KIND, elections: 5, candidates: 4, tenure: 250ms, ttl: 10s, duration: 4s}
`

// lyingElection is the load of elections, by a race or a queue, for null servers of a protocol.
func lyingElection(protocol, kind string) string {
	return strings.NewReplacer("PROTOCOL", protocol, "KIND", kind).Replace(electionScenario)
}

// closings has a server close connections behind half of an answer: what was asked for was
// done, and nobody knows.
const closings = "half every 37; close@1500ms; close@2500ms"

// watched says that the events of candidates that wait were checked.
func watched(a *record.Answers) bool {
	return a.Watches.Events >= 10 && len(a.Members) == 1 && a.Members[0].Failure == "" && a.Operations > 100
}

// TestLiesToElectionsOnLeasesAreFound: keys that are made and removed by transactions, their
// watchers, and who leads by them.
func TestLiesToElectionsOnLeasesAreFound(t *testing.T) {
	t.Parallel()
	testLies(t, "election", lyingElection("etcd", "race"), 23, map[string]lies{
		"honest":    {"", nil},
		"closing":   {closings, nil},
		"lost":      {"lie=lost every %d", []string{"lost write|resurrected write|compare-and-set on another version"}},
		"twice":     {"lie=twice every %d", []string{"write applied twice"}},
		"absent":    {"lie=absent every %d", []string{"stale read|lost write"}},
		"damaged":   {"wrong=value every %d", []string{"two values at one revision|value that nobody wrote"}},
		"behind":    {"lie=behind every %d", []string{"reordered write|stale read"}},
		"cas":       {"lie=cas every 11", []string{"compare-and-set on another version", "lock held by two"}},
		"ended":     {"lie=lease every 7", []string{"lease that ended early"}},
		"lose":      {"watch=lose every %d", []string{"watch event missed"}},
		"duplicate": {"watch=duplicate every %d", []string{"watch event twice"}},
		"reorder":   {"watch=reorder every 7", []string{"watch event out of order"}},
		"invent":    {"watch=invent every %d", []string{"value that nobody wrote"}},
	}, watched)
}

// TestLiesToElectionsOnNodesAreFound: nodes that end with sessions, of one name and
// numbered, and watches that fire once.
func TestLiesToElectionsOnNodesAreFound(t *testing.T) {
	t.Parallel()
	of := map[string]lies{
		"honest":  {"", nil},
		"closing": {closings, nil},
		"lost":    {"lie=lost every 13", []string{"lost write|resurrected write"}},
		"absent":  {"lie=absent every %d", []string{"stale read|lost write"}},
		"damaged": {"wrong=value every %d", []string{"two values at one revision|value that nobody wrote"}},
		"ended":   {"lie=lease every 7", []string{"value that nobody wrote|lost write|stale read"}},
		"lose":    {"watch=lose every 5", []string{"watch event missed"}},
	}
	t.Run("queue", func(t *testing.T) {
		t.Parallel()
		testLies(t, "election", lyingElection("zookeeper", "queue"), 23, of, watched)
	})
	race := map[string]lies{"cas": {"lie=cas every 11", []string{"compare-and-set on another version"}}}
	for name, lie := range of {
		race[name] = lie
	}
	t.Run("race", func(t *testing.T) {
		t.Parallel()
		testLies(t, "election", lyingElection("zookeeper", "race"), 23, race, watched)
	})
}

// TestLiesToElectionsOnLocksAreFound: locks that sessions have, and their fencing tokens.
func TestLiesToElectionsOnLocksAreFound(t *testing.T) {
	t.Parallel()
	testLies(t, "election", lyingElection("consul", "race"), 23, map[string]lies{
		"honest":  {"", nil},
		"closing": {closings, nil},
		"lost":    {"lie=lost every 11", []string{"lost write"}},
		"absent":  {"lie=absent every %d", []string{"stale read"}},
		"damaged": {"wrong=value every %d", []string{"two values at one revision|value that nobody wrote"}},
		"cas":     {"lie=cas every 11", []string{"lock held by two"}},
	}, watched)
}

const realElections = `
name: application
defaults: {STORE, members: 3, timeout: 10s, check: true, elections: 8, candidates: 4, tenure: 700ms, ttl: 10s, duration: DURATION, faults: [FAULTS]}
trials:
  - {name: race, application: election-race}
`

// TestNoStoreIsAccusedByElections: of candidates on real members whose leader is killed, by
// a race, and where the store has an order of its own for them, by a queue.
func TestNoStoreIsAccusedByElections(t *testing.T) {
	t.Parallel()
	duration, faults, times := "4s", "kill leader at 1s for 300ms", 1
	if n := os.Getenv("QUORUMBENCH_CHECKED"); n != "" {
		duration, faults = "30s", "kill leader at 4s for 1s, pause leader at 12s for 3s, kill follower at 20s for 2s"
		if _, err := fmt.Sscan(n, &times); err != nil {
			t.Fatal(err)
		}
	}
	queues := map[string]bool{"etcd": true, "zookeeper": true, "consul": false}
	has := func(st store.Store) bool { _, ok := queues[st.Name()]; return ok }
	eachStore(t, has, func(t *testing.T, st store.Store, exec string) {
		w := newWorld(t)
		text, names := realElections, []string{"race"}
		if queues[st.Name()] {
			text, names = text+"  - {name: queue, application: election-queue}\n", []string{"race", "queue"}
		}
		text = strings.NewReplacer("DURATION", duration, "FAULTS", faults).Replace(text)
		for n := range times {
			dir := w.path(fmt.Sprint("run", n))
			w.run(t, "run", w.file(t, "application.yaml", of(text, st, exec)), "--seed", fmt.Sprint(n), "--out", dir).exits(t, exitDone)
			for _, name := range names {
				a := byName(t, whole(t, dir, record.Complete), name).Answers
				if a == nil || len(a.Wrong) > 0 || a.Failure != "" || len(a.Members) != 3 || a.Watches == nil || a.Watches.Events == 0 {
					t.Fatalf("of %s it says %+v", name, a)
				}
			}
			w.run(t, "check-answers", dir).exits(t, exitDone)
		}
	})
}
