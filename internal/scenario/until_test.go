package scenario

import (
	"slices"
	"strings"
	"testing"
	"time"
)

const ab = `
name: ab
defaults: {store: etcd, operation: put, duration: 1s, warmup: 0s}
`

// namesOf returns the names of a round's trials, in order.
func namesOf(round []Trial) (all []string) {
	for _, t := range round {
		all = append(all, t.Name)
	}
	return all
}

func parseUntil(t *testing.T, text string, u RepeatRule) *Scenario {
	t.Helper()
	s, err := Parse("ab.yaml", []byte(text), shelf{}, Options{RepeatRule: u})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A run that repeats until its result is precise alternates the order of the two compared sides: A
// B, then B A.
func TestRoundsAreInterleaved(t *testing.T) {
	s := parseUntil(t, ab+"until: {precision: 2%}\ntrials: [{name: a, baseline: {members: 1}}]\n", RepeatRule{})
	a, b := s.Trials[0].Name, s.Trials[1].Name
	if a == b {
		t.Fatal("the two sides have the same name")
	}
	for n, want := range [][]string{{a, b}, {b, a}, {a, b}, {b, a}} {
		round := s.Round(n + 1)
		if !slices.Equal(namesOf(round), want) {
			t.Errorf("round %d is %q, not %q", n+1, namesOf(round), want)
		}
		for _, trial := range round {
			if trial.Repeat != n+1 || trial.Repeats != 0 {
				t.Errorf("round %d has repeat %d of %d", n+1, trial.Repeat, trial.Repeats)
			}
		}
	}
	if s.Trials[0].Repeat != 1 {
		t.Error("a later round changed the first")
	}
}

// Over two rounds every trial has the same mean position, so that a linear drift affects all trials
// equally. Trials on the same cluster stay together.
func TestRoundsCancelDrift(t *testing.T) {
	s := parseUntil(t, ab+"until: {precision: 2%}\ntrials: [{name: a, matrix: {members: [1, 3], clients: [1, 2, 3]}}]\n", RepeatRule{})
	places := map[string]int{}
	for n := 1; n <= 4; n++ {
		last, seen := "", map[string]bool{}
		for place, trial := range s.Round(n) {
			places[trial.Name] += n*6 + place
			if key := trial.Cluster.Key; key != last {
				if seen[key] {
					t.Errorf("round %d returns to a cluster that it used before: %q", n, namesOf(s.Round(n)))
				}
				last, seen[key] = key, true
			}
		}
	}
	for name, sum := range places {
		if sum != places[s.Trials[0].Name] {
			t.Errorf("the places of %s add up to %d, but those of %s add up to %d", name, sum, s.Trials[0].Name, places[s.Trials[0].Name])
		}
	}
}

// A trial whose rate depends on another trial follows that trial in every round.
func TestRoundsKeepSourcesFirst(t *testing.T) {
	s := parseUntil(t, ab+"until: {precision: 2%}\ntrials: [{name: half, rate: 50% of full}, {name: full}, {name: other}]\n", RepeatRule{})
	for n := 1; n <= 3; n++ {
		if all := namesOf(s.Round(n)); slices.Index(all, "full") > slices.Index(all, "half") || len(all) != 3 {
			t.Errorf("round %d is %q", n, all)
		}
	}
}

// Reseed, which the flag --seed uses, keeps the rule for ending the run, and still returns a single
// round.
func TestReseedingKeepsTheRule(t *testing.T) {
	s := parseUntil(t, ab+"until: {precision: 2%}\ntrials: [{name: a}, {name: b}]\n", RepeatRule{})
	s.Reseed(7)
	if s.RepeatRule == nil || len(s.Trials) != 2 {
		t.Errorf("%v, %d trials", s.RepeatRule, len(s.Trials))
	}
}

// A flag replaces the value of the key `until` in the file. The flag also replaces the key
// `repeats`, with a warning.
func TestFlagsReplaceUntil(t *testing.T) {
	file := ab + "until: {precision: 2%, at-most: 1h, metrics: [ops, p99]}\ntrials: [{name: a}]\n"
	for _, test := range []struct {
		text string
		flag RepeatRule
		want string
		most time.Duration
	}{
		{file, RepeatRule{}, "until every 95 % interval of ops and p99 is within ± 2 %, for at most 1h", time.Hour},
		{file, RepeatRule{Precision: 0.05, TimeLimit: time.Minute, Metrics: []string{"p50"}}, "until every 95 % interval of p50 is within ± 5 %, for at most 1m", time.Minute},
		{ab + "repeats: 7\ntrials: [{name: a, repeats: 3}]\n", RepeatRule{Precision: 0.031}, "until every 95 % interval of ops and p90 is within ± 3.1 %, for at most 30m", DefaultTimeLimit},
	} {
		s := parseUntil(t, test.text, test.flag)
		if s.RepeatRule.Text() != test.want || s.RepeatRule.TimeLimit != test.most || len(s.Trials) != 1 || s.Trials[0].Repeats != 0 {
			t.Errorf("the rule is %q, there are %d trials, and the first has %d repeats", s.RepeatRule.Text(), len(s.Trials), s.Trials[0].Repeats)
		}
		if warned := strings.Contains(strings.Join(s.Warnings, "\n"), "replaces repeats"); warned != strings.Contains(test.text, "repeats") {
			t.Errorf("warnings %q", s.Warnings)
		}
	}
	if s := parseUntil(t, ab+"trials: [{name: a}]\n", RepeatRule{TimeLimit: time.Hour}); s.RepeatRule != nil {
		t.Error("with only a time limit, the run has a repeat rule")
	}
}

func TestUntilIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"until: {precision: 2%}\nrepeats: 3\n":            "ab.yaml:5:10: repeats and until both determine how often trials are repeated; give only one of them",
		"until: {at-most: 5m}\n":                          "ab.yaml:4:8: until has no precision; add one, for example {precision: 2%}",
		"until: {precision: 0}\n":                         `"0" is not a share above 0 and below 100 %; write a share such as 2%`,
		"until: {precision: 100%}\n":                      `"100%" is not a share above 0 and below 100 %`,
		"until: {precision: nan}\n":                       `"nan" is not a share above 0`,
		"until: {precision: 2%, at-most: -1s}\n":          "-1s must be above 0 and at most 1000h",
		"until: {precision: 2%, at-most: 9}\n":            "9 lacks a unit",
		"until: {precision: 2%, at-most: 500ms}\n":        "a round of the trials takes 1s, not counting the time to start clusters, but the time limit is 500ms; set a longer limit",
		"until: {precision: 2%, most: 5m}\n":              `until has no key "most"`,
		"until: 2%\n":                                     "until must be a mapping",
		"until: {precision: 2%, suspect: yes}\n":          `until has no key "suspect"`,
		"until: {precision: 2%, metrics: {a: 1}}\n":       "until.metrics must be a list",
		"until: {precision: 2%}\ndefaults: {until: 3%}\n": "defaults",
	} {
		_, err := Parse("ab.yaml", []byte(ab+text+"trials: [{name: a}]\n"), shelf{}, Options{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, not %q", text, err, want)
		}
	}
}
