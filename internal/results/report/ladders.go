package report

import (
	"fmt"
	"strings"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/analyze/size"
	"github.com/quorumbench/quorumbench/internal/results/analyze/stats"
	"github.com/quorumbench/quorumbench/internal/text"
)

// ladders reports the knee and the scalability law for trials that differ only in the number of
// clients or the rate. Such a trial is a step of a ladder.
func ladders(out layout, rows []*analyze.Row) {
	var lines []string
	for _, l := range size.Ladders(rows) {
		lines = append(lines, l.Name+": "+strings.Join(LadderSentences(&l), " "))
	}
	out.list("Knee and scalability", lines)
}

// LadderSentences describes a ladder: its knee, the scalability law that fits its steps, the
// uncertainty of that law, and the steps that were not used.
func LadderSentences(l *size.Ladder) []string {
	return append([]string{KneeSentence(l), lawSentence(l)}, omittedSteps(l)...)
}

// KneeSentence describes the knee of a ladder, or explains why it has none.
func KneeSentence(l *size.Ladder) string {
	if l.Knee < 0 {
		return l.NoKneeReason
	}
	s := &l.Steps[l.Knee]
	words := fmt.Sprintf("Knee (best ratio of throughput to mean time): %s, with %s, p50 %s, p99 %s", s.Load, Value(s.Throughput), Value(s.P50), Value(s.P99))
	if len(l.NearKnee) > 0 {
		near := make([]string, 0, len(l.NearKnee))
		for _, i := range l.NearKnee {
			near = append(near, l.Steps[i].Load)
		}
		words += "; within " + text.Percent(stats.Margin, 0) + " of it: " + strings.Join(near, " and ")
	}
	return words + "."
}

// lawSentence describes the Universal Scalability Law for a ladder, with its uncertainty.
func lawSentence(l *size.Ladder) string {
	s := l.Scaling
	if s == nil {
		return l.NoScalingReason
	}
	parameter := func(name string, i stats.Interval, unit string) string {
		return fmt.Sprintf("%s %.3g%s (95 %% CI %.3g to %.3g)", name, i.Value, unit, i.Low, i.High)
	}
	words := fmt.Sprintf("Universal Scalability Law (Gunther): %s, %s, %s; deviation of the steps %s, R² %.3f.",
		parameter("λ", s.Lambda, "/s"), parameter("contention σ", s.Sigma, ""), parameter("coherency κ", s.Kappa, ""), text.Percent(s.Deviation, 1), s.Explained)
	switch n, x, ok := s.Peak(); {
	case ok && n == 1 && (s.Kappa.Low > 0 || s.Sigma.Low > 1):
		words += " The throughput falls with every additional operation in flight."
	case !ok || s.Kappa.Low == 0:
		words += " The coherency parameter may be zero, so the maximum throughput is unknown."
	case n > l.MaxConcurrency:
		words += fmt.Sprintf(" The maximum throughput would be %s, at %.0f operations in flight (extrapolated: no step has more than %.0f).", text.PerSecond(x), n, l.MaxConcurrency)
	default:
		words += fmt.Sprintf(" The maximum throughput is %s, at %.0f operations in flight.", text.PerSecond(x), n)
	}
	if len(l.Doubts) > 0 {
		words += " Uncertain: " + strings.Join(l.Doubts, "; ") + "."
	}
	return words
}

// omittedSteps lists the steps of a ladder that were not used, with the reasons.
func omittedSteps(l *size.Ladder) (lines []string) {
	var order []string
	by := map[string][]string{}
	for i := range l.Steps {
		if s := &l.Steps[i]; s.ExclusionReason != "" {
			if by[s.ExclusionReason] == nil {
				order = append(order, s.ExclusionReason)
			}
			by[s.ExclusionReason] = append(by[s.ExclusionReason], s.Load)
		}
	}
	for _, why := range order {
		lines = append(lines, fmt.Sprintf("Not used: %s (%s).", strings.Join(by[why], ", "), why))
	}
	return lines
}

// StepText describes a step in one line.
func StepText(s *size.LadderStep) string {
	text := fmt.Sprintf("%s: %s, p50 %s, p99 %s", s.Load, Value(s.Throughput), Value(s.P50), Value(s.P99))
	if s.ExclusionReason != "" {
		text += "; not used: " + s.ExclusionReason
	}
	return text
}
