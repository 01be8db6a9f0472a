package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quorumbench/quorumbench/internal/text"
)

func sample() *Results {
	r := &Results{}
	for round := range 3 {
		k := float64(round)
		r.Add(runGoal(round, CaseLocal, Quorumbench, Figures{PerSecond: 50_000 + 1000*k, CPUPerOp: 2000 + 100*k, ServiceP50: 19e6, MaxRSS: 34 << 20}))
		r.Add(runGoal(round, CaseLocal, H2load, Figures{PerSecond: 45_000, CPUPerOp: 4000}))
	}
	r.Add(runGoal(0, CaseOpen, Quorumbench, Figures{PerSecond: 20_001, CPUPerOp: 900, LatenessP50: 20_500, LatenessP99: 120_000, LatenessP999: 2.5e6}))
	return r
}

func TestTables(t *testing.T) {
	var out bytes.Buffer
	cases := []Case{{Name: CaseLocal, Title: "local range"}, {Name: CasePut, Title: "put"}, {Name: CaseOpen, Title: "open loop"}}
	r := sample()
	if err := WriteFigures(&out, r, cases, []string{Quorumbench, H2load}); err != nil {
		t.Fatal(err)
	}
	if err := WriteLateness(&out, r); err != nil {
		t.Fatal(err)
	}
	var verdicts []Verdict
	for _, g := range Goals(20_000) {
		verdicts = append(verdicts, g.Judge(r))
	}
	if err := WriteGoals(&out, verdicts); err != nil {
		t.Fatal(err)
	}
	want := `
work         peer         operations/s            client CPU/operation   service time p50      resident
local range  quorumbench  51,000 (50,000-52,000)  2.10 µs (2.00-2.20 µs)  19.0 ms (19.0-19.0 ms)  34.0 MiB (34.0-34.0 MiB)
             h2load       45,000 (45,000-45,000)  4.00 µs (4.00-4.00 µs)  -                       -
open loop    quorumbench  20,001                  900 ns                  -                       -

Open loop, lateness (from an operation's due time to its send time): p50 20.5 µs, p99 120 µs, p99.9 2.50 ms
what                                            median (min-max)    goal                     reached
CPU per local range, ours / h2load              0.53 (0.50-0.55)    at most 1.00, aim 0.80   yes, the aim too
resident memory, 100 connections x 10           34.0 MiB (34.0-34.0 MiB)  at most 64.0 MiB, always   yes
open loop, difference from the requested rate   0.005 %             at most 0.1 %            yes
open loop, lateness p99.9                       2.50 ms             at most 1.00 ms          NO
`
	if d := cmp.Diff(words(want), words(out.String())); d != "" {
		t.Errorf("%s\n%s", d, out.String())
	}
}

// The table must contain only the checks that both tools ran.
func TestChecksSideBySide(t *testing.T) {
	r := &Results{}
	cases := []Case{{Name: CaseCheckTmpfs, Title: "check l", Tmpfs: true}, {Name: CaseCheckL, Title: "null"}}
	r.Add(runGoal(0, CaseCheckTmpfs, Quorumbench, Figures{PerSecond: 8000, Check: &Check{Pass: true, Slowest: 31e6, Stddev: 1.5e6}}))
	r.Add(runGoal(0, CaseCheckTmpfs, Etcdctl, Figures{PerSecond: 6731, Check: &Check{Slowest: 103.9e6, Stddev: 4.05e6}}))
	r.Add(runGoal(0, CaseCheckL, Quorumbench, Figures{PerSecond: 8000, Check: &Check{Pass: true}}))
	var out, none bytes.Buffer
	if err := WriteChecks(&out, r, cases); err != nil {
		t.Fatal(err)
	}
	want := `
check    round  tool         writes/s  slowest  stddev   verdict
check l  1      quorumbench  8,000     31.0 ms  1.50 ms  PASS
         1      etcdctl      6,731     104 ms   4.05 ms  FAIL
`
	if d := cmp.Diff(words(want), words(out.String())); d != "" {
		t.Errorf("%s\n%s", d, out.String())
	}
	if err := WriteChecks(&none, r, cases[1:]); err != nil || none.Len() != 0 {
		t.Errorf("WriteChecks without results wrote %q, %v", none.String(), err)
	}
}

// words splits a text into words, so that comparisons ignore padding.
func words(text string) []string {
	var lines []string
	for line := range strings.Lines(strings.TrimSpace(text)) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return lines
}

func TestShow(t *testing.T) {
	for got, want := range map[string]string{
		showCount(999):                      "999",
		showCount(1000):                     "1,000",
		showCount(1_234_567.4):              "1,234,567",
		showMemory(64 << 20):                "64.0 MiB",
		showSpread(Spread{}, text.Duration): "-",
		showSpread(Spread{2, 2e6, 9e5, 3e6}, text.Duration): "2.00 ms (900 µs-3.00 ms)",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestJSONListsAreNeverNull(t *testing.T) {
	var out bytes.Buffer
	if err := WriteJSON(&out, Conditions{Rounds: 1}, &Results{}, nil, nil); err != nil {
		t.Fatal(err)
	}
	var d map[string]any
	if err := json.Unmarshal(out.Bytes(), &d); err != nil {
		t.Fatal(err)
	}
	for _, list := range []string{"goals", "runs", "notes"} {
		if _, ok := d[list].([]any); !ok {
			t.Errorf("the field %s is %v, want a list", list, d[list])
		}
	}
	if d["schema"] != Schema {
		t.Errorf("the schema is %v", d["schema"])
	}
}
