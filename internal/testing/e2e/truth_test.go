//go:build linux

package e2e_test

import (
	"fmt"
	"html"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/analyze/limits"
	"github.com/quorumbench/quorumbench/internal/results/analyze/overtime"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// truth is a run against a null server. The server's script determines what the report must find.
type truth struct {
	w      *world
	script []string // the null server's flags
	load   []string // the arguments of bench
}

// runKnown runs bench and accepts any verdict. It returns the run directory, the run's only trial,
// the output of bench, and the HTML report.
func (k truth) runKnown(t *testing.T) (dir string, trial *record.Trial, said, page string) {
	t.Helper()
	w := k.w
	dir, err := os.MkdirTemp(w.dir, "run")
	if err != nil {
		t.Fatal(err)
	}
	args := append([]string{"bench", k.load[0], "--warmup", "0s"}, k.load[1:]...)
	p := w.run(t, append(args, "--endpoints", w.nullServer(t, k.script...), "--dial-timeout", patience.String(), "--out", dir)...)
	run := openRun(t, dir, record.Complete)
	return dir, &run.Trials[0], p.stdout.String(), w.run(t, "report", dir, "--format", "html").exits(t, exitDone).stdout.String()
}

// spikeLine matches the report's text on a spike and the first event that coincided with the spike.
var spikeLine = regexp.MustCompile(`<li>([\d.]+) s: (p99|max) [\d.]+ .?s instead of [\d.]+ .?s, for ([\d.]+) s[^<]*<ul><li>([^<]*)</li>`)

// After 4 s the server stalls for 800 ms. The report must show this stall as the worst spike, with
// the right time and length, and must state that no recorded event explains it. The script's clock
// starts at the first operation, slightly before the window opens, so the stall may extend over two
// one-second intervals.
func TestSpikeIsWhereTheStallWas(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	settle.RetryMeasurement(t, func(r settle.Reporter) {
		_, trial, _, page := truth{w, []string{"--script", "delay=50ms; stall=800ms@4s"}, []string{"put", "--rate", "1200", "--duration", "7s", "--conns", "4"}}.runKnown(t)
		lines, spikes := spikeLine.FindAllStringSubmatch(html.UnescapeString(page), -1), limits.Spikes(trial)
		worst := -1
		for i := range spikes {
			if worst < 0 || spikes[i].Worst.NS > spikes[worst].Worst.NS {
				worst = i
			}
		}
		if worst < 0 || len(lines) != len(spikes) {
			r.Errorf("the trial has the spikes %+v, but the page has the lines %q", spikes, lines)
			return
		}
		// 960 operations become due during the stall and wait for up to 800 ms. About twelve
		// operations of a one-second interval take longer than its p99.
		checkBetween(r, "the spike's p99", spikes[worst].Worst.NS, 0.75*second, 0.95*second)
		checkBetween(r, "the usual p99", spikes[worst].Usual.NS, 0.049*second, 0.2*second)
		at := spikes[worst].From
		checkBetween(r, "the spike's beginning", at, 2.95, 4.05)
		checkBetween(r, "the spike's end", at+float64(spikes[worst].Seconds), 4.95, 6.05)
		if s := lines[worst]; s[1] != strconv.FormatFloat(at, 'f', 1, 64) || s[2] != "p99" || s[3] != strconv.Itoa(spikes[worst].Seconds) {
			r.Errorf("the page's line about the spike is %q", s)
		}
		for i := range spikes {
			if i != worst && spikes[i].Worst.NS > 0.4*second {
				r.Errorf("the page has a second large spike: %q", lines[i])
			}
		}
		// The only event that may coincide with the spike is that other tests use all CPUs.
		if said := lines[worst][4]; said != "no recorded event occurred at this time" && !strings.Contains(said, "CPUs of the machine were busy") {
			r.Errorf("the page explains the spike with %q", said)
		}
	})
}

// In a closed loop, a stall delays too few operations to change any p99. The report finds the
// one-second intervals of the stall by their throughput. The stall covers at least 95 % of one
// interval, whatever the time between the window's start and the first operation. On a busy
// machine, other intervals may have a high p99, but their throughput must not fall as far.
func TestStallOfAClosedLoopIsASpike(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	settle.RetryMeasurement(t, func(r settle.Reporter) {
		_, trial, _, page := truth{w, []string{"--script", "delay=4ms; stall=1900ms@4s"}, []string{"put", "--duration", "7s", "--conns", "4", "--clients", "8"}}.runKnown(t)
		all := limits.Spikes(trial)
		stalls := slices.DeleteFunc(slices.Clone(all), func(s limits.Spike) bool { return s.LowestRate > 0.25*s.UsualRate })
		if len(stalls) != 1 {
			r.Errorf("the stall did not cause exactly one spike with low throughput: %+v", all)
			return
		}
		if len(all) > 2 {
			r.Errorf("the trial has more than one spike in addition to the stall: %+v", all)
		}
		// The interval with the fewest operations is within the stall. On a busy machine, the first
		// operation may precede the window by up to a second, and the spike may also contain
		// neighbouring intervals with a high p99.
		fewest := 0
		window := slices.DeleteFunc(slices.Clone(trial.Timeline), func(row record.Row) bool {
			return row.Time.Before(*trial.Opened) || float64(row.Second+1) > trial.Seconds
		})
		for i := range window {
			if window[i].Done < window[fewest].Done {
				fewest = i
			}
		}
		at, from := stalls[0].From, window[fewest].Time.Sub(*trial.Opened).Seconds()
		checkBetween(r, "the interval with the fewest operations", from, 2.85, 5.15)
		checkBetween(r, "the spike's beginning", at, 0, from)
		checkBetween(r, "the spike's end", at+float64(stalls[0].Seconds), from+1, 7.15)
		if line := fmt.Sprintf("<li>%.1f s: [^<]*; minimum throughput ", at); !regexp.MustCompile(line).MatchString(page) {
			r.Errorf("the page does not show the time of the stall")
		}
	})
}

// The server stalls for most of each second until 6 s after the first operation. The window
// therefore opens too early, and all report formats must say so. Each response takes so long that
// the delays on a busy machine matter little.
func TestWindowThatOpenedTooEarlyIsReported(t *testing.T) {
	settle.LongOnly(t, "the rule's own test in internal/verdict")
	t.Parallel()
	const warning = `The warm-up of .* s was too short: throughput was steady only after about (5|10) s of the window\. After that, the mean was .*/s; in the whole window, it was .*/s\.`
	w := newWorld(t)
	script := "delay=50ms"
	for second := range 6 {
		script += fmt.Sprintf("; stall=850ms@%ds", second)
	}
	settle.RetryMeasurement(t, func(r settle.Reporter) {
		dir, _, said, page := truth{w, []string{"--script", script}, []string{"put", "--conns", "2", "--clients", "10", "--warmup", "1s", "--duration", "34s"}}.runKnown(t)
		again := w.run(t, "report", dir).exits(t, exitDone).stdout.String()
		markdown := w.run(t, "report", dir, "--format", "markdown").exits(t, exitDone).stdout.String()
		for form, want := range map[string]struct{ text, expression string }{
			"bench":    {said, warning},
			"text":     {again, warning},
			"interval": {again, `95 % CI within this run, without run-to-run variation: .* \(effective sample: \d+ of 34 s\)|No confidence interval: the run is too short`},
			"Markdown": {markdown, `was too short: throughput was steady only after about`},
			"page":     {page, `class="grave".*was too short: throughput was steady only after about`},
		} {
			if !regexp.MustCompile(want.expression).MatchString(want.text) {
				r.Errorf("%s: no match for %q in:\n%.3000s", form, want.expression, want.text)
			}
		}
	})
}

// A load without disturbances has no spike, and the report says so.
func TestNoSpikeWithoutAStall(t *testing.T) {
	w := newWorld(t)
	settle.RetryMeasurement(t, func(r settle.Reporter) {
		_, trial, _, page := truth{w, []string{"--script", "delay=100ms"}, []string{"put", "--rate", "300", "--duration", "5s", "--conns", "4"}}.runKnown(t)
		if spikes := limits.Spikes(trial); len(spikes) > 0 || !strings.Contains(page, "No spikes.") {
			r.Errorf("the trial has the spikes %+v, want none", spikes)
		}
	})
}

// Most operations take 100 ms, and every tenth operation takes 2 s. The heat map must show two
// bands during the whole window, with nine tenths of the operations in the lower band and almost
// none between the bands. (A percentile curve would only show a step.)
func TestHeatMapShowsTwoModes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	settle.RetryMeasurement(t, func(r settle.Reporter) {
		_, trial, _, page := truth{w, []string{"--script", "delay=100ms; delay=2s every 10"}, []string{"put", "--rate", "500", "--duration", "4s", "--conns", "8"}}.runKnown(t)
		over, err := overtime.Read(trial, 100)
		if err != nil {
			t.Fatal(err)
		}
		m := &over.Heat
		all := bands{}
		for _, column := range m.Counts {
			one := bands{}
			for row, n := range column {
				one.add(m.Edge(row), float64(n))
			}
			if sum := one.sum(); sum > 0 && (one.fast < 0.8*sum || one.slow < 0.05*sum) {
				r.Errorf("the operations of one second are %+v", one)
			}
			all.fast, all.between, all.slow = all.fast+one.fast, all.between+one.between, all.slow+one.slow
		}
		checkBetween(t, "operations in the heat map", all.sum(), float64(trial.Operations), float64(trial.Operations))
		checkBetween(r, "the share of the fast", all.fast/all.sum(), 0.88, 0.901)
		checkBetween(r, "the share of the slow", all.slow/all.sum(), 0.099, 0.11)
		checkBetween(r, "the share between", all.between/all.sum(), 0, 0.01)
		if !strings.Contains(page, `-heat-map"`) {
			r.Errorf("the page has no heat map")
		}
	})
}

