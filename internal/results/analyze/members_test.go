package analyze

import (
	"testing"

	"github.com/quorumbench/quorumbench/internal/results/record"
)

func ptr(x float64) *float64 { return &x }

// Members are listed where something happened, and not else: equal parts of the
// load, or parts as large as those of the connections, are not worth a table.
func TestMembersAreListedWhereTheLoadWasUneven(t *testing.T) {
	even := func(shares ...float64) []record.ByMember {
		var all []record.ByMember
		for i, opened := range []int{3, 3, 2} {
			all = append(all, record.ByMember{Name: "m", Share: shares[i], Links: &record.Links{Opened: opened, Fewest: opened}})
		}
		return all
	}
	for what, tt := range map[string]struct {
		members []record.ByMember
		want    bool
	}{
		"none":              {nil, false},
		"as connections":    {even(0.375, 0.375, 0.25), false},
		"a little off":      {even(0.38, 0.36, 0.26), false},
		"one has more":      {even(0.5, 0.3, 0.2), true},
		"nothing was timed": {even(0, 0, 0), false},
		"not counted":       {[]record.ByMember{{Name: "m1", Share: 1}, {Name: "m2"}}, false},
		"one that ended":    {append(even(0.375, 0.375, 0.25), record.ByMember{Name: "m4", Links: &record.Links{LostAt: ptr(1)}}), true},
	} {
		if got := unevenMembers(&record.Trial{ByMember: tt.members}); got != tt.want {
			t.Errorf("%s: %t", what, got)
		}
	}
}

// What several trials have alike is said once, in the order of coming.
func TestReasonsAreSaidOnce(t *testing.T) {
	trial := func(name string, notes ...string) record.Trial {
		t := record.Trial{State: record.Complete}
		t.Name, t.Notes = name, notes
		return t
	}
	failed := trial("c")
	failed.State, failed.Failure = record.Failed, "It broke."
	why, notes := Reasons(&record.Run{Trials: []record.Trial{trial("a", "one", "two"), trial("b", "two"), failed}})
	if len(why) != 1 || why[0].Text != "It broke." || why[0].Trials[0] != "c" {
		t.Errorf("%+v", why)
	}
	if len(notes) != 2 || notes[0].Text != "one" || len(notes[1].Trials) != 2 || notes[1].Trials[1] != "b" {
		t.Errorf("%+v", notes)
	}
}
