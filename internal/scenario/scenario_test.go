package scenario

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// random returns a scenario file whose trials have lists, repeats, and rates that depend on another
// trial. expanded is the number of different trials, and runs is the number of trials including all
// repeats.
func random(r *rand.Rand) (data string, expanded, runs int) {
	var b strings.Builder
	repeats := 1 + r.IntN(3)
	fmt.Fprintf(&b, "seed: %d\nrepeats: %d\ndefaults: {store: etcd, operation: put}\ntrials:\n", r.Uint32(), repeats)
	list := func(most int) (string, int) {
		n := 1 + r.IntN(most)
		words := make([]string, n)
		for i := range words {
			words[i] = fmt.Sprint(i + 1)
		}
		return "[" + strings.Join(words, ", ") + "]", n
	}
	for i := range 1 + r.IntN(5) {
		clients, c := list(4)
		threads, t := list(3)
		members, m := list(2)
		fmt.Fprintf(&b, "  - name: t%d\n    steps: {clients: %s}\n    matrix: {threads: %s, members: %s}\n", i, clients, threads, members)
		own := repeats
		if r.IntN(2) == 0 {
			own = 1 + r.IntN(4)
			fmt.Fprintf(&b, "    repeats: %d\n", own)
		}
		if r.IntN(2) == 0 { // depends on a later trial, which must not depend on another trial
			fmt.Fprintf(&b, "    rate: 50%% of %s\n", "source")
		}
		expanded += c * t * m
		runs += c * t * m * own
	}
	b.WriteString("  - {name: source}\n")
	return b.String(), expanded + 1, runs + repeats
}

func TestExpansion(t *testing.T) {
	settle.SkipUnderRace(t)
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		data, expanded, runs := random(r)
		s := parse(t, "f.yaml", data)
		names := make(map[string]int)
		for _, trial := range s.Trials {
			names[trial.Name]++
		}
		if len(names) != expanded || len(s.Trials) != runs {
			t.Fatalf("the scenario has %d trials in %d runs, want %d trials in %d runs:\n%s", len(names), len(s.Trials), expanded, runs, data)
		}
		checkRounds(t, s)
		again := parse(t, "f.yaml", data)
		if diff := cmp.Diff(s, again); diff != "" {
			t.Fatalf("the same file gave another scenario:\n%s", diff)
		}
	}
}

// checkRounds checks that repeats are interleaved, that each round has every trial once, and that
// each trial follows the trial that determines its rate.
func checkRounds(t *testing.T, s *Scenario) {
	t.Helper()
	round := 1
	seen := make(map[string]int)
	numbers := make(map[int]string)
	for i, trial := range s.Trials {
		if trial.Repeat < round || trial.Repeat > round+1 {
			t.Fatalf("run %d is repeat %d in round %d", i, trial.Repeat, round)
		}
		round = trial.Repeat
		if seen[trial.Name]++; seen[trial.Name] != trial.Repeat || trial.Repeat > trial.Repeats {
			t.Fatalf("%s is run %d times at repeat %d of %d", trial.Name, seen[trial.Name], trial.Repeat, trial.Repeats)
		}
		if n, ok := numbers[trial.Number]; ok && n != trial.Name {
			t.Fatalf("%s and %s share the number %d", n, trial.Name, trial.Number)
		}
		numbers[trial.Number] = trial.Name
		if of := trial.Load.Rate.SourceTrial; of != "" {
			j, ok := s.rateSource(i)
			if !ok || j >= i || s.Trials[j].Name != of || s.Trials[j].Repeat != min(trial.Repeat, s.Trials[j].Repeats) {
				t.Fatalf("run %d (%s, repeat %d) takes its rate from run %d (%v)", i, trial.Name, trial.Repeat, j, ok)
			}
		} else if _, ok := s.rateSource(i); ok {
			t.Fatalf("run %d has a rate source, although it needs none", i)
		}
	}
	for name, n := range seen {
		if i := slices.IndexFunc(s.Trials, func(t Trial) bool { return t.Name == name }); s.Trials[i].Repeats != n {
			t.Fatalf("%s is run %d times, want %d", name, n, s.Trials[i].Repeats)
		}
	}
}

