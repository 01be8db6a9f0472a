package report

import (
	"fmt"
	"strings"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/analyze/compare"
	"github.com/quorumbench/quorumbench/internal/results/figures"
	"github.com/quorumbench/quorumbench/internal/text"
)

// CertaintySentence describes how certain the throughput and the p99 of a row are, in a sentence
// that begins with a space. It returns an empty string if the certainty is not known.
func CertaintySentence(r *analyze.Row) string {
	bounds := func(name string) (c analyze.Certainty, text string) {
		f := figures.Registered(name)
		c, ok := analyze.CertaintyOf(r, &f)
		if ok {
			text = Value(c.Low) + " to " + Value(c.High)
		}
		return c, text
	}
	c, throughput := bounds("ops")
	p99, tail := bounds("p99")
	if tail != "" && p99.Basis == c.Basis {
		throughput += ", and of the p99 " + tail
	}
	switch {
	case c.RunTooShort:
		return " No confidence interval: the throughput varies too slowly for a run of this length."
	case c.Basis == analyze.OverRepeats:
		text := fmt.Sprintf(" 95 %% CI of the mean over %d repeats: %s.", c.Repeats, throughput)
		if r.Dependent {
			text += " All repeats ran on the same cluster and share its state, so other clusters may differ by more."
		}
		return text
	case c.Basis == analyze.RangeOfRepeats:
		return fmt.Sprintf(" Range of %d repeats (not a confidence interval): %s.", c.Repeats, throughput)
	case c.Basis == analyze.WithinRun:
		return fmt.Sprintf(" 95 %% CI within this run, without run-to-run variation: %s (effective sample: %.0f of %d s).", throughput, c.EffectiveSeconds, c.Seconds)
	}
	return ""
}

// maxRanked is the maximum number of trials that a sentence about a ranking names.
const maxRanked = 6

// RankingText compares the throughput of a ranking's fastest trial with the throughput of the other
// trials. The text continues a sentence that begins with the name of the fastest trial.
func RankingText(r *compare.Ranking) string {
	var clear, unclear []string
	for i := range r.Slower {
		s := &r.Slower[i]
		if name := s.First().Name; s.Clear {
			clear = append(clear, ratioText(s.Ratio)+" times the throughput of "+name)
		} else {
			unclear = append(unclear, name)
		}
	}
	words := "does not clearly differ in throughput from " + text.ShortList(unclear, maxRanked)
	if len(clear) > 0 {
		words = "has the highest throughput: " + text.ShortList(clear, maxRanked)
		if len(unclear) > 0 {
			words += "; the throughput of " + text.ShortList(unclear, maxRanked) + " does not clearly differ"
		}
	}
	var doubts []string
	if !r.Valid {
		doubts = append(doubts, "not all of these figures are valid")
	}
	if !r.Bounded {
		doubts = append(doubts, "not all of them have a confidence interval")
	}
	if r.Omitted > 0 {
		doubts = append(doubts, text.Plural(uint64(r.Omitted), "trial")+" with this load cannot be compared")
	}
	if len(doubts) > 0 {
		words += "; the ranking is uncertain, because " + strings.Join(doubts, " and ")
	}
	return words
}

// ratioText formats a ratio of at least 1 with three digits.
func ratioText(ratio float64) string {
	if ratio >= 100 {
		return text.Count(uint64(ratio + 0.5))
	}
	return fmt.Sprintf("%.3g", ratio)
}

// EventText describes an event, or several events of the same kind at the same member, without the
// times at which they occurred.
func EventText(e *analyze.Events) string {
	if e.Longest.Line == "" {
		return analyze.BriefText(e.Longest)
	}
	words := e.Longest.Member + " " + e.Kind.Predicate()
	if e.Occurrences > 1 {
		words += " " + text.Count(e.Occurrences) + " times"
	}
	if took := durationText(e, false); took != "" {
		words += " (" + took + ")"
	}
	return words
}
