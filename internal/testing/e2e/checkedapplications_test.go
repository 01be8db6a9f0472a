//go:build linux

package e2e_test

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

const applicationScenario = `
name: application
defaults: {store: etcd, endpoints: ["ENDPOINT"], connections: 4, timeout: 1s, verify: true}
trials:
  - {name: kubernetes, application: kubernetes, nodes: 20, pods-per-node: 15, churn: 30, duration: 6s}
`

// TestLiesToAnApplicationAreFound checks that verification finds and classifies impossible
// responses to an API server's transactions, reads, lists and watches. A correct server must not be
// accused, even if it leaves writes without a response.
func TestLiesToAnApplicationAreFound(t *testing.T) {
	t.Parallel()
	// If the server closes connections, the responses to executed writes are lost.
	closes := "delay=uniform(0ms,20ms)"
	for at := 1500; at < 6000; at += 250 {
		closes += fmt.Sprintf("; close@%dms", at)
	}
	testLies(t, "kubernetes", applicationScenario, 151, map[string]lies{
		"honest":    {"", nil},
		"closing":   {closes, nil},
		"lost":      {"lie=lost every %d", []string{"lost write"}},
		"twice":     {"lie=twice every %d", []string{"write applied twice"}},
		"absent":    {"lie=absent every %d", []string{"stale read|lost write"}},
		"damaged":   {"wrong=value every %d", []string{"two values at one revision|unwritten value"}},
		"behind":    {"lie=behind every %d", []string{"reordered write|stale read"}},
		"cas":       {closes + "; lie=cas every 2", []string{"compare-and-set on wrong version"}},
		"lose":      {"watch=lose every %d", []string{"missing watch event"}},
		"duplicate": {"watch=duplicate every %d", []string{"duplicate watch event"}},
		"reorder":   {"watch=reorder every %d", []string{"reordered watch event"}},
		"invent":    {"watch=invent every %d", []string{"unwritten value"}},
	}, func(a *record.Verification) bool {
		// The null server keeps no history of changes, so a watcher that must be created again
		// ends.
		return a.Watches.Events > 0 && (a.Watches.Progress > 0 || a.Watches.Ended > 0) && len(a.Members) == 1 && a.Members[0].Keys >= 1000
	})
}

// lies contains a null server's script and the violations that verification must find. Each element
// of want lists alternatives, separated by bars; verification must find at least one of them. For a
// correct server, want is empty.
type lies struct {
	script string
	want   []string
}

// testLies runs an application's load against null servers with each kind of lie. A script with %d
// contains about one lie per `every` responses. CI runs two of the kinds. The function `reported`
// returns whether verification checked enough.
func testLies(t *testing.T, trial, scenario string, every int, all map[string]lies, reported func(*record.Verification) bool) {
	for _, name := range settle.Sample(t, 2, slices.Sorted(maps.Keys(all))) {
		l := all[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range settle.Count(t, manyLies) {
				rules := l.script
				if strings.Contains(rules, "%d") {
					rules = fmt.Sprintf(rules, primeFrom(every, seed%4))
				}
				t.Run(fmt.Sprint(seed), func(t *testing.T) {
					settle.RetryMeasurement(t, func(r settle.Reporter) {
						checkLies(t, r, trial, scenario, lies{fmt.Sprintf("seed=%d; %s", seed, rules), l.want}, seed, reported)
					})
				})
			}
		})
	}
}

// primeFrom returns the i-th prime number that is at least n. The first one has the index 0. Loads
// repeat their operations in short cycles, such as six operations per handover of an election. With
// another period, such as 30, each wrong response could affect the same operation of the cycle.
func primeFrom(n, i int) int {
	for ; ; n++ {
		if big.NewInt(int64(n)).ProbablyPrime(0) {
			if i == 0 {
				return n
			}
			i--
		}
	}
}