func order(s *Scenario) string {
	var names []string
	for _, trial := range s.Trials {
		names = append(names, trial.Name)
	}
	return strings.Join(names, " ")
}

const letters = "trials:\n" +
	"  - {store: etcd, operation: put, name: a}\n  - {store: etcd, operation: put, name: b}\n" +
	"  - {store: etcd, operation: put, name: c}\n  - {store: etcd, operation: put, name: d}\n"

func TestRandomOrderDependsOnlyOnTheSeed(t *testing.T) {
	settle.SkipUnderRace(t)
	orders := make(map[string]int)
	for seed := range 600 {
		s := parse(t, "f.yaml", fmt.Sprintf("seed: %d\n", seed)+letters)
		orders[order(s)]++
		t2 := parse(t, "other.yaml", fmt.Sprintf("name: x\nseed: %d\n", seed)+strings.ReplaceAll(letters, "put", "get"))
		if order(s) != order(t2) {
			t.Fatalf("seed %d orders %s and %s", seed, order(s), order(t2))
		}
	}
	if len(orders) != 24 { // 4! = 24 orders, each about 25 times
		t.Errorf("600 seeds gave %d orders of 4 trials, want all 24", len(orders))
	}
	for o, n := range orders {
		if n < 6 || n > 60 {
			t.Errorf("the order %s occurred %d times in 600 seeds, want about 25", o, n)
		}
	}
}

func TestRepeatsChangeTheOrder(t *testing.T) {
	s := parse(t, "f.yaml", "repeats: 20\n"+letters)
	rounds := make(map[string]bool)
	for i := 0; i < len(s.Trials); i += 4 {
		rounds[order(&Scenario{Trials: s.Trials[i : i+4]})] = true
	}
	if len(rounds) < 8 {
		t.Errorf("20 rounds had only %d orders", len(rounds))
	}
}

func TestOrderWritten(t *testing.T) {
	s := parse(t, "f.yaml", "order: written\nrepeats: 2\n"+letters)
	if got := order(s); got != "a b c d a b c d" {
		t.Errorf("the order is %s", got)
	}
}

func TestRatesOfRatesAreOrdered(t *testing.T) {
	for seed := range 50 {
		s := parse(t, "f.yaml", fmt.Sprintf("seed: %d\ndefaults: {store: etcd, operation: put}\ntrials:\n", seed)+
			"  - {name: c, rate: 50% of b}\n  - {name: b, rate: 50% of a}\n  - {name: a}\n  - {name: d, rate: 50% of b}\n")
		if got := order(s); got != "a b c d" && got != "a b d c" {
			t.Errorf("the order with seed %d is %s", seed, got)
		}
	}
}

func TestSeeds(t *testing.T) {
	s := parse(t, "f.yaml", "repeats: 2\n"+letters)
	seeds := make(map[string]uint64)
	distinct := make(map[uint64]bool)
	for _, trial := range s.Trials {
		if old, ok := seeds[trial.Name]; ok && old != trial.Load.Seed {
			t.Errorf("the repeats of %s have different seeds", trial.Name)
		}
		seeds[trial.Name] = trial.Load.Seed
		distinct[trial.Load.Seed] = true
		if trial.Load.Seed >= 1<<63 {
			t.Errorf("the seed %d of %s is too large for a file", trial.Load.Seed, trial.Name)
		}
	}
	if len(distinct) != 4 {
		t.Errorf("4 trials have %d seeds", len(distinct))
	}
	fewer := parse(t, "f.yaml", "trials: [{store: etcd, operation: put, name: c}]")
	if fewer.Trials[0].Load.Seed != seeds["c"] {
		t.Error("a trial's seed depends on the other trials")
	}
}

