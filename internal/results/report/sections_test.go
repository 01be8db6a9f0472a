package report

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/record"
	stores "github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
	"github.com/quorumbench/quorumbench/internal/text"
)

// opened is the time at which the windows of the simulated trials start. Each window lasts 5 s.
var opened = noon.Add(2 * time.Second)

// memberEvent returns an event from a member's log. The parameter `after` is the time from the
// start of the window to the event, and `took` is the duration of the event.
func memberEvent(after time.Duration, member string, kind stores.SignalKind, took time.Duration) record.Event {
	return record.Event{
		Time: opened.Add(after), Kind: string(kind), Member: member, Duration: took,
		Text: member + " " + kind.Predicate(), Line: "the log's",
	}
}

const ms = time.Millisecond

// eventful returns a trial whose leader paused for 1.2 s.
func eventful() record.Trial {
	t := made{number: 1, name: "put-leader", kind: 1, target: "leader", perSecond: 1000, p50: 2e6}.trial()
	gapAt := 1.0
	t.LongestGap, t.LongestGapAt = 1.2, &gapAt
	for i := range 5 {
		p99 := 4e6
		if i == 4 {
			p99 = 90e6
		}
		t.Timeline = append(t.Timeline, record.Row{
			Time: opened.Add(time.Duration(i) * time.Second), Phase: "measured", Second: i, Due: 1000,
			P99: measure.Figure{NS: p99, Known: true},
		})
	}
	t.Events = []record.Event{
		memberEvent(-900*ms, "m1", stores.GCPause, 20*ms), // in the warm-up
		memberEvent(500*ms, "m3", stores.SnapshotStarted, 0),
		memberEvent(540*ms, "m3", stores.SnapshotDone, 0),
		memberEvent(2100*ms, "m2", stores.ElectionStarted, 0),
		memberEvent(2110*ms, "m2", stores.Elected, 90*ms),
		{Time: opened.Add(2130 * ms), Kind: "election", Member: "m2", Text: "m2 became leader in term 3, after term 2"},
		{Time: opened.Add(2150 * ms), Kind: "member_lost", Member: "m1", Text: "m1 was lost: no answer"},
		memberEvent(2300*ms, "m1", stores.SlowFsync, 1200*ms),
		memberEvent(4500*ms, "m3", stores.GCPause, 80*ms),
		memberEvent(4700*ms, "m3", stores.GCPause, 30*ms),
	}
	return t
}

func story1(trials ...record.Trial) string {
	var rows []*analyze.Row
	for i := range trials {
		rows = append(rows, analyze.RowOf(&trials[i]))
	}
	return textOf(func(to layout) { events(to, rows) })
}

func TestEventsOf(t *testing.T) {
	golden(t, "events.txt", story1(eventful(), func() record.Trial {
		many := eventful()
		many.Name, many.LongestGap, many.Timeline = "put-all", 0.012, nil
		many.Events = []record.Event{{
			Time: opened.Add(3 * time.Second), Kind: "gc_pause", Member: "m1", Text: "m1 paused for garbage collection, 300 more times",
			Line: "the log's", Duration: 40 * ms, Count: 300, Total: 2 * time.Second, First: opened.Add(time.Second),
		}}
		return many
	}()))
}

// TestEventsOfRepeats checks that the events of several repeats are combined, and that the report
// states in which repeats they occurred.
func TestEventsOfRepeats(t *testing.T) {
	var repeats []*record.Trial
	for n := range 4 {
		trial := eventful()
		trial.Repeat, trial.Repeats = n+1, 4
		repeats = append(repeats, &trial)
	}
	repeats[0].Events = nil
	repeats[1].LongestGapAt, repeats[1].StrandedClients, repeats[1].LongestStrandedNS = nil, 3, 2e9
	repeats[2].LongestGap, repeats[2].Events[7].Duration = 1.5, 1300*ms
	repeats[2].Timeline[4].P99.NS = 95e6
	repeats[3].Events = repeats[3].Events[len(repeats[3].Events)-2:]
	golden(t, "eventsofrepeats.txt", textOf(func(to layout) { events(to, []*analyze.Row{{Trials: repeats, Done: repeats}}) }))
}