// bands counts the operations that took about 100 ms, those that took about 2 s, and those between
// the two times.
type bands struct{ fast, between, slow float64 }

func (b *bands) add(edge, n float64) {
	switch {
	case edge < 0.5*second:
		b.fast += n
	case edge < 1.75*second:
		b.between += n
	default:
		b.slow += n
	}
}

func (b *bands) sum() float64 { return b.fast + b.between + b.slow }

// The second of three members is slow. Its clients complete far fewer operations than the other
// clients. Every format of the report must name this member and no other.
func TestSlowMemberIsNamed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	settle.RetryMeasurement(t, func(r settle.Reporter) {
		dir, trial, said, page := truth{w, []string{"--members", "3", "--script", "delay=2ms; delay=40ms on m2"},
			[]string{"put", "--target", "all", "--conns", "6", "--clients", "12", "--duration", "4s"}}.runKnown(t)
		u, ok := analyze.UnfairnessOf(trial)
		if !ok || len(u.Members) != 1 || u.Members[0].Name != "null2" || u.Members[0].Clients != 4 || !u.Lagging {
			r.Errorf("the finding about fairness is %+v", u)
			return
		}
		// A client of null2 completes one operation in 40 ms. Other clients complete one in
		// 2 ms, plus the delay from a busy machine.
		checkBetween(t, "operations of a client of null2", u.Members[0].OperationsPerClient.Number, 1, 4/0.04+2)
		checkBetween(r, "operations of a client of null2", u.Members[0].OperationsPerClient.Number, 80, 4/0.04+2)
		checkBetween(r, "operations of another client", u.Members[0].OthersPerClient.Number, 500, 4/0.002)
		// If the slow member's clients completed nothing, the index would be 2/3.
		checkBetween(r, "Jain's fairness index", u.Fairness.Number, 0.66, 0.74)
		checkBetween(r, "the share of the slowest", u.TenthShare.Number, 0, 0.03)
		for what, text := range map[string]string{
			"bench": said, "the page": page,
			"markdown": w.run(t, "report", dir, "--format", "markdown").exits(t, exitDone).stdout.String(),
		} {
			if !strings.Contains(html.UnescapeString(text), "null2's 4 clients completed ") || !strings.Contains(text, "Jain's") && !strings.Contains(text, "Jain&#39;s") {
				r.Errorf("%s does not name null2:\n%.3000s", what, text)
			}
		}
		table := analyze.MembersTable(trial)
		if len(table.Rows) != 3 || table.Rows[1][0].Text != "null2" || table.Rows[1][4].Value.Number > 0.06 {
			r.Errorf("the table of the members is %+v", table.Rows)
		}
		for i := range trial.ByRole {
			s := &trial.ByRole[i]
			if slow := s.ServiceTime.Percentile(90).NS > 0.035*second; s.Role == "leader" && slow {
				r.Errorf("the p90 of the leader is too high: %+v", s.ServiceTime)
			}
		}
		if !strings.Contains(page, `-fairness">Fairness between clients`) || !strings.Contains(page, "Operations by client") {
			r.Errorf("the page has no chart of the clients")
		}
	})
}