// checkLies runs a load once against a null server that sends wrong responses, and checks what
// verification found. On a busy machine, a server may close connections before the load starts, or
// the load may complete too few operations. Both are reported to r, so that the test is repeated.
func checkLies(t *testing.T, r settle.Reporter, trial, scenario string, l lies, seed int, reported func(*record.Verification) bool) {
	t.Helper()
	w, code := newWorld(t), exitFailed
	if l.want == nil {
		code = exitDone
	}
	protocol, _, _ := strings.Cut(strings.SplitN(scenario, "store: ", 2)[1], ",")
	server, endpoint := w.startNullServer(t, "--protocol", protocol, "--script", l.script)
	defer func() {
		server.signal(t, syscall.SIGTERM)
		server.exits(t, exitDone)
	}()
	file := w.file(t, "application.yaml", strings.ReplaceAll(scenario, "ENDPOINT", endpoint))
	p := w.run(t, "run", file, "--seed", fmt.Sprint(seed), "--out", w.path("run"))
	if closedEarly(p, l.script, endpoint, code) {
		r.Errorf("the load did not start: %s", p.stderr.String())
		return
	}
	p.exits(t, code)
	a := byName(t, openRun(t, w.path("run"), record.Complete), trial).Verification
	if l.want == nil && len(a.WrongByKind) > 0 {
		t.Errorf("the violations found are %v, want none", a.WrongByKind)
	}
	for _, kinds := range l.want {
		if !slices.ContainsFunc(strings.Split(kinds, "|"), func(kind string) bool { return a.WrongByKind[kind] > 0 }) {
			t.Errorf("the violations found are %v, want one of %q", a.WrongByKind, kinds)
		}
	}
	if a.Watches == nil || !reported(a) {
		r.Errorf("%d operations were verified, the results of the watchers are %+v, and the results of the members are %+v", a.Operations, a.Watches, a.Members)
	}
}

// closedEarly reports whether a run failed because the script made its null server close the
// connections before the load started.
func closedEarly(p *startedProgram, script, endpoint string, code int) bool {
	return strings.Contains(script, "close@") && p.state.ExitCode() != code && strings.Contains(p.stderr.String(), endpoint+" closed the connection")
}

const realApplication = `
name: application
defaults: {store: etcd, members: 3, connections: 8, timeout: 5s, verify: true, application: kubernetes, nodes: 20, pods-per-node: 15, churn: 20}
trials:
  - {name: steady, duration: 5s}
  - {name: broken, duration: 10s, faults: [kill leader at 1s for 1s, pause leader at 6s for 700ms]}
`

// TestAnApplicationIsNotAccused checks that an API server's load on real members has no violations,
// even with data from an earlier load, killed members, and calls without a response.
func TestAnApplicationIsNotAccused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dir := w.path("run")
	w.run(t, "run", w.file(t, "application.yaml", realApplication), "--out", dir).exits(t, exitDone)
	run := openRun(t, dir, record.Complete)
	for _, name := range []string{"steady", "broken"} {
		trial, a := byName(t, run, name), unaccused(t, run, name)
		sameKeys(t, a)
		if a.Members[0].Keys < 500 || a.Watches == nil || a.Watches.Events == 0 || a.Watches.Progress == 0 {
			t.Fatalf("trial %s: the verification is %+v", name, a)
		}
		if a.Operations < trial.Due+3*a.Members[0].Keys || a.Keys < a.Members[0].Keys {
			t.Errorf("%d operations on %d keys were verified, and %d calls were due", a.Operations, a.Keys, trial.Due)
		}
	}
	if a := byName(t, run, "broken").Verification; a.Watches.Resumed == 0 || a.Indefinite < 2 {
		t.Errorf("trial \"broken\": %d writes are indefinite, and the results of the watchers are %+v", a.Indefinite, a.Watches)
	}
	w.run(t, "verify", dir).exits(t, exitDone)
}

const membershipScenario = `
name: application
defaults: {store: zookeeper, endpoints: ["ENDPOINT"], connections: 4, timeout: 1s, verify: true}
trials:
  - {name: membership, application: membership, services: 10, instances-per-service: 5, discovery-clients: 12, services-per-client: 3, instance-churn: 60, duration: 2s}
`

