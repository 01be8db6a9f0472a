package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/store/registry"
	"github.com/quorumbench/quorumbench/tools/benchpeers/internal/compare"
)

func TestParse(t *testing.T) {
	o, err := parse([]string{"--rounds", "7", "--seconds", "2.5", "--only", "local, put", "--json"})
	if err != nil {
		t.Fatal(err)
	}
	if o.rounds != 7 || o.seconds != 2500*time.Millisecond || len(o.only) != 2 || !o.json {
		t.Errorf("got %+v", o)
	}
	if all, _ := o.chosen(); len(all) != 2 || all[0].Name != compare.CaseLocal || all[1].Name != compare.CasePut {
		t.Errorf("chosen are %+v", all)
	}
	for _, c := range []struct{ args, want string }{
		{"--rounds 0", "--rounds"},
		{"--seconds 0.5", "--seconds"},
		{"--seconds NaN", "--seconds"},
		{"--only lokal", `no case or store "lokal"`},
		{"local", "no argument"},
	} {
		if _, err := parse(strings.Fields(c.args)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v", c.args, err)
		}
	}
}

// A store's name stands for all its cases.
func TestOnlyTakesStores(t *testing.T) {
	o, err := parse([]string{"--only", "zookeeper,consul-get"})
	if err != nil {
		t.Fatal(err)
	}
	all, _ := o.chosen()
	var names []string
	for _, c := range all {
		names = append(names, c.Name)
	}
	want := []string{compare.CaseZooKeeperGet, compare.CaseZooKeeperPut, compare.CaseConsulGet}
	if !slices.Equal(names, want) {
		t.Errorf("chosen are %v, want %v", names, want)
	}
	if got := storesOf(all); !slices.Equal(got, []string{"zookeeper", "consul"}) {
		t.Errorf("their stores are %v", got)
	}
	if got := casesOf(all, "consul"); len(got) != 1 || len(all) != 3 {
		t.Errorf("consul has %+v of %d", got, len(all))
	}
}

// Cases have names of their own and stores that there are, those of one store
// stand together, and no case is called as a store.
func TestCases(t *testing.T) {
	seen := map[string]bool{}
	last := ""
	for _, c := range cases() {
		if c.Store != last && seen[c.Store] {
			t.Errorf("the cases of %s do not stand together", c.Store)
		}
		if seen[c.Name] {
			t.Errorf("%s is a name twice", c.Name)
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
	all, own := o.chosen()
	if o.rounds != 5 || len(all) != len(cases()) || len(own) != 0 {
		t.Errorf("%d rounds of %d cases, own windows %v", o.rounds, len(all), own)
	}
}

func TestSoakHasWindowsOfItsOwn(t *testing.T) {
	all, own := options{soak: true}.chosen()
	if len(all) != 2 || own[compare.CaseSoakShort] != time.Minute || own[compare.CaseSoakLong] != 10*time.Minute {
		t.Errorf("got %+v, %v", all, own)
	}
}