// The report must not call members unfair that serve their clients equally. The test uses three
// null servers, and a real cluster.
func TestEvenServiceIsNotCalledUnfair(t *testing.T) {
	w := newWorld(t)
	load := []string{"put", "--target", "all", "--conns", "6", "--clients", "13", "--duration", "3s"}
	_, endpoints := w.playground(t, "1")
	tries := 0
	settle.RetryMeasurement(t, func(r settle.Reporter) {
		tries++
		_, trial, said, page := truth{w, []string{"--members", "3", "--script", "delay=uniform(1ms,9ms)"}, load}.runKnown(t)
		dir := w.path("real" + strconv.Itoa(tries))
		p := w.run(t, append(append([]string{"bench"}, load...), "--endpoints", strings.Join(endpoints, ","), "--dial-timeout", patience.String(), "--out", dir)...)
		for what, one := range map[string]*record.Trial{"the null server": trial, "etcd": &openRun(t, dir, record.Complete).Trials[0]} {
			if u, unfair := analyze.UnfairnessOf(one); unfair {
				r.Errorf("%s has an unfairness finding: %+v", what, u)
			}
			if b := one.ByClient; b == nil || b.Count != 13 || len(b.Operations) != 13 || b.FairnessIndex == nil || *b.FairnessIndex < 0.9 {
				r.Errorf("%s: %+v", what, b)
			}
		}
		for _, text := range []string{said, page, p.stdout.String()} {
			if strings.Contains(text, "unevenly") || !strings.Contains(html.UnescapeString(text), "Jain's fairness index") {
				r.Errorf("the output is\n%.3000s", text)
			}
		}
	})
	open := w.bench(t, []string{w.nullServer(t)}, exitDone, "put", "--rate", "500", "--duration", "1s", "--conns", "4")
	if open.ByClient != nil {
		t.Errorf("an open loop has figures by client: %+v", open.ByClient)
	}
}

