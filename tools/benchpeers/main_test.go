package main

import (
	"strings"
	"testing"
	"time"

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
		{"--only lokal", `no case "lokal"`},
		{"local", "no argument"},
	} {
		if _, err := parse(strings.Fields(c.args)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v", c.args, err)
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
