package analyze

import (
	"fmt"
	"math"
	"regexp"
	"slices"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// Sentence is a sentence and the trials that it is about. Sentences that differ only in figures, or
// that come from the same rule, are merged.
type Sentence struct {
	Text   string
	Trials []string // labels; repeats of a trial are one, with their number
	Count  int      // of the trials
	// Worst is the label of the trial that Text is about, if the sentences of the others differ: the
	// trial that was disturbed most.
	Worst string
}

// sentences collects sentences about trials.
type sentences struct {
	all    []Sentence
	keys   []string
	trials [][]*record.Trial
	worst  []*record.Trial
}

// add adds a sentence about a trial. Sentences with the same key are merged.
func (s *sentences) add(key, text string, t *record.Trial) {
	i := slices.Index(s.keys, key)
	if i < 0 {
		s.all, s.keys = append(s.all, Sentence{Text: text}), append(s.keys, key)
		s.trials, s.worst = append(s.trials, []*record.Trial{t}), append(s.worst, t)
		return
	}
	if last := s.trials[i][len(s.trials[i])-1]; last != t { // the sentences of a trial come in a row
		s.trials[i] = append(s.trials[i], t)
	}
	if s.all[i].Text == text {
		return
	}
	if worseThan(t, s.worst[i]) {
		s.all[i].Text, s.worst[i] = text, t
	}
	s.all[i].Worst = Label(s.worst[i])
}

// withTrials returns the sentences with their trials.
func (s *sentences) withTrials() []Sentence {
	for i := range s.all {
		s.all[i].Trials, s.all[i].Count = labelsOf(s.trials[i]), len(s.trials[i])
	}
	return s.all
}

// worseThan reports whether disturbances can have moved some figure of one trial by more than any
// figure of the other.
func worseThan(one, other *record.Trial) bool {
	most := func(t *record.Trial) (most float64) {
		for _, name := range verdict.Printed() {
			most = max(most, t.Verdict.Effect.ForFigure(name))
		}
		return most
	}
	return one.Verdict.State.Worse(other.Verdict.State) || one.Verdict.State == other.Verdict.State && most(one) > most(other)
}

// sentenceKey returns a key that is equal for sentences of the same meaning: the number of the rule
// that they name, or their words without figures.
func sentenceKey(sentence string) string {
	if rule := ruleNumber.FindString(sentence); rule != "" {
		return rule
	}
	return figures.ReplaceAllString(sentence, "")
}

var (
	ruleNumber = regexp.MustCompile(`\bR[0-9]+\b`)
	figures    = regexp.MustCompile(`[0-9][0-9.,]*`)
)

// Reasons returns why trials are not valid, and the notes, in the order in which the trials ran.
// The first notes are of windows that opened too early.
func Reasons(run *record.Run) (why, notes []Sentence) {
	var reasons, others sentences
	for _, r := range Rows(run) {
		if l, late := LateSteadyOf(r); late {
			for _, t := range r.Done {
				others.add(sentenceKey(l.String()), l.String(), t)
			}
		}
	}
	for i := range run.Trials {
		t := &run.Trials[i]
		if t.Failure != "" {
			reasons.add(t.Failure, t.Failure, t)
		}
		if HasFigures(t) {
			for _, r := range t.Verdict.Reasons {
				reasons.add(fmt.Sprintf("R%d", r.Rule), r.String(), t)
			}
		}
		for _, n := range Notes(t) {
			others.add(sentenceKey(n), n, t)
		}
	}
	return reasons.withTrials(), others.withTrials()
}

// Notes returns sentences about a trial that do not affect its verdict.
func Notes(t *record.Trial) []string {
	notes := slices.Concat(t.Verdict.Notes, t.Notes)
	if text := unsteady(t); text != "" {
		notes = append(notes, text)
	}
	return append(notes, atFloor(t)...)
}

// longerWarmup is the number of seconds beyond the configured warm-up from which the report
// mentions its length.
const longerWarmup = 0.25

// warmups reports how long warm-up continued until throughput was steady, if that was longer than
// configured in some trial; empty otherwise.
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
