package web

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/analyze/size"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/results/report"
	"github.com/quorumbench/quorumbench/internal/text"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// answer says in sentences what was tested, what came out, what limited it, what
// broke and whether to believe it. Of a search for a capacity, which found then is not nil
// of, what came out is its intervals. steps is where the ladders are drawn.
func answer(run *record.Run, rows []*analyze.Row, found *size.CapacityFindings, ladders []size.Ladder, shown shownTrials, steps string) []sentence {
	all := []sentence{tested(run, rows)}
	if run.State != record.Complete {
		all = append(all, sentence{About: "Not whole:", Text: report.Progress(run) + ".", Link: "table", Grave: true})
	}
	if found != nil {
		all = append(all, capacities(found)...)
	} else {
		all = append(all, bounded(rows, func(r *analyze.Row) []sentence { return headlines(r, shown) })...)
		all = append(all, single(rows)...)
		all = append(all, bounded(rows, func(r *analyze.Row) []sentence { return early(r, shown) })...)
	}
	if lines := report.Repeated(run); len(lines) > 0 {
		all = append(all, sentence{About: "Repeated:", Text: strings.Join(lines, " "), Link: "table"})
	}
	for i := range ladders {
		if i == mostSentences {
			all = append(all, sentence{Text: "The formats text and markdown have the knees of more steps.", Link: steps})
			break
		}
		all = append(all, sentence{About: ladders[i].Name, Text: report.KneeSentence(&ladders[i]), Link: steps})
	}
	all = append(all, limits(run, shown)...)
	all = append(all, bounded(rows, func(r *analyze.Row) []sentence { return uneven(r, shown) })...)
	all = append(all, bounded(rows, broke)...)
	all = append(all, bounded(rows, func(r *analyze.Row) []sentence { return broken(r, shown) })...)
	all = append(all, bounded(rows, func(r *analyze.Row) []sentence { return checked(r, shown) })...)
	return append(all, believe(run))
}

// capacities are the intervals that searches came to.
func capacities(found *size.CapacityFindings) (all []sentence) {
	for _, f := range found.All[:min(len(found.All), mostSentences)] {
		all = append(all, sentence{About: searched(found, f), Text: report.CapacitySentences(f)[0] + ".", Link: "capacity-found"})
	}
	if more := len(found.All) - len(all); more > 0 {
		all = append(all, sentence{Text: fmt.Sprintf("The table has %s more.", text.Either(uint64(more), "search", "searches")), Link: "capacity-found"})
	}
	return all
}

// checked says what came of checking the answers of a row's trials: of the first that
// were wrong, or else of the first.
func checked(r *analyze.Row, shown shownTrials) []sentence {
	var of *record.Trial
	for _, t := range r.Done {
		if t.Answers != nil && (of == nil || len(of.Answers.Wrong) == 0 && len(t.Answers.Wrong) > 0) {
			of = t
		}
	}
	if of == nil {
		return nil
	}
	return []sentence{{
		About: analyze.Label(of), Text: "answers: " + report.Answers(of.Answers)[0] + ".",
		Link: linkTo(of, "-answers", shown), Grave: len(of.Answers.Wrong) > 0,
	}}
}

// bounded are sentences about rows, up to a bound.
func bounded(rows []*analyze.Row, of func(*analyze.Row) []sentence) (all []sentence) {
	for i, r := range rows {
		if len(all) >= mostSentences {
			return append(all, sentence{Text: fmt.Sprintf("The tables say it of %s more.", text.Plural(uint64(len(rows)-i), "trial")), Link: "table"})
		}
		all = append(all, of(r)...)
	}
	return all
}

// linkTo is a part of a trial's section; the table, where it has none.
func linkTo(t *record.Trial, part string, shown shownTrials) string {
	if !shown.shows(t) {
		return "table"
	}
	return id(t) + part
}

func tested(run *record.Run, rows []*analyze.Row) sentence {
	var parts []string
	for _, f := range analyze.SharedConditions(run, rows) {
		if f.What == "store" || f.What == "machine" {
			parts = append(parts, f.Text)
		}
	}
	if len(parts) == 0 {
		parts = append(parts, text.Plural(uint64(len(rows)), "trial"))
	}
	return sentence{About: "Tested", Text: strings.Join(parts, "; ") + ".", Link: "conditions"}
}

// headlines are a row's figures.
func headlines(r *analyze.Row, shown shownTrials) []sentence {
	if len(r.Done) == 0 {
		return []sentence{{About: r.First().Name, Text: "has no result: " + string(r.First().State) + ".", Link: linkTo(r.First(), "", shown), Grave: true}}
	}
	figure := func(name string) string {
		f := record.Registered(name)
		v, _ := r.Figure(&f)
		return report.Value(v)
	}
	words := fmt.Sprintf("%s, %s p50 %s, p99 %s", figure("ops"), r.HeadlineTime().Words(), figure("p50"), figure("p99"))
	if n := len(r.Counting()); len(r.Done) > 1 {
		words += fmt.Sprintf(": the median of %s", text.Plural(uint64(n), "repeat"))
		if n < len(r.Done) {
			words += fmt.Sprintf(" that count, of %d", len(r.Done))
		}
	}
	return []sentence{{About: r.First().Name, Text: words + "." + report.Certain(r), Link: linkTo(r.Done[0], "", shown)}}
}