// TestCountedEventsHaveATimeOfTheirOwn checks events that the record counts without the time of
// each event. Instead of a time, the report shows the period in which these events occurred.
func TestCountedEventsHaveATimeOfTheirOwn(t *testing.T) {
	trial := eventful()
	trial.Events = []record.Event{
		{Time: opened.Add(1500 * ms), Kind: "gc_pause", Member: "m1", Line: "l", Duration: 100 * ms},
		{Time: opened.Add(4 * time.Second), Kind: "gc_pause", Member: "m1", Line: "l", Duration: 900 * ms, Count: 300, Total: 9 * time.Second, First: opened.Add(time.Second)},
	}
	const want = "12:00:03.500 m1 paused for garbage collection (100 ms); between 12:00:03.000 and 12:00:06.000 m1 paused for garbage collection 300 times (9.00 s in total, longest 900 ms)"
	if got := story1(trial); !strings.Contains(got, want) {
		t.Errorf("the story is:\n%s", got)
	}
}

// TestTrialsWithoutEventsProduceNoOutput checks that trials without events in the window produce no
// output.
func TestTrialsWithoutEventsProduceNoOutput(t *testing.T) {
	quiet := eventful()
	quiet.Events = nil
	before, failed := eventful(), eventful()
	before.Events = before.Events[:1]
	failed.State, failed.Opened = record.Failed, nil
	if got := story1(quiet, before, failed); got != "" {
		t.Errorf("the story is not empty:\n%s", got)
	}
}

// TestFailedSecondIsTheSlowest checks that a one-second interval is the slowest of the window if
// its p99 is the time of a failed operation.
func TestFailedSecondIsTheSlowest(t *testing.T) {
	trial := eventful()
	trial.LongestGapAt = nil
	trial.Timeline[2].P99, trial.Timeline[2].Errors = measure.Figure{}, 44
	if got := story1(trial); !strings.Contains(got, "in the slowest second, starting at 12:00:04.000, with 44 errors: 12:00:04.1") {
		t.Errorf("the story is:\n%s", got)
	}
}

// TestEventsAreCountedOnce checks that each event in the window is counted once, and that events
// outside the window are not counted.
func TestEventsAreCountedOnce(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	without := eventful() // slow to make
	without.Events = nil
	for range 200 {
		trial := without
		want, longest := uint64(0), time.Duration(0)
		var total time.Duration
		for range rng.IntN(50) {
			after := time.Duration(rng.Int64N(int64(9*time.Second))) - 2*time.Second
			e := memberEvent(after, fmt.Sprintf("m%d", 1+rng.IntN(3)), stores.SlowFsync, time.Duration(1+rng.Int64N(int64(time.Second))))
			trial.Events = append(trial.Events, e)
			if after >= 0 && after-e.Duration <= 5*time.Second {
				want, total, longest = want+1, total+e.Duration, max(longest, e.Duration)
			}
		}
		h := analyze.EventsOf(&trial)
		got := counts(&h)
		if want < 2 {
			continue
		}
		words := fmt.Sprintf("%d slow log syncs (%s in total, longest %s, m", want, text.Duration(float64(total)), text.Duration(float64(longest)))
		if len(got) != 1 || !strings.HasPrefix(got[0], words) {
			t.Errorf("%q, not %q", got, words)
		}
	}
}

// TestHeldClients checks that the report states how many clients waited for an unresponsive member,
// whether or not the trial also had other events.
func TestHeldClients(t *testing.T) {
	says := "24 clients waited for a member for up to 8.50 s, although the load had already moved to another member\n"
	trial := eventful()
	trial.StrandedClients, trial.LongestStrandedNS = 24, 8.5e9
	if got := story1(trial); !strings.Contains(got, "    "+says) {
		t.Errorf("the story is %s", got)
	}
	trial.Events = nil
	if got := story1(trial); !strings.Contains(got, "  "+says) {
		t.Errorf("without events, the story is %s", got)
	}
	trial.StrandedClients = 0
	if got := story1(trial); got != "" {
		t.Errorf("without waiting clients, the story is %s", got)
	}
}

