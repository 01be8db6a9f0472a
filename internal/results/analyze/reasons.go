package analyze

import (
	"fmt"
	"math"
	"regexp"
	"slices"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// Sentence contains a sentence and the trials to which it applies. Sentences are merged if they
// come from the same rule or differ only in numbers.
type Sentence struct {
	Text string
	// labels of the trials; the repeats of a trial share one label, which contains the number of
	// repeats
	Trials []string
	Count  int // number of trials
	// WorstTrial is set if the sentences of the trials differ. Text is then the sentence of the
	// trial that was disturbed most, and WorstTrial is the label of this trial.
	WorstTrial string
}

// sentences collects sentences about trials.
type sentences struct {
	all         []Sentence
	keys        []string
	trials      [][]*record.Trial
	worstTrials []*record.Trial
}

// add adds a sentence about a trial. It merges sentences that have the same key.
func (s *sentences) add(key, text string, t *record.Trial) {
	i := slices.Index(s.keys, key)
	if i < 0 {
		s.all, s.keys = append(s.all, Sentence{Text: text}), append(s.keys, key)
		s.trials, s.worstTrials = append(s.trials, []*record.Trial{t}), append(s.worstTrials, t)
		return
	}
	// sentences about the same trial are added one after the other, so it is enough to compare with
	// the last trial
	if last := s.trials[i][len(s.trials[i])-1]; last != t {
		s.trials[i] = append(s.trials[i], t)
	}
	if s.all[i].Text == text {
		return
	}
	if hasWorseVerdict(t, s.worstTrials[i]) {
		s.all[i].Text, s.worstTrials[i] = text, t
	}
	s.all[i].WorstTrial = Label(s.worstTrials[i])
}

// withTrials returns the sentences, each with the labels and the number of the trials to which it
// applies.
func (s *sentences) withTrials() []Sentence {
	for i := range s.all {
		s.all[i].Trials, s.all[i].Count = RepeatLabels(s.trials[i]), len(s.trials[i])
	}
	return s.all
}

// hasWorseVerdict reports whether a trial has a worse verdict than the trial `current`. If both
// have the same verdict, the trial with the larger possible effect of disturbances on any figure is
// worse.
func hasWorseVerdict(trial, current *record.Trial) bool {
	most := func(t *record.Trial) (most float64) {
		for _, name := range verdict.PrintedFigures() {
			most = max(most, t.Verdict.Effect.ForFigure(name))
		}
		return most
	}
	return trial.Verdict.State.Worse(current.Verdict.State) || trial.Verdict.State == current.Verdict.State && most(trial) > most(current)
}

// sentenceKey returns a key that is the same for sentences that should be merged. It is the rule
// number in the sentence, or the sentence without its numbers.
func sentenceKey(sentence string) string {
	if rule := ruleNumber.FindString(sentence); rule != "" {
		return rule
	}
	return numerals.ReplaceAllString(sentence, "")
}

var (
	ruleNumber = regexp.MustCompile(`\bR[0-9]+\b`)
	numerals   = regexp.MustCompile(`[0-9][0-9.,]*`)
)

// Reasons returns the reasons why trials are not valid, and the notes about trials. Both are in the
// order in which the trials ran. Notes about windows that opened too early come first.
func Reasons(run *record.Run) (exclusions, notes []Sentence) {
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

// longerWarmup is the time, in seconds, by which a warm-up must exceed its configured length before
// the report mentions the actual length.
const longerWarmup = 0.25

// warmups returns how long the warm-up lasted until the throughput was steady. It returns an empty
// string if no warm-up lasted longer than configured.
func warmups(trials []*record.Trial) string {
	least, most, longer := math.Inf(1), 0.0, false
	for _, t := range trials {
		if t.ActualWarmupSeconds == nil || t.WarmupSteady == nil || !*t.WarmupSteady {
			continue
		}
		least, most = min(least, *t.ActualWarmupSeconds), max(most, *t.ActualWarmupSeconds)
		longer = longer || *t.ActualWarmupSeconds > t.Warmup.Seconds()+longerWarmup
	}
	switch {
	case !longer:
		return ""
	case most-least < longerWarmup:
		return "warmed up for " + tenths(most)
	}
	return fmt.Sprintf("warmed up for %s to %s", tenths(least), tenths(most))
}

// unsteady returns a note if the warm-up reached its time limit before the throughput was steady.
// Otherwise it returns an empty string.
func unsteady(t *record.Trial) string {
	if t.ActualWarmupSeconds == nil || t.WarmupSteady == nil || *t.WarmupSteady {
		return ""
	}
	return fmt.Sprintf("Throughput was not steady at the start of the window, after %s of warm-up. Use a longer warm-up.", tenths(*t.ActualWarmupSeconds))
}