func TestReseed(t *testing.T) {
	s := parse(t, "f.yaml", "repeats: 2\n"+letters)
	want := parse(t, "f.yaml", "seed: 99\nrepeats: 2\n"+letters)
	s.Reseed(99)
	s.Source, want.Source = nil, nil
	if diff := cmp.Diff(want, s); diff != "" {
		t.Errorf("reseeding differs from the seed in the file:\n%s", diff)
	}
}

func TestEstimatedDuration(t *testing.T) {
	for _, c := range []struct {
		keys  string
		want  time.Duration
		known bool
	}{
		{"warmup: 1s, duration: 5s", 6 * time.Second, true},
		{"warmup: 1s, total: 500", time.Second, false},
		{"warmup: 1s, total: 500, rate: 100", 6 * time.Second, true},
		{"warmup: 1s, total: 500, rate: 50% of other", time.Second, false},
	} {
		s := parse(t, "f.yaml", "order: written\ntrials:\n  - {store: etcd, operation: put, name: other, duration: 10s, warmup: 0s}\n  - {store: etcd, operation: put, "+c.keys+"}\n")
		if d, known := s.EstimatedDuration(); d != c.want+10*time.Second || known != c.known {
			t.Errorf("%s: %v, %v; want %v more than 10s, %v", c.keys, d, known, c.want, c.known)
		}
	}
}

func TestNames(t *testing.T) {
	for lines, want := range map[string]string{
		"operation: put":        "put",
		"mix: {put: 1, get: 2}": "mixed",
		"operation: put\n    matrix: {target: [leader]}":                                          "put-target=leader",
		"matrix: {operation: [put], clients: [5]}":                                                "put-clients=5",
		"operation: put\n    name: x-{target}\n    matrix: {target: [member:2]}":                  "x-member-2",
		"operation: put\n    name: x\n    steps: {rate: [50% of put]}":                            "x-rate=50pct-of-put",
		"operation: put\n    name: \"{store}-{ value-size }\"\n    value-size: 1KiB":              "etcd-1KiB",
		"operation: put\n    name: x\n    matrix: {settings: [{snapshot-count: 100}]}":            "x-settings=snapshot-count=100",
		"operation: put\n    name: x\n    matrix: {prefix: [" + strings.Repeat("long", 20) + "]}": "x-prefix=1",
	} {
		s := parse(t, "f.yaml", "order: random\ntrials:\n  - store: etcd\n    "+lines+"\n  - {store: etcd, operation: put, name: zz}\n"+
			map[bool]string{true: "  - {store: etcd, operation: put}\n"}[strings.Contains(lines, "of put")])
		i := slices.IndexFunc(s.Trials, func(t Trial) bool { return t.Number == 1 })
		if s.Trials[i].Name != want {
			t.Errorf("%q is named %s, want %s", lines, s.Trials[i].Name, want)
		}
	}
}

func TestRateTemplate(t *testing.T) {
	s := parse(t, "f.yaml", `
defaults: {store: etcd, operation: put}
trials:
  - {name: "closed-{target}", matrix: {target: [leader, all]}}
  - name: open-{target}
    matrix: {target: [leader, all]}
    rate: 80% of closed-{target}
`)
	checkRounds(t, s)
	for _, trial := range s.Trials {
		if target, ok := strings.CutPrefix(trial.Name, "open-"); ok && trial.Load.Rate.SourceTrial != "closed-"+target {
			t.Errorf("%s takes its rate from %s", trial.Name, trial.Load.Rate.SourceTrial)
		}
	}
}

// rateSource returns the index in Trials of the trial whose throughput determines the rate of
// Trials[i]. If the named trial has a repeat with the same number as Trials[i], the index is that
// of this repeat. Otherwise it is the index of the named trial's last repeat. ok is false if the
// rate does not depend on a trial.
func (s *Scenario) rateSource(i int) (source int, ok bool) {
	of := s.Trials[i].Load.Rate.SourceTrial
	if of == "" {
		return 0, false
	}
	for j := i - 1; j >= 0; j-- {
		if s.Trials[j].Name == of {
			return j, true
		}
	}
	return 0, false
}
