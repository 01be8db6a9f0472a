package report

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
	"github.com/quorumbench/quorumbench/internal/text"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// watching returns a trial with watchers, which receive the given number of events in each second
// of the window. The other parameters are the numbers of lost, duplicated and reordered events.
func watching(m made, events int, lost, twice, disordered uint64) record.Trial {
	m.kind, m.target, m.perSecond, m.p50 = kv.Put, "all", 4000, 2e6
	plain := m.trial()
	c := plain.Conditions
	c.Watch = &scenario.Watch{Watchers: 1200, Streams: 10, Connections: 2, KeysPerWatcher: 1, WatchedKeys: 1200}
	totals := m.totals()
	totals.Watch.Delivered = uint64(5 * events)
	totals.Watch.FromDue, totals.Watch.FromSent = measure.NewHistogram(), measure.NewHistogram()
	for i := range 5 * events {
		ns := int64(1e6 + i)
		measure.Record(totals.Watch.FromDue, 2*ns)
		measure.Record(totals.Watch.FromSent, ns)
	}
	n := uint64(5 * events)
	totals.Watching = &measure.WatchTotals{Watchers: 1200, WatchCounts: measure.WatchCounts{Expected: n + lost, Delivered: n, Lost: lost, Duplicated: twice, Reordered: disordered}}
	return record.NewTrial(c, record.Observed{Started: noon, Opened: noon, CPUSeconds: 1}, totals, nil, nil)
}

// TestTableOfWatchEvents checks that the table has a row for each trial with watchers. A row shows
// the medians over the repeats, and the sums of the lost and duplicated events.
func TestTableOfWatchEvents(t *testing.T) {
	settle.SkipUnderRace(t)
	r := rand.New(rand.NewPCG(4, 4))
	var rates []int
	var lost, expected, twice uint64
	run := &record.Run{State: record.Complete, Name: "w", Trials: []record.Trial{made{number: 1, name: "plain", kind: kv.Put, target: "all", perSecond: 4000, p50: 2e6}.trial()}}
	for i := range 3 {
		rate, l, d := 1000+r.IntN(4000), uint64(1+r.IntN(9)), uint64(r.IntN(5))
		rates, lost, twice, expected = append(rates, rate), lost+l, twice+d, expected+uint64(5*rate)+l
		run.Trials = append(run.Trials, watching(made{number: 2, name: "watched", repeat: i + 1, repeats: 3}, rate, l, d, 0))
	}
	catchUp := watching(made{number: 3, name: "catch-up"}, 100, 0, 0, 0)
	catchUp.Load.Watch.Key, catchUp.Load.Watch.EarlierEvents = []byte("w"), 4
	catchUp.Watch.FromDue, catchUp.Watch.FromSent = record.Times{}, record.Times{}
	run.Trials = append(run.Trials, catchUp)
	slices.Sort(rates)

	var b bytes.Buffer
	if err := Text(&b, Run(run, nil, ""), true); err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(b.String(), "\nWatch events: time from when a write was due until each watcher received the event; a lost event counts as failed\n")
	if !ok {
		t.Fatalf("there is no table of watch events:\n%s", b.String())
	}
	lines := strings.Split(table, "\n")
	for i, want := range [][]string{
		{"trial", "watchers  streams", "events  ", "p99.9", "lost", "twice", "out of order"},
		{"watched ", " 1,200 ", " 10 ", " 1 of 1,200 keys each ", " " + text.PerSecond(float64(rates[1])) + " ", " 2.0",
			fmt.Sprintf("%s (%s)", text.Count(lost), text.Share(float64(lost)/float64(expected))), text.Count(twice)},
		{"catch-up ", ` "w" `, " 100/s ", " -  ", " 0"},
	} {
		for _, part := range want {
			if !strings.Contains(lines[i], part) {
				t.Errorf("line %d has no %q: %s", i+1, part, lines[i])
			}
		}
	}
	if strings.Contains(table, "plain") && strings.Contains(lines[1]+lines[2], "plain") {
		t.Errorf("a trial without watchers is in the table:\n%s", table)
	}
	if err := Markdown(&b, Run(run, nil, "")); err != nil || !strings.Contains(b.String(), "\n## Watch events: ") {
		t.Errorf("%v in\n%s", err, b.String())
	}
	run.Trials = run.Trials[:1]
	b.Reset()
	if err := Text(&b, Run(run, nil, ""), true); err != nil || strings.Contains(b.String(), "atch") {
		t.Errorf("without watchers, %v:\n%s", err, b.String())
	}
}