// TestLimited checks that the report lists the bottlenecks of slow trials, and has no line for
// other trials.
func TestLimited(t *testing.T) {
	busy := 0.95
	opened := record.Conditions{Name: "put", Repeat: 1, Repeats: 1, Machine: &measure.Machine{CPUs: 2}}
	slow := record.Trial{Conditions: opened, State: record.Complete, Seconds: 10, Usage: record.Usage{BusyShare: &busy, LongestPauseNS: 2e8}, WindowSummary: record.WindowSummary{TermChanges: 1}}
	slow.Loops, slow.LongestGap = 1, 0.6
	quick := slow
	quick.BusyShare, quick.TermChanges, quick.LongestGap = nil, 0, 0
	quick.Name = "get"
	want := `
Bottlenecks
  put: leader change: the leader changed: the cluster's term rose by 1
    load generator: it did not run for 200 ms (limit 100 ms); 1 more of this kind
`
	if got := textOf(func(to layout) { limitParts(to, []*record.Trial{&slow, &quick}) }); got != want {
		t.Errorf("the text is %s, want %s", got, want)
	}
	if got := textOf(func(to layout) { limitParts(to, []*record.Trial{&quick}) }); got != "" {
		t.Errorf("for a trial without bottlenecks, the text is %s", got)
	}
}

func ptr(x float64) *float64 { return &x }

// lost returns a trial of three members, of which m2 was unreachable for some time.
func lost() record.Trial {
	trial := made{number: 1, name: "put", kind: kv.Put, target: "all", perSecond: 2010, p50: 500e6}.trial()
	trial.ByMember = []record.ByMember{
		{Name: "m1", Operations: 4500, Share: 0.45, Connections: &record.MemberConnections{AtOpening: 34, Fewest: 34}},
		{Name: "m2", Operations: 1500, Share: 0.15, Connections: &record.MemberConnections{AtOpening: 33, Lost: 33, LostAt: ptr(1.204), BackAt: ptr(4.5),
			WhileLost: &record.ServiceWhileLost{Seconds: 2, PerSecond: 1340, PerSecondOtherwise: ptr(2010), Shares: map[string]float64{"m1": 0.51, "m2": 0, "m3": 0.49}}}},
		{Name: "m3", Operations: 3993, Share: 0.3993, Connections: &record.MemberConnections{AtOpening: 33, Fewest: 33}},
		{Errors: 7, Share: 0.0007},
	}
	return trial
}

// TestMembersThatLostConnections checks the reports about a trial in which connections to a member
// were lost. The report of the trial shows a table of the members, the time of the loss, and the
// members that served the load meanwhile. The report of the run has one line about the loss.
func TestMembersThatLostConnections(t *testing.T) {
	settle.SkipUnderRace(t)
	trial := lost()
	var b strings.Builder
	if err := Text(&b, Trial(&trial, ""), true); err != nil {
		t.Fatal(err)
	}
	golden(t, "members.txt", b.String())
	r := quick()
	r.Trials[1].ByMember = lost().ByMember
	const line = "put-all: m2 lost 33 connections (0 of 33 remained), from 1.20 s after the start of the window until 4.50 s; meanwhile 1,340/s (2,010/s otherwise), served by m1 51 %, m3 49 %\n"
	b.Reset()
	if err := Text(&b, Run(r, nil, ""), true); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "\nConnections lost\n  "+line) {
		t.Errorf("got\n%s", b.String())
	}
	b.Reset()
	if err := Markdown(&b, Run(r, nil, "")); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "\n## Connections lost\n\n```\n  "+line+"```\n") {
		t.Errorf("got\n%s", b.String())
	}
}

// TestLinesOfLostConnections checks the line about a member to which connections were lost.
func TestLinesOfLostConnections(t *testing.T) {
	for want, l := range map[string]record.MemberConnections{
		"m1 lost 1 connection": {AtOpening: 3, Fewest: 3, Lost: 1},
		"m1 lost 3 connections (0 of 3 remained), from 0.00 s after the start of the window until its end": {AtOpening: 3, Lost: 3, LostAt: ptr(0)},
	} {
		if got := LostConnectionLines(&record.Trial{Parts: record.Parts{ByMember: []record.ByMember{{Name: "m1", Connections: &l}}}}); len(got) != 1 || got[0] != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}
