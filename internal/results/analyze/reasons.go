package analyze

import (
	"fmt"
	"math"
	"slices"

	"github.com/quorumbench/quorumbench/internal/results/record"
)

// Said is a sentence and the trials that it is about. What holds for several
// trials is said once.
type Said struct {
	Text   string
	Trials []string
}

// Reasons is why trials are not valid, and the notes, in the order in which the
// trials ran. The first notes are of windows that opened too early.
func Reasons(run *record.Run) (why, notes []Said) {
	add := func(to *[]Said, text string, t *record.Trial) {
		i := slices.IndexFunc(*to, func(s Said) bool { return s.Text == text })
		if i < 0 {
			i = len(*to)
			*to = append(*to, Said{Text: text})
		}
		(*to)[i].Trials = append((*to)[i].Trials, Label(t))
	}
	for _, r := range Rows(run) {
		if l, late := LateSteadyOf(r); late {
			for _, t := range r.Done {
				add(&notes, l.String(), t)
			}
		}
	}
	for i := range run.Trials {
		t := &run.Trials[i]
		if t.Failure != "" {
			add(&why, t.Failure, t)
		}
		if Measured(t) {
			for _, r := range t.Verdict.Reasons {
				add(&why, r.String(), t)
			}
		}
		for _, n := range Notes(t) {
			add(&notes, n, t)
		}
	}
	return why, notes
}

// Notes are sentences about a trial that make nothing suspect.
func Notes(t *record.Trial) []string {
	notes := slices.Concat(t.Verdict.Notes, t.Notes)
	if text := unsteady(t); text != "" {
		notes = append(notes, text)
	}
	return append(notes, atFloor(t)...)
}

// longerWarmup is how much longer than asked for, in seconds, a warm-up is that
// the report says.
const longerWarmup = 0.25

// warmups says how long warm-up went on until throughput seemed steady, where that
// was longer than asked for in any of the trials; empty if in none.
func warmups(trials []*record.Trial) string {
	least, most, longer := math.Inf(1), 0.0, false
	for _, t := range trials {
		if t.WarmupRun == nil || t.WarmupSteady == nil || !*t.WarmupSteady {
			continue
		}
		least, most = min(least, *t.WarmupRun), max(most, *t.WarmupRun)
		longer = longer || *t.WarmupRun > t.Warmup.Seconds()+longerWarmup
	}
	switch {
	case !longer:
		return ""
	case most-least < longerWarmup:
		return "warmed up for " + tenths(most)
	}
	return fmt.Sprintf("warmed up for %s to %s", tenths(least), tenths(most))
}

// unsteady returns a note about a warm-up that ended at its limit, or "".
func unsteady(t *record.Trial) string {
	if t.WarmupRun == nil || t.WarmupSteady == nil || *t.WarmupSteady {
		return ""
	}
	return fmt.Sprintf("Throughput was not steady at the start of the window, after %s of warm-up. Use a longer warm-up.", tenths(*t.WarmupRun))
}