// TestTableOfWatchEventsHasItsCertainty checks the columns that follow the throughput and the p99
// of watch events. If no event was lost, each column contains the range over a few repeats, or the
// interval over five or more repeats.
func TestTableOfWatchEventsHasItsCertainty(t *testing.T) {
	settle.SkipUnderRace(t)
	for repeats, want := range map[int][]string{
		3: {" 3,800–4,000/s¹ ", " 2.04–2.04 ms¹ ", "¹ Minimum and maximum of the repeats. A confidence interval needs at least 5 repeats whose values are above 0 and do not differ too much."},
		5: {" 3,776–3,984/s¹", " 2.04–2.04 ms¹", "² The repeats ran on one cluster", "¹ 95 % confidence interval of the mean over the repeats."},
	} {
		run := &record.Run{State: record.Complete, Name: "w"}
		for i := range repeats {
			one := watching(made{number: 1, name: "watched", repeat: i + 1, repeats: repeats}, 3800+100*(i%3), 0, 0, 0)
			one.Verdict = verdict.Verdict{State: verdict.Valid} // otherwise, the trial would not be valid, because it simulates too many clients
			run.Trials = append(run.Trials, one)
		}
		var b bytes.Buffer
		if err := Text(&b, Run(run, nil, ""), true); err != nil {
			t.Fatal(err)
		}
		_, table, _ := strings.Cut(b.String(), "\nWatch events: ")
		_, table, _ = strings.Cut(table, "\n")
		head, rest, _ := strings.Cut(table, "\n")
		if titles := strings.Fields(head); strings.Count(head, "interval") != 2 || titles[slices.Index(titles, "events")+1] != "interval" || titles[slices.Index(titles, "p99")+1] != "interval" {
			t.Errorf("%d repeats: the columns are %s", repeats, head)
		}
		for _, text := range want {
			if !strings.Contains(rest, text) {
				t.Errorf("%d repeats: no %q in\n%s", repeats, text, rest)
			}
		}
	}
}

// TestCSVOfWatchEvents checks that the columns of watch events contain the figures of the result.
func TestCSVOfWatchEvents(t *testing.T) {
	run := &record.Run{State: record.Complete, Trials: []record.Trial{
		made{number: 1, name: "plain", kind: kv.Put, target: "all", perSecond: 4000, p50: 2e6}.trial(),
		watching(made{number: 2, name: "watched"}, 3000, 7, 5, 3),
	}}
	var b bytes.Buffer
	if err := CSV(&b, Trials(run, scenario.Parameters(nil))); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil || len(rows) != 3 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	first := slices.Index(rows[0], "watchers")
	if first < 0 {
		t.Fatalf("the columns are %v", rows[0])
	}
	w := run.Trials[1].Watch
	want := map[string]string{"watchers": "1200", "watch_events_per_second": "3000", "watch_expected_events": "15007", "watch_delivered_events": "15000",
		"watch_lost_events": "7", "watch_duplicated_events": "5", "watch_reordered_events": "3", "watch_from_due_max_ns": "",
		"watch_from_due_p50_ns": fmt.Sprintf("%.0f", w.FromDue.Percentile(50).NS), "watch_from_sent_p99_9_ns": fmt.Sprintf("%.0f", w.FromSent.Percentile(99.9).NS)}
	for i, name := range rows[0][first:] {
		if rows[1][first+i] != "" && strings.HasPrefix(name, "watch") {
			t.Errorf("without watchers, %s is %q", name, rows[1][first+i])
		}
		if text, ok := want[name]; ok && rows[2][first+i] != text {
			t.Errorf("%s is %q, not %q", name, rows[2][first+i], text)
		}
		delete(want, name)
	}
	if len(want) > 0 {
		t.Errorf("the columns %v are missing", want)
	}
}

