package main

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store/registry"
)

func TestParse(t *testing.T) {
	o, err := parse([]string{"--rounds", "7", "--seconds", "2.5", "--only", "local, put", "--json"})
	if err != nil {
		t.Fatal(err)
	}
	if o.rounds != 7 || o.seconds != 2500*time.Millisecond || len(o.only) != 2 || !o.json {
		t.Errorf("got %+v", o)
	}
	if all := o.selectedCases(); len(all) != 2 || all[0].Name != CaseLocal || all[1].Name != CasePut {
		t.Errorf("the chosen cases are %+v", all)
	}
	for _, c := range []struct{ args, want string }{
		{"--rounds 0", "--rounds"},
		{"--members 0", "--members"},
		{"--check-rounds 0", "--check-rounds"},
		{"--seconds 0.5", "--seconds"},
		{"--seconds NaN", "--seconds"},
		{"--only lokal", `no case, group or store "lokal"`},
		{"local", "no argument"},
	} {
		if _, err := parse(strings.Fields(c.args)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v", c.args, err)
		}
	}
}

// The name of a store in --only must select all cases of the store.
func TestOnlyTakesStores(t *testing.T) {
	o, err := parse([]string{"--only", "zookeeper,consul-get"})
	if err != nil {
		t.Fatal(err)
	}
	all := o.selectedCases()
	var names []string
	for _, c := range all {
		names = append(names, c.Name)
	}
	want := []string{CaseZooKeeperGet, CaseZooKeeperPut, CaseConsulGet}
	if !slices.Equal(names, want) {
		t.Errorf("the chosen cases are %v, want %v", names, want)
	}
	if got := testbedKeys(all); !slices.Equal(got, []testbedKey{{store: "zookeeper"}, {store: "consul"}}) {
		t.Errorf("the testbed keys of the chosen cases are %v", got)
	}
	if got := casesForTestbed(all, testbedKey{store: "consul"}); len(got) != 1 || len(all) != 3 {
		t.Errorf("for consul, casesForTestbed returned %+v of %d cases", got, len(all))
	}
}

// The name of a group in --only must select all cases of the group. Cases on a tmpfs must have
// their own testbed and their own number of rounds.
func TestOnlyTakesGroups(t *testing.T) {
	o, err := parse([]string{"--only", "check", "--rounds", "4", "--check-rounds", "2"})
	if err != nil {
		t.Fatal(err)
	}
	all := o.selectedCases()
	c := &comparison{options: o}
	rounds := map[string]int{}
	for _, k := range all {
		rounds[k.Name] = c.roundsOf(k)
	}
	if want := map[string]int{CaseCheckL: 3, CaseCheckXL: 3, CaseCheckTmpfs: 2}; !maps.Equal(rounds, want) {
		t.Errorf("the rounds are %v, want %v", rounds, want)
	}
	if got := testbedKeys(all); !slices.Equal(got, []testbedKey{{store: "etcd"}, {store: "etcd", tmpfs: true}}) {
		t.Errorf("the testbed keys of the chosen cases are %v", got)
	}
	if o, err = parse(nil); err != nil || o.checks != 1 {
		t.Errorf("the default number of rounds of checks is %d, %v", o.checks, err)
	}
}

// A list of titles must contain each store once, and with its version if a server ran.
func TestTitles(t *testing.T) {
	for _, c := range []struct{ titles, want []string }{
		{[]string{"etcd", "etcd 3.7.3"}, []string{"etcd 3.7.3"}},
		{[]string{"etcd 3.7.3", "etcd"}, []string{"etcd 3.7.3"}},
		{[]string{"etcd 3.7.3", "etcd 3.7.3", "consul 1.22.6"}, []string{"etcd 3.7.3", "consul 1.22.6"}},
		{[]string{"etcd", "etcdv2 3.5.35"}, []string{"etcd", "etcdv2 3.5.35"}},
	} {
		var got []string
		for _, title := range c.titles {
			store, _, _ := strings.Cut(title, " ")
			got = withTitle(got, store, title)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("the titles %v resulted in %v", c.titles, got)
		}
	}
}

// Each check must have the same rate and number of clients as the `check perf` load that it runs.
func TestChecksMatchTheirLoads(t *testing.T) {
	for _, k := range cases() {
		if k.Load == "" {
			continue
		}
		if m := scenario.PerfLoads[k.Load]; m.Rate != k.Rate || m.Clients != k.Clients || (k.Tmpfs && k.Duration != time.Minute) {
			t.Errorf("%s is %+v, but its load is %+v", k.Name, k, m)
		}
	}
}

// The folder on a tmpfs must be private, and must be removed at the end.
func TestTmpfs(t *testing.T) {
	f, err := newTmpfs(host.NewLocal(nil, nil))
	if err != nil {
		t.Skip(err)
	}
	if !isOnTmpfs(f.claim.Path()) || freeBytes(f.claim.Path()) < tmpfsRoom {
		t.Errorf("%s is not on a tmpfs with enough free space", f.claim.Path())
	}
	if err := f.close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(f.claim.Path()); !os.IsNotExist(err) {
		t.Errorf("%s was not removed: %v", f.claim.Path(), err)
	}
	if isOnTmpfs("/no/such/folder") || freeBytes("/no/such/folder") != 0 {
		t.Error("a missing folder counts as a folder on a tmpfs")
	}
}

// Each case must have a unique name and a known store. All cases of one store must be adjacent, and
// no case may have the same name as a store or a group.
func TestCases(t *testing.T) {
	seen := map[string]bool{groupCheck: true}
	last := ""
	for _, c := range cases() {
		if c.Store != last && seen[c.Store] {
			t.Errorf("the cases of %s are not next to each other", c.Store)
		}
		if seen[c.Name] {
			t.Errorf("the name %s is not unique", c.Name)
		}
		last, seen[c.Store], seen[c.Name] = c.Store, true, true
		if _, err := registry.Lookup(c.Store); err != nil {
			t.Error(err)
		}
		if c.Clients < c.Connections {
			t.Errorf("%s has %d clients for %d connections", c.Name, c.Clients, c.Connections)
		}
	}
}

func TestByDefaultEverythingIsMeasuredFiveTimes(t *testing.T) {
	o, err := parse(nil)
	if err != nil {
		t.Fatal(err)
	}
	if all := o.selectedCases(); o.rounds != 5 || len(all) != len(cases()) {
		t.Errorf("%d rounds of %d cases are selected", o.rounds, len(all))
	}
}

func TestSoakHasItsOwnWindows(t *testing.T) {
	takes := map[string]time.Duration{}
	for _, c := range (options{soak: true}).selectedCases() {
		takes[c.Name] = c.Duration
	}
	if want := map[string]time.Duration{CaseSoakShort: time.Minute, CaseSoakLong: 10 * time.Minute}; !maps.Equal(takes, want) {
		t.Errorf("got %v", takes)
	}
}
