package report

import (
	"fmt"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/analyze/faults"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Effect reports the effect of one fault in a sentence.
func Effect(e *faults.Effect) Finding {
	return Finding{parts: func(out layout) { effectParts(out, e) }, object: func() any { return effectObject(e) }}
}

func effectParts(out layout, e *faults.Effect) {
	t := e.Trial
	out.addLines(e.Sentence())
	if e.Fault.Failure != "" {
		out.addLines("The fault differed from the request: " + e.Fault.Failure)
	}
	judged := analyze.JudgeTrials([]*record.Trial{t})
	out.blank()
	out.accented(fmt.Sprintf("%s %s, %s; load %s for %s; verdict %s.", t.Store, t.Version, text.Plural(uint64(max(t.Members, 0)), "member"),
		text.PerSecond(*t.Rate), text.FormatDuration(t.Duration), judged), judged.State, VerdictTone(t.Verdict.State))
}

func effectObject(e *faults.Effect) (o record.Object) {
	t, f := e.Trial, e.Fault
	o.Add("fault", f.Description)
	o.Add("member", f.Member)
	o.Add("role", f.Role)
	o.Add("store", t.Store)
	o.Add("version", t.Version)
	o.Add("members", t.Members)
	o.Add("rate", t.Rate)
	o.Add("duration_seconds", t.Duration.Seconds())
	o.Add("seed", t.Seed)
	o.Add("began_seconds", f.BeganAt)
	o.Add("outage_seconds", f.Outage)
	o.Add("outage_unfinished", f.OutageUnfinished)
	o.Add("recovery_seconds", e.Recovered)
	o.Add("errors_definite", f.Definite)
	o.Add("errors_indefinite", f.Indefinite)
	o.Add("p99_before_seconds", e.Before.InSeconds())
	o.Add("p99_after_seconds", e.After.InSeconds())
	o.Add("verdict", t.Verdict)
	o.Add("sentence", e.Sentence())
	if f.Failure != "" {
		o.Add("failure", f.Failure)
	}
	return o
}
