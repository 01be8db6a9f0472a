package report

import (
	"fmt"
	"strings"

	"github.com/quorumbench/quorumbench/internal/results/analyze/compare"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Repeated says how often trials were repeated until they were precise, and why
// no more; nothing of a run without that rule.
func Repeated(run *record.Run) (lines []string) {
	for _, p := range run.Each() {
		r := compare.RepeatingOf(p)
		if r == nil {
			continue
		}
		about := ""
		if len(run.Parts) > 0 {
			about = p.Name + ": "
		}
		lines = append(lines, about+ended(p, r)+".")
		if len(r.LeftOut) > 0 {
			lines = append(lines, about+"Not counted for that: "+strings.Join(r.LeftOut, "; ")+".")
		}
	}
	return lines
}

func ended(run *record.Run, r *compare.Repeating) string {
	after := "Stopped after " + text.Plural(uint64(r.Repeats), "repeat")
	within := "within ± " + text.Share(r.Until.Precision)
	switch r.Until.Ended {
	case record.EndedPrecise:
		words := fmt.Sprintf("%s: every 95 %% interval of %s is %s", after, figures(r), within)
		if p, ok := r.Widest(); ok {
			words += "; the widest is that of " + precision(&p)
		}
		return words
	case record.EndedHopeless:
		return fmt.Sprintf("%s, because not every figure can be %s: a figure has no repeat that counts, or one in which it is not known, 0 or failed; %s", after, within, still(r))
	case record.EndedDisturbed:
		return fmt.Sprintf("%s, because more of them would not make every 95 %% interval be %s: what disturbed the repeats can have moved figures farther; %s", after, within, still(r))
	case record.EndedMost:
		return fmt.Sprintf("%s, the most there can be, and not every 95 %% interval is %s: %s", after, within, still(r))
	case record.EndedTime:
		return fmt.Sprintf("%s, because another as long as the longest would not have ended within %s, and not every 95 %% interval is %s: %s",
			after, text.FormatDuration(r.AtMost()), within, still(r))
	}
	return fmt.Sprintf("The run is %s after %s, and was to be repeated until every 95 %% interval is %s: %s",
		run.State, text.Plural(uint64(r.Repeats), "repeat"), within, still(r))
}

// Standing says after a round how far the repeating is.
func Standing(r *compare.Repeating) string {
	words := fmt.Sprintf("after %s: %s of %d intervals precise to ± %s", text.Plural(uint64(r.Repeats), "repeat"),
		text.Count(uint64(r.Precise())), len(r.Known), text.Share(r.Until.Precision))
	if p, ok := r.Widest(); ok {
		words += ", the widest is that of " + precision(&p)
	}
	if r.Repeats < r.FewestRepeats() {
		words += fmt.Sprintf("; at least %d repeats are made", r.FewestRepeats())
	}
	return words
}

// figures are the names of those that are to be precise.
func figures(r *compare.Repeating) string {
	var names []string
	for _, f := range r.By.Figures {
		names = append(names, f.Title)
	}
	return strings.Join(names, " and ")
}

// mostOpen is how many figures a sentence names.
const mostOpen = 4

// still names the figures that are not precise.
func still(r *compare.Repeating) string {
	var parts []string
	for i, p := range r.Open() {
		if i == mostOpen {
			parts = append(parts, "and others")
			break
		}
		parts = append(parts, precision(&p))
	}
	text := strings.Join(parts, ", ")
	if r.Repeats < r.FewestRepeats() {
		text += fmt.Sprintf(" (none counts as precise before %d repeats)", r.FewestRepeats())
	}
	return text
}

// precision is how precisely a figure is known.
func precision(p *compare.Precision) string {
	of := p.Title + " of " + p.Trial
	if p.Ratio {
		of += " against its baseline"
	}
	switch {
	case p.Repeats == 0:
		return of + " (no repeat counts)"
	case !p.HasInterval:
		return of + " (no interval)"
	}
	words := of + " (± " + text.Percent(p.Half, 2)
	if p.Unsettled {
		words += ", of which disturbances can have made " + text.Percent(p.Remains, 2)
	}
	return words + ")"
}
