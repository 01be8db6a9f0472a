package analyze

import (
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
// trials ran.
func Reasons(run *record.Run) (why, notes []Said) {
	add := func(to *[]Said, text string, t *record.Trial) {
		i := slices.IndexFunc(*to, func(s Said) bool { return s.Text == text })
		if i < 0 {
			i = len(*to)
			*to = append(*to, Said{Text: text})
		}
		(*to)[i].Trials = append((*to)[i].Trials, Label(t))
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
	return notes
}
