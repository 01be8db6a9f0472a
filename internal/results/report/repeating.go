package report

import (
	"fmt"
	"strings"

	"github.com/quorumbench/quorumbench/internal/results/analyze/compare"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/text"
)

// RepeatProgressLines describes a run that repeats its trials until their figures are precise. The
// lines state how often the run repeated the trials and why it stopped. For other runs,
// RepeatProgressLines returns no lines.
func RepeatProgressLines(run *record.Run) (lines []string) {
	for _, p := range run.PartsOrSelf() {
		r := compare.RepeatProgressOfRun(p)
		if r == nil {
			continue
		}
		about := ""
		if len(run.Parts) > 0 {
			about = p.Name + ": "
		}
		lines = append(lines, about+ended(p, r)+".")
		if len(r.LeftOut) > 0 {
			lines = append(lines, about+"Not used: "+strings.Join(r.LeftOut, "; ")+".")
		}
	}
	return lines
}

// ended describes why a run stopped repeating its trials.
func ended(run *record.Run, r *compare.RepeatProgress) string {
	after := "Stopped after " + text.Plural(uint64(r.Rounds), "repeat")
	within := "within ± " + text.Share(r.Rule.Precision)
	switch r.Rule.EndReason {
	case record.EndedPrecise:
		words := fmt.Sprintf("%s: every 95 %% interval of %s is %s", after, preciseFigures(r), within)
		if p, ok := r.LeastPrecise(); ok {
			words += "; widest: " + precision(&p)
		}
		return words
	case record.EndedHopeless:
		return fmt.Sprintf("%s: some figures cannot become precise (%s), because they have no usable repeat, or a repeat in which they are unknown, 0 or failed. Not precise: %s", after, within, impreciseFigures(r))
	case record.EndedDisturbed:
		return fmt.Sprintf("%s: more repeats cannot bring every 95 %% interval %s, because disturbances may have moved some figures by more than that. Not precise: %s", after, within, impreciseFigures(r))
	case record.EndedMaxRepeats:
		return fmt.Sprintf("%s, the maximum; not every 95 %% interval is %s. Not precise: %s", after, within, impreciseFigures(r))
	case record.EndedTime:
		return fmt.Sprintf("%s: time limit %s; not every 95 %% interval is %s. Not precise: %s",
			after, text.FormatDuration(r.TimeLimit()), within, impreciseFigures(r))
	}
	return fmt.Sprintf("The run is %s after %s. It should repeat its trials until every 95 %% interval is %s. Not precise: %s",
		run.State, text.Plural(uint64(r.Rounds), "repeat"), within, impreciseFigures(r))
}

// RoundProgress describes how many figures are precise after a round of repeats.
func RoundProgress(r *compare.RepeatProgress) string {
	words := fmt.Sprintf("after %s: %s of %d intervals are precise to ± %s", text.Plural(uint64(r.Rounds), "repeat"),
		text.Count(uint64(r.CountPrecise())), len(r.Precisions), text.Share(r.Rule.Precision))
	if p, ok := r.LeastPrecise(); ok {
		words += ", widest: " + precision(&p)
	}
	if r.Rounds < r.FewestRepeats() {
		words += fmt.Sprintf("; minimum %d repeats", r.FewestRepeats())
	}
	return words
}

// preciseFigures returns the names of the figures that must be precise.
func preciseFigures(r *compare.RepeatProgress) string {
	var names []string
	for _, f := range r.Metrics.Figures {
		names = append(names, f.Title)
	}
	return strings.Join(names, " and ")
}

// maxImprecise is the maximum number of imprecise figures that a sentence lists.
const maxImprecise = 4

// impreciseFigures lists the figures that are not precise yet.
func impreciseFigures(r *compare.RepeatProgress) string {
	var parts []string
	for i, p := range r.Imprecise() {
		if i == maxImprecise {
			parts = append(parts, "and others")
			break
		}
		parts = append(parts, precision(&p))
	}
	text := strings.Join(parts, ", ")
	if r.Rounds < r.FewestRepeats() {
		text += fmt.Sprintf(" (minimum %d repeats)", r.FewestRepeats())
	}
	return text
}

// precision describes a figure and how precise it is.
func precision(p *compare.Precision) string {
	of := p.Title + " of " + p.Trial
	if p.Ratio {
		of += " relative to its baseline"
	}
	switch {
	case p.Repeats == 0:
		return of + " (no usable repeat)"
	case !p.HasInterval:
		return of + " (no interval)"
	}
	words := of + " (± " + text.Percent(p.HalfWidth, 2)
	if p.Unsettled {
		words += ", of which disturbances may have caused " + text.Percent(p.DisturbedPart, 2)
	}
	return words + ")"
}
