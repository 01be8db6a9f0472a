package web

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/analyze/compare"
	"github.com/quorumbench/quorumbench/internal/results/analyze/limits"
	"github.com/quorumbench/quorumbench/internal/results/analyze/size"
	"github.com/quorumbench/quorumbench/internal/results/figures"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/results/report"
	"github.com/quorumbench/quorumbench/internal/text"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// answer summarizes a run in sentences about the stores and machines, the results, the bottlenecks,
// the effects of faults, and the reliability of the results. If the run is a capacity search, the
// parameter `found` contains the intervals that the search found; otherwise `found` is nil. The
// parameter `steps` is the anchor of the charts of ladder steps. If there is a baseline, the text
// in `changes` counts the changes from it.
func answer(run *record.Run, rows []*analyze.Row, found *size.CapacityFindings, ladders []size.Ladder, shown shownTrials, steps string, changes string) []sentence {
	var all []sentence
	if changes != "" {
		all = append(all, sentence{Subject: "Compared with the baseline:", Text: changes + ".", Link: "compared"})
	}
	if found == nil {
		all = append(all, rankingSentences(rows)...)
	}
	all = append(all, reliability(run), testedSentence(run, rows))
	if run.State != record.Complete {
		all = append(all, sentence{Subject: "Incomplete:", Text: report.Progress(run) + ".", Link: "table", Severe: true})
	}
	if found != nil {
		all = append(all, capacities(found)...)
	} else {
		tooShort := runTooShort(rows)
		all = append(all, limitSentences(rows, func(r *analyze.Row) []sentence { return mainFigures(r, shown, tooShort) })...)
		all = append(all, noRepeatsWarning(rows, tooShort)...)
		all = append(all, limitSentences(rows, func(r *analyze.Row) []sentence { return earlyWindowWarning(r, shown) })...)
	}
	if lines := report.RepeatProgressLines(run); len(lines) > 0 {
		all = append(all, sentence{Subject: "Repeated:", Text: strings.Join(lines, " "), Link: "table"})
	}
	for i := range ladders {
		if i == maxSentences {
			all = append(all, sentence{Text: "The text and markdown formats list the knees of the other ladders.", Link: steps})
			break
		}
		all = append(all, sentence{Subject: ladders[i].Name, Text: report.KneeSentence(&ladders[i]), Link: steps})
	}
	all = append(all, limitSentences(rows, outageSentences)...)
	all = append(all, bottleneckSentences(run, shown)...)
	all = append(all, limitSentences(rows, func(r *analyze.Row) []sentence { return unevennessSentence(r, shown) })...)
	all = append(all, limitSentences(rows, func(r *analyze.Row) []sentence { return problemSentences(r, shown) })...)
	return append(all, limitSentences(rows, func(r *analyze.Row) []sentence { return verificationSentence(r, shown) })...)
}

// rankingSentences states which store had the highest throughput with each load.
func rankingSentences(rows []*analyze.Row) (all []sentence) {
	for i, ranking := range compare.RankThroughput(rows) {
		if i == maxSentences {
			break
		}
		all = append(all, sentence{Subject: ranking.Fastest.First().Name, Text: report.RankingText(&ranking) + ".", Link: "table"})
	}
	return all
}

// capacities returns sentences about the intervals that capacity searches found.
func capacities(findings *size.CapacityFindings) (all []sentence) {
	for _, f := range findings.All[:min(len(findings.All), maxSentences)] {
		all = append(all, sentence{Subject: searchName(findings, f), Text: report.CapacitySentences(f)[0] + ".", Link: "capacity-found"})
	}
	if more := len(findings.All) - len(all); more > 0 {
		all = append(all, sentence{Text: text.CountNoun(uint64(more), "more search", "more searches") + ": see the table.", Link: "capacity-found"})
	}
	return all
}

// verificationSentence describes the result of one trial's verification. It chooses the first trial
// of the row that has a violation or, if no trial has one, the first verified trial.
func verificationSentence(r *analyze.Row, shown shownTrials) []sentence {
	var of *record.Trial
	for _, t := range r.Done {
		if t.Verification != nil && (of == nil || len(of.Verification.WrongByKind) == 0 && len(t.Verification.WrongByKind) > 0) {
			of = t
		}
	}
	if of == nil {
		return nil
	}
	return []sentence{{
		Subject: analyze.Label(of), Text: "verification: " + report.VerificationLines(of.Verification)[0] + ".",
		Link: linkTo(of, "-verification", shown), Severe: len(of.Verification.WrongByKind) > 0,
	}}
}

