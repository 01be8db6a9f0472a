package web

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// The page of a run with faults describes the outages in its answer, and has a table and a chart
// for each kind of fault. Extreme values in a record do not break the page.
func TestPageHasFaults(t *testing.T) {
	settle.SkipUnderRace(t)
	for name, outages := range map[string][]float64{"outages": {1.5, 0.25}, "none": {0, 0}, "beyond all": {1e305, 1e-300}} {
		run := opened(t, made{name: "faulty", seconds: 6, trials: 2}.record(t))
		for i := range run.Trials {
			f := record.Fault{Number: 1, Description: "kill leader for <b>1s", BeganAt: new(2.0), HealedAt: new(3.0), RecoveredAt: new(3.5), Member: "m1", Role: "leader", Recovery: record.Recovery{LongestGapBefore: new(0.004)}}
			if outages[i] > 0 {
				f.Outage, f.OutageStart = new(outages[i]), new(2.001)
			}
			run.Trials[i].Faults = []record.Fault{f}
		}
		var b bytes.Buffer
		must(t, HTML(&b, run, nil))
		page := b.String()
		for _, want := range []string{`id="broken"`, `href="#broken"`, "Outages", "kill leader for &lt;b&gt;1s: longest time without any success", `id="outages-1"`} {
			if !strings.Contains(page, want) {
				t.Errorf("%s: the page has no %s", name, want)
			}
		}
		if strings.Contains(page, "NaN") || strings.Contains(page, "Inf") || strings.Contains(page, "<b>1s") {
			t.Errorf("%s: the page contains NaN, Inf or an unescaped tag", name)
		}
		if name == "outages" && !strings.Contains(page, "no operation completed for 1.5 s; the longest gap before the fault was 4 ms") {
			t.Error("the answer does not say what the fault broke")
		}
		files, _ := Charts(run, nil, AllCharts)
		found := false
		for i := range files {
			if files[i].Name == "outages-1" {
				found = true
				must(t, files[i].PNG(false)(&b))
			}
		}
		if !found {
			t.Errorf("%s: no chart file shows the outages", name)
		}
	}
}

// The page shows the result of the verification in the answer and in the section to which the
// answer links.
func TestCheckedAnswersAreOnThePage(t *testing.T) {
	settle.SkipUnderRace(t)
	run := opened(t, made{name: "checked", seconds: 3, trials: 1}.record(t))
	run.Trials[0].Verification = &record.Verification{
		Operations: 1000, VerifiedOperations: 900, Keys: 7, WrongByKind: map[string]uint64{"stale <read>": 2},
		Violations: []record.Violation{{Kind: "stale <read>", Guarantee: "linearizable", Source: "docs", Key: new(uint64(3)), History: []string{"a", "b"}, Explanation: "b is older", Operations: []record.ShownOperation{
			{Client: 7, Member: 0xabc, From: 2e9, To: 2.1e9, Description: "put <#2>"}, {Client: 8, Name: "m2", From: 3e9, To: 3.2e9, Description: "get: #1", Wrong: true},
		}}},
	}
	var b bytes.Buffer
	must(t, HTML(&b, run, nil))
	page := b.String()
	for _, want := range []string{`id="t1-1-verification"`, `href="#t1-1-verification"`, "verification: VIOLATIONS: stale &lt;read&gt; (2) in 900 operations on 7 keys.", "b is older",
		`id="t1-1-violation-1"`, "stale &lt;read&gt;, key 3</figcaption>", "client 7</text>", "put &lt;#2&gt;</text>", `class="none mark"`, "<span>m2</span>", "<span>abc</span>", "of the history. b is older"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %s", want)
		}
	}
	files, _ := Charts(run, nil, AllCharts)
	at := slices.IndexFunc(files, func(f File) bool { return strings.HasSuffix(f.Name, "-violation-1") })
	if at < 0 || !strings.Contains(files[at].Text, `class="none mark" d="M666.667 58h133.333"`) {
		t.Fatal("no chart file shows the wrong response at its place")
	}
	for _, dark := range []bool{false, true} {
		must(t, files[at].PNG(dark)(&b))
	}
	// A record can contain arbitrary values.
	run.Trials[0].Verification.Violations[0].Operations = slices.Repeat([]record.ShownOperation{{From: -1 << 63, To: 1<<63 - 1}, {From: 5, To: 4}}, 500)
	b.Reset()
	must(t, HTML(&b, run, nil))
	if page := b.String(); strings.Contains(page, "NaN") || strings.Contains(page, "Inf") || len(page) > 1<<20 {
		t.Error("the page of an impossible violation contains NaN or Inf, or is larger than 1 MiB")
	}
}