// TestLiesToAMembershipAreFound covers impossible responses about instances whose registrations
// depend on sessions, and impossible watch events.
func TestLiesToAMembershipAreFound(t *testing.T) {
	t.Parallel()
	closes := "delay=uniform(0ms,20ms)"
	for at := 800; at < 2500; at += 250 {
		closes += fmt.Sprintf("; close@%dms", at)
	}
	testLies(t, "membership", membershipScenario, 29, map[string]lies{
		"closing":   {closes, nil},
		"lost":      {"lie=lost every 7", []string{"lost write", "resurrected write"}},
		"ended":     {"lie=lease every %d", []string{"unwritten value"}},
		"absent":    {"lie=absent every %d", []string{"stale read|lost write"}},
		"lose":      {"watch=lose every %d", []string{"missing watch event"}},
		"duplicate": {"watch=duplicate every %d", []string{"duplicate watch event"}},
		"reorder":   {"watch=reorder every %d", []string{"reordered watch event"}},
		"invent":    {"watch=invent every %d", []string{"unwritten value"}},
		"outlive":   {"lie=outlive every 2", []string{"key outlived its session"}},
	}, func(a *record.Verification) bool {
		return a.Watches.Events > 200 && len(a.Members) == 1 && a.Members[0].Failure == "" && a.Operations > 300
	})
}

const catalogScenario = `
name: application
defaults: {store: consul, endpoints: ["ENDPOINT"], connections: 6, timeout: 1s, verify: true}
trials:
  - {name: catalog, application: catalog, services: 10, instances-per-service: 30, discovery-clients: 6, services-per-client: 3, instance-churn: 10, health-changes: 8, duration: 6s}
`

// TestLiesToACatalogAreFound covers impossible lists of registered and healthy instances in a
// catalog.
func TestLiesToACatalogAreFound(t *testing.T) {
	t.Parallel()
	closes := "delay=uniform(0ms,20ms)"
	for at := 800; at < 6000; at += 250 {
		closes += fmt.Sprintf("; close@%dms", at)
	}
	testLies(t, "catalog", catalogScenario, 13, map[string]lies{
		"closing": {closes, nil},
		"lost":    {"lie=lost every 7", []string{"lost write", "resurrected write"}},
	}, func(a *record.Verification) bool {
		return a.Watches.Events > 100 && len(a.Members) == 1 && a.Members[0].Failure == "" && a.Members[0].Keys > 400 && a.Operations > 800
	})
}

const realDiscovery = `
name: application
defaults: {STORE, members: 3, connections: 8, timeout: 10s, verify: true, application: APPLICATION, services: 20, instances-per-service: 5, discovery-clients: 20, services-per-client: 4}
trials:
  - {name: steady, duration: 1s, instance-churn: CHURN}
  - {name: broken, duration: DURATION, instance-churn: 3, faults: [FAULTS]}
`

// TestNoStoreIsAccusedByADiscovery runs the discovery application, whose instances start and stop,
// on real members, with data from an earlier load and a killed leader.
func TestNoStoreIsAccusedByADiscovery(t *testing.T) {
	t.Parallel()
	replace := window("4s", "kill leader at 500ms for 200ms", "30s", manyFaults)
	applications := map[string]struct{ name, churn string }{"consul": {"catalog", "3"}, "zookeeper": {"membership", "30"}}
	checkedRuns(t, func(st store.Store) bool { return applications[st.Name()].name != "" }, func(st store.Store) string {
		application := applications[st.Name()]
		return strings.NewReplacer(append(replace, "APPLICATION", application.name, "CHURN", application.churn)...).Replace(realDiscovery)
	}, func(t *testing.T, _ store.Store, _ string, run *record.Run) {
		for _, name := range []string{"steady", "broken"} {
			a := unaccused(t, run, name)
			sameKeys(t, a)
			if a.Watches == nil || a.Watches.Events == 0 {
				t.Errorf("trial %s: the verification is %+v", name, a)
			}
		}
	})
}
