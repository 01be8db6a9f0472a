//go:build linux

package e2e_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	ops "github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

const electionScenario = `
name: application
defaults: {store: PROTOCOL, endpoints: ["ENDPOINT"], timeout: 1s, verify: true}
trials:
  - {name: election, application: election-KIND, elections: 5, candidates: 4, tenure: 100ms, ttl: TTL, duration: DURATION}
`

// lyingElection returns an election load, with a race or a queue, for null servers with the given
// protocol. A longer load reveals more about keys with leases, because a lease is renewed only two
// or three times within its TTL. With a TTL below 17 s, a session could expire while its load waits
// for a missing response, and verification would not know whether the session is still alive.
func lyingElection(protocol, kind, ttl, duration string) string {
	return strings.NewReplacer("PROTOCOL", protocol, "KIND", kind, "TTL", ttl, "DURATION", duration).Replace(electionScenario)
}

// closings makes a server close connections in the middle of a response. The server has executed
// the request, but the client does not know that.
const closings = "half every 37; close@1200ms; close@1600ms"

// sampled returns all entries in a long test, otherwise only the entries with the given names. Each
// store has its own kinds of responses, but verification handles them all in the same way.
func sampled(all map[string]lies, some ...string) map[string]lies {
	if !settle.Long() {
		maps.DeleteFunc(all, func(name string, _ lies) bool { return !slices.Contains(some, name) })
	}
	return all
}

// watched reports whether verification checked events of waiting candidates.
func watched(a *record.Verification) bool {
	return a.Watches.Events >= 10 && len(a.Members) == 1 && a.Members[0].Failure == "" && a.Operations > 100
}

// TestLiesToElectionsOnLeasesAreFound covers keys that transactions create and remove, the watchers
// of these keys, and the leadership that the keys grant.
func TestLiesToElectionsOnLeasesAreFound(t *testing.T) {
	t.Parallel()
	testLies(t, "election", lyingElection("etcd", "race", "10s", "2s"), 11, sampled(map[string]lies{
		"honest":    {"", nil},
		"closing":   {closings, nil},
		"lost":      {"lie=lost every %d", []string{"lost write|resurrected write|compare-and-set on wrong version"}},
		"twice":     {"lie=twice every 5", []string{"write applied twice"}},
		"absent":    {"lie=absent every %d", []string{"stale read|lost write"}},
		"damaged":   {"wrong=value every %d", []string{"two values at one revision|unwritten value"}},
		"behind":    {"lie=behind every %d", []string{"reordered write|stale read"}},
		"cas":       {"lie=cas every 11", []string{"compare-and-set on wrong version"}},
		"lose":      {"watch=lose every 11", []string{"missing watch event"}},
		"duplicate": {"watch=duplicate every %d", []string{"duplicate watch event"}},
		"reorder":   {"watch=reorder every 7", []string{"reordered watch event"}},
		"invent":    {"watch=invent every %d", []string{"unwritten value"}},
	}, "closing", "twice", "cas", "lose", "reorder"), watched)
	testLies(t, "election", lyingElection("etcd", "race", "10s", "5s"), 11, map[string]lies{
		"ended": {"lie=lease every 2", []string{"lease ended early"}},
		"held":  {"lie=cas every %d", []string{"two lock holders"}},
	}, watched)
}

// TestLiesToElectionsOnNodesAreFound covers nodes that are deleted with their sessions (with fixed
// names and with sequence numbers) and watches that fire once.
func TestLiesToElectionsOnNodesAreFound(t *testing.T) {
	t.Parallel()
	for kind, some := range map[string][]string{"race": {"closing", "lost", "cas", "outlive"}, "queue": {"closing", "lost", "ended", "outlive"}} {
		all := map[string]lies{
			"honest":  {"", nil},
			"closing": {closings, nil},
			"lost":    {"lie=lost every 13", []string{"lost write|resurrected write|compare-and-set on wrong version"}},
			"absent":  {"lie=absent every %d", []string{"stale read|lost write"}},
			"damaged": {"wrong=value every %d", []string{"two values at one revision|unwritten value"}},
			"ended":   {"lie=lease every 7", []string{"unwritten value|lost write|stale read"}},
			"outlive": {"lie=outlive every 1", []string{"key outlived its session"}},
		}
		if kind == "race" { // in a queue, candidates create nodes with different numbers
			all["cas"] = lies{"lie=cas every 11", []string{"compare-and-set on wrong version"}}
		}
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			// Only a fifth of the requests are reads of a single node.
			testLies(t, "election", lyingElection("zookeeper", kind, "20s", "2s"), 3, sampled(all, some...), watched)
			// The next ping reveals a missing event. A session sends a ping every third of its TTL.
			testLies(t, "election", lyingElection("zookeeper", kind, "10s", "5s"), 5, sampled(map[string]lies{
				"lose": {"watch=lose every %d", []string{"missing watch event"}},
			}, map[string]string{"race": "lose"}[kind]), watched)
		})
	}
}