func TestDbtesterSummaryOfWatchEvents(t *testing.T) {
	plain, watched := made{number: 1, name: "plain", kind: kv.Put, target: "all", perSecond: 4000, p50: 2e6}.trial(), watching(made{number: 2, name: "watched"}, 3000, 0, 5, 3)
	names := func(rows []summaryRow) (out []string) {
		for _, r := range rows {
			out = append(out, r.name)
		}
		return out
	}
	without := names(summaryRows([]*analyze.Dbtester{{Trial: &plain}}))
	rows := summaryRows([]*analyze.Dbtester{{Trial: &plain}, {Trial: &watched}})
	if all := names(rows); len(all) != len(without)+7 || !slices.Equal(all[:len(without)], without) {
		t.Fatalf("the rows are %v, and without watchers they are %v", all, without)
	}
	for i, want := range []string{"3000.0", "2.0", "2.0", "2.0", "0", "5", "3"} {
		r := rows[len(without)+i]
		if r.cells[0] != "" || !strings.HasPrefix(r.cells[1], want) {
			t.Errorf("%s is %q, not %s", r.name, r.cells, want)
		}
	}
}

func TestActualWarmupsArePrinted(t *testing.T) {
	settle.SkipUnderRace(t)
	r := quick()
	for i, warmup := range []struct {
		seconds float64
		steady  bool
	}{{6.5, true}, {12, false}} {
		r.Trials[i].ActualWarmupSeconds, r.Trials[i].WarmupSteady = &warmup.seconds, &warmup.steady
	}
	var run, first, second strings.Builder
	if err := Text(&run, Run(r, nil, ""), true); err != nil {
		t.Fatal(err)
	}
	if err := Text(&first, Trial(&r.Trials[0], ""), true); err != nil {
		t.Fatal(err)
	}
	if err := Text(&second, Trial(&r.Trials[1], ""), true); err != nil {
		t.Fatal(err)
	}
	const counts, note = "timeout 10 s, warmed up for 6.5 s\n", "Throughput was not steady at the start of the window, after 12 s of warm-up. Use a longer warm-up.\n"
	for text, want := range map[string][]string{run.String(): {counts, "put-all: " + note}, first.String(): {counts}, second.String(): {" " + note}} {
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("%q is not in\n%s", w, text)
			}
		}
	}
}

// TestWriteCostsNameTheirMembers checks that the text about the growth of databases and memory
// states that the figures are sums over all members. With a single member, the text refers to that
// member.
func TestWriteCostsNameTheirMembers(t *testing.T) {
	for members, want := range map[int]string{
		1: "the member: write amplification 8.9, databases grew by 336 B per key, memory grew by 1.00 KiB per key",
		3: "sum of 3 members: write amplification 8.9, databases grew by 336 B per key, memory grew by 1.00 KiB per key",
	} {
		trial := made{number: 1, name: "put", kind: kv.Put, target: "all", perSecond: 4000, p50: 2e6}.trial()
		trial.Members, trial.Amplification, trial.DiskPerKey, trial.RSSPerKey = members, new(8.9), new(336.0), new(1024.0)
		var b bytes.Buffer
		if err := Text(&b, Trial(&trial, ""), true); err != nil || !strings.Contains(b.String(), want) {
			t.Errorf("%d members: %v: no %q in\n%s", members, err, want, b.String())
		}
	}
}