// limitSentences returns the results of sentencesOf for the rows. After maxSentences sentences, it
// adds a sentence with the number of the remaining rows, and stops.
func limitSentences(rows []*analyze.Row, sentencesOf func(*analyze.Row) []sentence) (all []sentence) {
	for i, r := range rows {
		if len(all) >= maxSentences {
			return append(all, sentence{Text: fmt.Sprintf("%s: see the table.", text.Plural(uint64(len(rows)-i), "more trial")), Link: "table"})
		}
		all = append(all, sentencesOf(r)...)
	}
	return all
}

// linkTo returns the anchor for a part of a trial's section. If the trial has no section, it
// returns the anchor of the table.
func linkTo(t *record.Trial, part string, shown shownTrials) string {
	switch {
	case shown.shows(t):
		return id(t) + part
	case shown.combines(t):
		return fmt.Sprintf("t%d", t.Number)
	}
	return "table"
}

// linkToRow returns the anchor for the section of a trial with all its repeats.
func linkToRow(r *analyze.Row, shown shownTrials) string {
	if shown.combines(r.First()) {
		return rowID(r)
	}
	return linkTo(r.First(), "", shown)
}

// testedSentence lists the tested stores and the machines.
func testedSentence(run *record.Run, rows []*analyze.Row) sentence {
	var parts []string
	for _, f := range analyze.SharedConditions(run, rows) {
		if f.Label == "store" || f.Label == "machine" {
			parts = append(parts, f.Text)
		}
	}
	if len(parts) == 0 {
		parts = append(parts, text.Plural(uint64(len(rows)), "trial"))
	}
	return sentence{Subject: "Tested", Text: strings.Join(parts, "; ") + ".", Link: "conditions"}
}

// runTooShort reports whether the run is too short for a confidence interval of any trial.
func runTooShort(rows []*analyze.Row) bool {
	ops := figures.Registered("ops")
	return !slices.ContainsFunc(rows, func(r *analyze.Row) bool {
		c, _ := analyze.CertaintyOf(r, &ops)
		return !c.RunTooShort
	})
}

// mainFigures returns a sentence with the main figures of a row. If tooShort is set, another
// sentence already states that the run is too short for an interval, so mainFigures does not repeat
// this reason.
func mainFigures(r *analyze.Row, shown shownTrials, tooShort bool) []sentence {
	if len(r.Done) == 0 {
		return []sentence{{Subject: r.First().Name, Text: "has no result: " + string(r.First().State) + ".", Link: linkTo(r.First(), "", shown), Severe: true}}
	}
	figure := func(name string) string {
		f := figures.Registered(name)
		v, _ := r.Figure(&f)
		return report.Value(v)
	}
	words := fmt.Sprintf("%s, %s p50 %s, ", figure("ops"), r.HeadlineTime().Phrase(), figure("p50"))
	p99 := figures.Registered("p99")
	switch v, _ := r.Figure(&p99); {
	case v.Failed && len(r.Done) > 1:
		words += "no p99 because over 1 % of the operations of a repeat failed"
	case v.Failed:
		words += "no p99 because over 1 % of the operations failed"
	default:
		words += "p99 " + report.Value(v)
	}
	if n := len(r.ComparableTrials()); len(r.Done) > 1 {
		if n < len(r.Done) {
			words += fmt.Sprintf(" (median of %d of %d repeats; the others do not count)", n, len(r.Done))
		} else {
			words += fmt.Sprintf(" (median of %s)", text.Plural(uint64(n), "repeat"))
		}
	}
	words += "."
	if !tooShort {
		words += report.CertaintySentence(r)
	}
	return []sentence{{Subject: r.First().Name, Text: words, Link: linkToRow(r, shown)}}
}

// noRepeatsWarning warns that trials have no repeats and, if the run is too short, no confidence
// intervals.
func noRepeatsWarning(rows []*analyze.Row, tooShort bool) []sentence {
	for _, r := range rows {
		if len(r.Done) != 1 {
			return nil
		}
	}
	words := "was run once, so the variation between runs is unknown. Add repeats (repeats: 5)."
	if tooShort {
		words = "was run once, and is too short for a confidence interval. Add repeats (repeats: 5)."
	}
	return []sentence{{Subject: "Each trial", Text: words, Link: "table"}}
}

// earlyWindowWarning warns that a window started before the load was steady.
func earlyWindowWarning(r *analyze.Row, shown shownTrials) []sentence {
	l, late := analyze.LateSteadyOf(r)
	if !late {
		return nil
	}
	return []sentence{{Subject: r.First().Name + ":", Text: l.String(), Link: linkTo(r.Done[0], "", shown), Severe: true}}
}

// bottleneckSentences returns sentences about the bottlenecks of the trials. Trials with the same
// bottleneck share a sentence.
func bottleneckSentences(run *record.Run, shown shownTrials) (out []sentence) {
	all := analyze.TrialsInOrder(run)
	for _, c := range limits.FindShared(all) {
		of := all[slices.IndexFunc(all, func(t *record.Trial) bool { return analyze.Label(t) == c.WorstTrial })]
		was := "was"
		if len(c.Trials) > 1 {
			was = "were"
		}
		out = append(out, sentence{Subject: names(c.Trials, c.Count == len(all) && c.Count > 1), Text: was + " limited by " + report.SharedLimitText(&c) + ".", Link: linkTo(of, "-limits", shown)})
	}
	return out
}

