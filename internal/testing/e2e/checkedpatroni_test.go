//go:build linux

package e2e_test

import (
	"os"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/store"
)

const patroniScenario = `
name: application
defaults: {store: PROTOCOL, endpoints: ["ENDPOINT"], timeout: 1s, verify: true}
trials:
  - {name: patroni, application: patroni, clusters: 8, members-per-cluster: 3, loop-wait: 1s, ttl: TTL, retry-timeout: 1s, failovers: FAILOVERS, duration: DURATION}
`

// patroniClosings makes a server close connections with requests in flight, but only after all
// requests before the load have received a response.
const patroniClosings = "delay=uniform(0ms,20ms); close@2500ms; close@3s; close@3500ms"

// lyingPatroni returns a load of several Patroni clusters for null servers with the given protocol.
// In some of the clusters the leader dies. The null servers never expire a lease or session, so a
// reported expiry is a lie, and candidates race only after such a lie.
func lyingPatroni(protocol, ttl, failovers, duration string) string {
	return strings.NewReplacer("PROTOCOL", protocol, "TTL", ttl, "FAILOVERS", failovers, "DURATION", duration).Replace(patroniScenario)
}

// TestLiesToPatronisOnLeasesAreFound covers the keys bound to members' leases, the leader key, and
// the watchers on a cluster's keys.
func TestLiesToPatronisOnLeasesAreFound(t *testing.T) {
	t.Parallel()
	testLies(t, "patroni", lyingPatroni("etcd", "3s", "8", "10s"), 29, sampled(map[string]lies{
		"honest":    {"", nil},
		"closing":   {patroniClosings, nil},
		"lost":      {"lie=lost every %d", []string{"lost write|unwritten value|missing watch event"}},
		"twice":     {"lie=twice every %d", []string{"write applied twice"}},
		"absent":    {"lie=absent every 1", []string{"stale read|lost write"}},
		"damaged":   {"wrong=value every 1", []string{"two values at one revision|unwritten value"}},
		"behind":    {"lie=behind every %d", []string{"reordered write|stale read"}},
		"cas":       {"lie=lease every 3; lie=cas every 1", []string{"compare-and-set on wrong version", "lease ended early"}},
		"ended":     {"lie=lease every 7", []string{"lease ended early"}},
		"lose":      {"watch=lose every %d", []string{"missing watch event"}},
		"duplicate": {"watch=duplicate every %d", []string{"duplicate watch event"}},
		"reorder":   {"watch=reorder every %d", []string{"reordered watch event"}},
		"invent":    {"watch=invent every %d", []string{"unwritten value"}},
	}, "honest", "closing", "lost", "cas", "lose"), watched)
}

// TestLiesToPatronisOnNodesAreFound covers nodes that are deleted with their sessions, and the
// reads and lists in each pass of Patroni's loop.
func TestLiesToPatronisOnNodesAreFound(t *testing.T) {
	t.Parallel()
	testLies(t, "patroni", lyingPatroni("zookeeper", "4s", "8", "12s"), 59, sampled(map[string]lies{
		"honest":  {"", nil},
		"closing": {patroniClosings, nil},
		"lost":    {"lie=lost every 13", []string{"lost write|resurrected write|stale read|missing watch event"}},
		"absent":  {"lie=absent every %d", []string{"stale read|lost write"}},
		"damaged": {"wrong=value every %d", []string{"two values at one revision|unwritten value"}},
		"cas":     {"lie=lease every 13; lie=cas every 1", []string{"compare-and-set on wrong version"}},
		"ended":   {"lie=lease every %d", []string{"unwritten value|lost write|stale read"}},
		"lose":    {"watch=lose every 2", []string{"missing watch event"}},
	}, "honest", "closing", "lost", "cas"), watched)
}

// TestNodesOfPatronisThatOutliveTheirSessionsAreFound covers the leaders' nodes, and the members'
// nodes, which the members have updated since they created them.
func TestNodesOfPatronisThatOutliveTheirSessionsAreFound(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	endpoint := w.nullServer(t, "--protocol", "zookeeper", "--script", "lie=outlive every 1")
	file := w.file(t, "application.yaml", strings.ReplaceAll(lyingPatroni("zookeeper", "4s", "0", "4s"), "ENDPOINT", endpoint))
	w.run(t, "run", file, "--out", w.path("run")).exits(t, exitFailed)
	a := byName(t, openRun(t, w.path("run"), record.Complete), "patroni").Verification
	const leaders, members = 8, 8 * 3
	if n := a.WrongByKind["key outlived its session"]; n <= leaders || n > leaders+members || len(a.WrongByKind) != 1 || len(a.Members) != 1 || a.Members[0].Failure != "" {
		t.Errorf("the violations found are %v, and the results of the members are %+v", a.WrongByKind, a.Members)
	}
}

// TestLiesToPatronisOnLocksAreFound covers keys that sessions hold, and the reads in each pass of
// Patroni's loop.
func TestLiesToPatronisOnLocksAreFound(t *testing.T) {
	t.Parallel()
	testLies(t, "patroni", lyingPatroni("consul", "20s", "0", "4s"), 23, sampled(map[string]lies{
		"honest":  {"", nil},
		"closing": {patroniClosings, nil},
		"lost":    {"lie=lost every 5", []string{"lost write"}},
		"damaged": {"wrong=value every %d", []string{"two values at one revision|unwritten value"}},
	}, "closing", "lost", "damaged"), func(a *record.Verification) bool {
		return len(a.Members) == 1 && a.Members[0].Failure == "" && a.Operations > 100
	})
}

const realPatroni = `
name: application
defaults: {STORE, members: 3, timeout: 10s, verify: true, application: patroni, clusters: 8, members-per-cluster: 3, loop-wait: 1s, ttl: TTL, retry-timeout: 1s}
trials:
  - {name: patroni, duration: DURATION, failovers: FAILOVERS, faults: [FAULTS]}
`

// TestNoStoreIsAccusedByPatronis runs Patroni clusters on real members whose leader is killed. In a
// long test, leaders of some Patroni clusters die, too.
func TestNoStoreIsAccusedByPatronis(t *testing.T) {
	t.Parallel()
	failovers := "0"
	if os.Getenv(manyChecked) != "" {
		failovers = "4"
	}
	replace := append(window("4s", "kill leader at 1s for 300ms", "45s", manyFaults), "TTL", "10s", "FAILOVERS", failovers)
	names := map[string]bool{"etcd": true, "etcd-gateway": true, "zookeeper": true, "consul": true}
	checkedRuns(t, func(st store.Store) bool { return names[st.Name()] }, func(store.Store) string {
		return strings.NewReplacer(replace...).Replace(realPatroni)
	}, func(t *testing.T, st store.Store, dir string, run *record.Run) {
		a := unaccused(t, run, "patroni")
		sameKeys(t, a)
		if a.Watches == nil || a.Watches.Watchers == 0 || a.Operations < 100 {
			t.Errorf("the verification is %+v", a)
		}
		if ends := endsIn(t, dir, "patroni"); ends > 0 != (st.Name() == "zookeeper") {
			t.Errorf("the history records the end of the session for %d keys", ends)
		}
	})
}