// TestLiesToElectionsOnLocksAreFound covers locks that sessions hold, and the fencing tokens.
func TestLiesToElectionsOnLocksAreFound(t *testing.T) {
	t.Parallel()
	testLies(t, "election", lyingElection("consul", "race", "10s", "4s"), 23, sampled(map[string]lies{
		"honest":  {"", nil},
		"closing": {closings, nil},
		"lost":    {"lie=lost every 11", []string{"lost write"}},
		"absent":  {"lie=absent every %d", []string{"stale read"}},
		"damaged": {"wrong=value every %d", []string{"two values at one revision|unwritten value"}},
		"cas":     {"lie=cas every 11", []string{"two lock holders"}},
	}, "closing", "lost", "cas"), watched)
}

const realElections = `
name: application
defaults: {STORE, members: 3, timeout: 10s, verify: true, elections: 8, candidates: 4, tenure: 500ms, ttl: 10s, duration: DURATION, faults: [FAULTS]}
trials:
`

// TestNoStoreIsAccusedByElections runs candidates on real members whose leader is killed: in a race
// or a queue in CI, and in both in a long test.
func TestNoStoreIsAccusedByElections(t *testing.T) {
	t.Parallel()
	replace := window("3s", "kill leader at 1s for 300ms", "30s", manyFaults)
	kinds := map[string][]string{"etcd": {"queue"}, "zookeeper": {"race"}, "consul": {"race"}}
	if os.Getenv(manyChecked) != "" {
		kinds["etcd"], kinds["zookeeper"] = []string{"race", "queue"}, []string{"race", "queue"}
	}
	checkedRuns(t, func(st store.Store) bool { return kinds[st.Name()] != nil }, func(st store.Store) string {
		text := strings.NewReplacer(replace...).Replace(realElections)
		for _, kind := range kinds[st.Name()] {
			text += fmt.Sprintf("  - {name: %s, application: election-%s}\n", kind, kind)
		}
		return text
	}, func(t *testing.T, st store.Store, _ string, run *record.Run) {
		for _, kind := range kinds[st.Name()] {
			if a := unaccused(t, run, kind); a.Watches == nil || a.Watches.Events == 0 {
				t.Errorf("trial %s: the verification is %+v", kind, a)
			}
		}
	})
}

const realEnds = `
name: application
defaults: {STORE, members: 3, timeout: 10s, verify: true, duration: DURATION, faults: [FAULTS]}
trials:
`

// trialsWithEnds contains the trials of realEnds by name.
var trialsWithEnds = map[string]string{
	"queue":      "application: election-queue, elections: 8, candidates: 4, tenure: 500ms",
	"race":       "application: election-race, elections: 8, candidates: 4, tenure: 500ms",
	"membership": "application: membership, connections: 8, services: 20, instances-per-service: 5, discovery-clients: 20, services-per-client: 4, instance-churn: 20",
	"patroni":    "application: patroni, clusters: 8, members-per-cluster: 3, loop-wait: 1s, ttl: 10s, retry-timeout: 1s",
}

// TestNodesThatEndWithTheirSessionsAreNotAccused kills or pauses the leader of a real ZooKeeper
// while sessions are closed. The history must contain sessions whose end was acknowledged, and no
// node may outlive its session. CI tests one of the applications.
func TestNodesThatEndWithTheirSessionsAreNotAccused(t *testing.T) {
	t.Parallel()
	replace := window("3s", "kill leader at 2600ms for 380ms", "20s",
		"kill leader at 4s for 1s, pause leader at 12s for 3s, kill follower at 15s for 1s, pause leader at 18400ms for 1500ms")
	names := settle.Sample(t, 1, slices.Sorted(maps.Keys(trialsWithEnds)))
	checkedRuns(t, func(st store.Store) bool { return st.Name() == "zookeeper" }, func(store.Store) string {
		text := realEnds
		for _, name := range names {
			text += fmt.Sprintf("  - {name: %s, %s}\n", name, trialsWithEnds[name])
		}
		return strings.NewReplacer(replace...).Replace(text)
	}, func(t *testing.T, _ store.Store, dir string, run *record.Run) {
		known := 0
		for _, name := range names {
			unaccused(t, run, name)
			ends := endsIn(t, dir, name)
			t.Logf("trial %s: the history records the end of the session for %d keys", name, ends)
			known += ends
		}
		if known == 0 {
			t.Error("no history records the end of a session for any key")
		}
	})
}

// endsIn returns how often a trial's history records that a session's end deleted a key.
func endsIn(t *testing.T, dir, trial string) (n int) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "trial-*-"+trial, "history-*"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("the history files are %q: %v", paths, err)
	}
	set, err := ops.Open(paths...)
	if err != nil {
		t.Fatal(err)
	}
	err = set.Read(func(all []ops.Op) error {
		for i := range all {
			if all[i].Kind == kv.Ephemeral && all[i].Revision > 0 {
				n++
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}