// unevennessSentence returns a sentence about the trial of a row that served its clients most
// unevenly.
func unevennessSentence(r *analyze.Row, shown shownTrials) []sentence {
	t, _ := analyze.MostUneven(r)
	if t == nil {
		return nil
	}
	return []sentence{{Subject: analyze.Label(t), Text: "served its clients unevenly: " + report.UnevennessLines(t)[0] + ".", Link: linkTo(t, "-fairness", shown)}}
}

// problemSentences reports what went wrong in a row's trials, and in which repeats.
func problemSentences(r *analyze.Row, shown shownTrials) []sentence {
	var parts []string
	var first *record.Trial
	add := func(words string, in []*record.Trial) {
		if len(in) == 0 {
			return
		}
		parts = append(parts, words+r.RepeatsText(in))
		if first == nil || in[0].Repeat < first.Repeat {
			first = in[0]
		}
	}
	failures := map[string][]*record.Trial{}
	var texts, lost []string
	var failed, wrong, without, elected []*record.Trial
	var errors, due, inFaults, answers, changes uint64
	for _, t := range r.Trials {
		if words := strings.TrimSuffix(t.Failure, "."); words != "" {
			if failures[words] == nil {
				texts = append(texts, words)
			}
			failures[words] = append(failures[words], t)
		}
		if t.Errors > 0 {
			failed, errors, due, inFaults = append(failed, t), errors+t.Errors, due+t.Due, inFaults+t.ErrorsInFaults
		}
		if t.WrongResponses > 0 {
			wrong, answers = append(wrong, t), answers+t.WrongResponses
		}
		if len(t.LostMembers) > 0 {
			without, lost = append(without, t), append(lost, t.LostMembers...)
		}
		if n := t.TermChanges - t.TermChangesInFaults; n > 0 {
			elected, changes = append(elected, t), changes+uint64(n)
		}
	}
	for _, words := range texts {
		add(words, failures[words])
	}
	if len(failed) > 0 {
		words := fmt.Sprintf("%s of %s failed", text.Count(errors), text.Plural(due, "due operation"))
		if kinds := analyze.ErrorKinds(mostFailed(failed)); len(kinds) > 0 {
			words += " (" + kinds[0].Kind + ")"
		}
		if inFaults > 0 {
			words += fmt.Sprintf(", %s of them during faults", text.Count(inFaults))
		}
		add(words, failed)
	}
	add(text.Plural(answers, "wrong response"), wrong)
	slices.Sort(lost)
	add(names(slices.Compact(lost), false)+" stopped responding", without)
	add("the leader changed "+text.Plural(changes, "time"), elected)
	if first == nil {
		return nil
	}
	return []sentence{{Subject: r.First().Name, Text: strings.Join(parts, "; ") + ".", Link: linkTo(first, "-broke", shown), Severe: true}}
}

// mostFailed returns the trial with the most errors.
func mostFailed(trials []*record.Trial) *record.Trial {
	return slices.MaxFunc(trials, func(a, b *record.Trial) int { return cmp.Compare(a.Errors, b.Errors) })
}

// maxReasons is the maximum number of verdict reasons that the answer names.
const maxReasons = 4

// reliability counts the verdicts of each kind.
func reliability(run *record.Run) sentence {
	counts := map[verdict.State]uint64{}
	var reasons []string
	for i := range run.Trials {
		if t := &run.Trials[i]; analyze.HasFigures(t) {
			counts[t.Verdict.State]++
			for _, reason := range t.Verdict.Reasons {
				reasons = analyze.AppendNew(reasons, reason.Name())
			}
		}
	}
	s := sentence{Subject: "Reliability", Link: "verdicts"}
	valid, suspect, invalid := counts[verdict.Valid], counts[verdict.Suspect], counts[verdict.Invalid]
	switch {
	case valid+suspect+invalid == 0:
		s.Text, s.Severe = "no trial has a result.", true
	case suspect+invalid == 0:
		s.Text = "all trials are valid: no disturbance moved a figure by more than the rules allow."
	default:
		var parts []string
		if invalid > 0 {
			parts = append(parts, text.Plural(invalid, "trial")+" invalid")
		}
		if suspect > 0 {
			parts = append(parts, text.Plural(suspect, "trial")+" suspect")
		}
		if valid > 0 {
			parts = append(parts, text.Plural(valid, "trial")+" valid")
		}
		s.Text, s.Severe = strings.Join(parts, ", ")+" ("+text.ShortList(reasons, maxReasons)+").", true
	}
	return s
}
