package report

import (
	"fmt"
	"strings"

	"github.com/quorumbench/quorumbench/internal/results/analyze/compare"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/text"
)

// RepeatingLines returns how often trials were repeated until they were precise, and why the run
// stopped; nothing for a run without that rule.
func RepeatingLines(run *record.Run) (lines []string) {
	for _, p := range run.PartsOrSelf() {
		r := compare.RepeatingFromRun(p)
		if r == nil {
			continue
		}
		about := ""
		if len(run.Parts) > 0 {
			about = p.Name + ": "
		}
		lines = append(lines, about+ended(p, r)+".")
		if len(r.LeftOut) > 0 {
			lines = append(lines, about+"Not counted: "+strings.Join(r.LeftOut, "; ")+".")
		}
	}
	return lines
}

// ended describes how a run's repeating ended.
func ended(run *record.Run, r *compare.Repeating) string {
	after := "Stopped after " + text.Plural(uint64(r.Repeats), "repeat")
	within := "within ± " + text.Share(r.Until.Precision)
	switch r.Until.Ended {
	case record.EndedPrecise:
		words := fmt.Sprintf("%s: every 95 %% interval of %s is %s", after, figures(r), within)
		if p, ok := r.Widest(); ok {
			words += "; widest: " + precision(&p)
		}
		return words
	case record.EndedHopeless:
		return fmt.Sprintf("%s: not every figure can become precise (%s), because a figure has no valid repeat, or is unknown, 0 or failed in one. Not precise: %s", after, within, impreciseFigures(r))
	case record.EndedDisturbed:
		return fmt.Sprintf("%s: more repeats cannot bring every 95 %% interval %s, because disturbances may have moved figures further. Not precise: %s", after, within, impreciseFigures(r))
	case record.EndedMost:
		return fmt.Sprintf("%s, the maximum; not every 95 %% interval is %s. Not precise: %s", after, within, impreciseFigures(r))
	case record.EndedTime:
		return fmt.Sprintf("%s: time limit %s; not every 95 %% interval is %s. Not precise: %s",
			after, text.FormatDuration(r.AtMost()), within, impreciseFigures(r))
	}
	return fmt.Sprintf("The run is %s after %s and should repeat until every 95 %% interval is %s. Not precise: %s",
		run.State, text.Plural(uint64(r.Repeats), "repeat"), within, impreciseFigures(r))
}

// RepeatingProgress returns the progress of the repeating after a round.
func RepeatingProgress(r *compare.Repeating) string {
	words := fmt.Sprintf("after %s: %s of %d intervals are precise to ± %s", text.Plural(uint64(r.Repeats), "repeat"),
		text.Count(uint64(r.Precise())), len(r.Known), text.Share(r.Until.Precision))
	if p, ok := r.Widest(); ok {
		words += ", widest: " + precision(&p)
	}
	if r.Repeats < r.FewestRepeats() {
		words += fmt.Sprintf("; minimum %d repeats", r.FewestRepeats())
	}
	return words
}

// figures returns the names of the figures that must be precise.
func figures(r *compare.Repeating) string {
	var names []string
	for _, f := range r.By.Figures {
		names = append(names, f.Title)
	}
	return strings.Join(names, " and ")
}

// mostOpen is the largest number of figures that a sentence names.
const mostOpen = 4

// impreciseFigures names the figures that are not precise.
func impreciseFigures(r *compare.Repeating) string {
	var parts []string
	for i, p := range r.Imprecise() {
		if i == mostOpen {
			parts = append(parts, "and others")
			break
		}
		parts = append(parts, precision(&p))
	}
	text := strings.Join(parts, ", ")
	if r.Repeats < r.FewestRepeats() {
		text += fmt.Sprintf(" (minimum %d repeats)", r.FewestRepeats())
	}
	return text
}

// precision describes how precise a figure is.
func precision(p *compare.Precision) string {
	of := p.Title + " of " + p.Trial
	if p.Ratio {
		of += " against its baseline"
	}
	switch {
	case p.Repeats == 0:
		return of + " (no valid repeat)"
	case !p.HasInterval:
		return of + " (no interval)"
	}
	words := of + " (± " + text.Percent(p.Half, 2)
	if p.Unsettled {
		words += ", disturbances may account for " + text.Percent(p.Remains, 2)
	}
	return words + ")"
}
