package web

import (
	"bytes"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/results/record"
)

// A page of a run with faults says in its answer what they broke, and has a table and
// a picture for each kind of fault. Nothing that a record can have makes it end.
func TestPageHasFaults(t *testing.T) {
	for name, outages := range map[string][]float64{"outages": {1.5, 0.25}, "none": {0, 0}, "beyond all": {1e305, 1e-300}} {
		run := opened(t, made{name: "faulty", seconds: 6, trials: 2}.record(t))
		for i := range run.Trials {
			f := record.Fault{Number: 1, What: "kill leader for <b>1s", Began: new(2.0), Healed: new(3.0), Ready: new(3.5), Member: "m1", Role: "leader", LongestBefore: new(0.004)}
			if outages[i] > 0 {
				f.Outage, f.OutageFrom = new(outages[i]), new(2.001)
			}
			run.Trials[i].Faults = []record.Fault{f}
		}
		var b bytes.Buffer
		must(t, HTML(&b, run, nil))
		page := b.String()
		for _, want := range []string{`id="broken"`, `href="#broken"`, "What breaks, and for how long", "kill leader for &lt;b&gt;1s: longest time without any success", `id="outages-1"`} {
			if !strings.Contains(page, want) {
				t.Errorf("%s: the page has no %s", name, want)
			}
		}
		if strings.Contains(page, "NaN") || strings.Contains(page, "Inf") || strings.Contains(page, "<b>1s") {
			t.Errorf("%s: the page has what is no number, or a tag", name)
		}
		if name == "outages" && !strings.Contains(page, "no operation succeeded for 1.5 s; the longest gap before was 4 ms") {
			t.Error("the answer does not say what the fault broke")
		}
		files, _ := Charts(run)
		found := false
		for i := range files {
			if files[i].Name == "outages-1" {
				found = true
				must(t, files[i].PNG(false)(&b))
			}
		}
		if !found {
			t.Errorf("%s: no file has the outages", name)
		}
	}
}

// The page says what came of checking the answers, in the answer and where it links to.
func TestCheckedAnswersAreOnThePage(t *testing.T) {
	run := opened(t, made{name: "checked", seconds: 3, trials: 1}.record(t))
	run.Trials[0].Answers = &record.Answers{
		Operations: 1000, Judged: 900, Keys: 7, Wrong: map[string]uint64{"stale <read>": 2},
		Violations: []record.Violation{{Kind: "stale <read>", Promise: "linearizable", Source: "docs", Key: 3, History: []string{"a", "b"}, Why: "b is older"}},
	}
	var b bytes.Buffer
	must(t, HTML(&b, run, nil))
	page := b.String()
	for _, want := range []string{`id="t1-1-answers"`, `href="#t1-1-answers"`, "answers: WRONG: stale &lt;read&gt; (2), in 900 operations of 7 keys.", "b is older"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %s", want)
		}
	}
}