// If a store's throughput halves in the middle of the window, the verdict must state that the
// throughput is not steady (R25), and the report must not show spikes instead.
func TestRateThatDropsHalfWayIsUnsteady(t *testing.T) {
	settle.LongOnly(t, "the rule's own test in internal/verdict")
	t.Parallel()
	w := newWorld(t)
	script := []string{"delay=uniform(10ms,30ms)"}
	for s := 16; s < 34; s++ {
		script = append(script, "stall=700ms@"+strconv.Itoa(s)+"s")
	}
	_, trial, said, page := truth{w, []string{"--script", strings.Join(script, "; ")}, []string{"put", "--duration", "32s", "--conns", "4", "--clients", "16"}}.runKnown(t)
	if text := rule(trial, 25); !strings.Contains(text, "half") || !strings.Contains(said, "R25") || !strings.Contains(html.UnescapeString(page), text) {
		t.Errorf("the reason of rule 25 is %q", text)
	}
	rows := slices.DeleteFunc(slices.Clone(trial.Timeline), func(r record.Row) bool { return r.Phase != "measured" })
	before, after := uint64(0), uint64(0)
	for _, r := range rows {
		switch {
		case r.Second < 16:
			before += r.Done
		case r.Second < 32:
			after += r.Done
		}
	}
	if before <= after {
		t.Errorf("%d operations completed before the drop, and %d after", before, after)
	}
}