// single says what figures of one run each are worth.
func single(rows []*analyze.Row) []sentence {
	for _, r := range rows {
		if len(r.Done) != 1 {
			return nil
		}
	}
	return []sentence{{About: "Each", Text: "was run once: how much a figure differs from run to run is not known. Repeats would show it.", Link: "table"}}
}

// early warns of windows that opened before their load was steady.
func early(r *analyze.Row, shown shownTrials) []sentence {
	l, late := analyze.LateSteadyOf(r)
	if !late {
		return nil
	}
	return []sentence{{About: r.First().Name + ":", Text: l.String(), Link: linkTo(r.Done[0], "", shown), Grave: true}}
}

// limits says what limited the trials: once what several share.
func limits(run *record.Run, shown shownTrials) (out []sentence) {
	all := analyze.InOrder(run)
	for _, c := range analyze.LimitsOfTrials(all) {
		of := all[slices.IndexFunc(all, func(t *record.Trial) bool { return analyze.Label(t) == c.Furthest })]
		was := "was"
		if len(c.Trials) > 1 {
			was = "were"
		}
		out = append(out, sentence{About: names(c.Trials, len(all)), Text: was + " limited by " + report.SharedLimitText(&c) + ".", Link: linkTo(of, "-limits", shown)})
	}
	return out
}

// uneven says whose clients were served unevenly: of a row's trial in which they
// were so most.
func uneven(r *analyze.Row, shown shownTrials) []sentence {
	t, _ := analyze.MostUneven(r)
	if t == nil {
		return nil
	}
	return []sentence{{About: analyze.Label(t), Text: "served its clients unevenly: " + report.Uneven(t)[0] + ".", Link: linkTo(t, "-fairness", shown)}}
}

// broken says what failed in a row's trials: of its repeats together, with those
// in which it was so.
func broken(r *analyze.Row, shown shownTrials) []sentence {
	var parts []string
	var first *record.Trial
	add := func(words string, in []*record.Trial) {
		if len(in) == 0 {
			return
		}
		parts = append(parts, words+r.Places(in))
		if first == nil || in[0].Repeat < first.Repeat {
			first = in[0]
		}
	}
	failures := map[string][]*record.Trial{}
	var texts, lost []string
	var failed, wrong, without, elected []*record.Trial
	var errors, due, meant, answers, changes uint64
	for _, t := range r.Trials {
		if words := strings.TrimSuffix(t.Failure, "."); words != "" {
			if failures[words] == nil {
				texts = append(texts, words)
			}
			failures[words] = append(failures[words], t)
		}
		if t.Errors > 0 {
			failed, errors, due, meant = append(failed, t), errors+t.Errors, due+t.Due, meant+t.MeantErrors
		}
		if t.WrongAnswers > 0 {
			wrong, answers = append(wrong, t), answers+t.WrongAnswers
		}
		if len(t.LostMembers) > 0 {
			without, lost = append(without, t), append(lost, t.LostMembers...)
		}
		if n := t.TermChanges - t.MeantTermChanges; n > 0 {
			elected, changes = append(elected, t), changes+uint64(n)
		}
	}
	for _, words := range texts {
		add(words, failures[words])
	}
	if len(failed) > 0 {
		words := fmt.Sprintf("%s of %s due failed", text.Count(errors), text.Plural(due, "operation"))
		if kinds := analyze.ErrorKinds(mostFailed(failed)); len(kinds) > 0 {
			words += " (" + kinds[0].Kind + ")"
		}
		if meant > 0 {
			words += fmt.Sprintf(", %s of them in the time of a fault", text.Count(meant))
		}
		add(words, failed)
	}
	add(text.Plural(answers, "wrong answer"), wrong)
	slices.Sort(lost)
	add(names(slices.Compact(lost), 0)+" was lost", without)
	add("the leader changed "+text.Plural(changes, "time"), elected)
	if first == nil {
		return nil
	}
	return []sentence{{About: r.First().Name, Text: strings.Join(parts, "; ") + ".", Link: linkTo(first, "-broke", shown), Grave: true}}
}

// mostFailed is the trial with most errors.
func mostFailed(trials []*record.Trial) *record.Trial {
	return slices.MaxFunc(trials, func(a, b *record.Trial) int { return cmp.Compare(a.Errors, b.Errors) })
}

// believe says whether to.
func believe(run *record.Run) sentence {
	counts := map[verdict.State]uint64{}
	for i := range run.Trials {
		if t := &run.Trials[i]; analyze.Measured(t) {
			counts[t.Verdict.State]++
		}
	}
	s := sentence{About: "To be believed", Link: "verdicts"}
	valid, suspect, invalid := counts[verdict.Valid], counts[verdict.Suspect], counts[verdict.Invalid]
	switch {
	case valid+suspect+invalid == 0:
		s.Text, s.Grave = "nothing: no trial has a result.", true
	case suspect+invalid == 0:
		s.Text = "yes: no rule of the verdict found anything that moved the figures by more than its limit."
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
		s.Text, s.Grave = "with care: "+strings.Join(parts, ", ")+". The verdicts say why, and by how much the figures may be off.", true
	}
	return s
}
