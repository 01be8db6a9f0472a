package report

import (
	"fmt"
	"strings"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/analyze/size"
	"github.com/quorumbench/quorumbench/internal/results/analyze/stats"
	"github.com/quorumbench/quorumbench/internal/text"
)

// ladders reports the knee and the scalability law of a run's steps of clients or rates.
func ladders(to layout, rows []*analyze.Row) {
	var lines []string
	for _, l := range size.Ladders(rows) {
		lines = append(lines, l.Name+": "+strings.Join(LadderSentences(&l), " "))
	}
	to.list("Knee and scalability", lines)
}

// LadderSentences returns sentences about a ladder: its knee, the law that its steps follow and how
// uncertain that law is, and the steps that do not count.
func LadderSentences(l *size.Ladder) []string {
	return append([]string{KneeSentence(l), lawSentence(l)}, leftOutOf(l)...)
}

// KneeSentence returns the knee of a ladder, or why it has none.
func KneeSentence(l *size.Ladder) string {
	if l.Knee < 0 {
		return l.NoKnee
	}
	s := &l.Steps[l.Knee]
	words := fmt.Sprintf("Knee (best ratio of throughput to mean time): %s, with %s, p50 %s, p99 %s", s.Load, Value(s.Throughput), Value(s.P50), Value(s.P99))
	if len(l.Near) > 0 {
		near := make([]string, 0, len(l.Near))
		for _, i := range l.Near {
			near = append(near, l.Steps[i].Load)
		}
		words += "; within " + text.Percent(stats.Margin, 0) + " of it: " + strings.Join(near, " and ")
	}
	return words + "."
}

// lawSentence returns the Universal Scalability Law with its error.
func lawSentence(l *size.Ladder) string {
	s := l.Scaling
	if s == nil {
		return l.NoScaling
	}
	parameter := func(name string, i stats.Interval, unit string) string {
		return fmt.Sprintf("%s %.3g%s (95 %% CI %.3g to %.3g)", name, i.Value, unit, i.Low, i.High)
	}
	words := fmt.Sprintf("Universal Scalability Law (Gunther): %s, %s, %s; deviation of the steps %s, R² %.3f.",
		parameter("λ", s.Lambda, "/s"), parameter("contention σ", s.Sigma, ""), parameter("coherency κ", s.Kappa, ""), text.Percent(s.Deviation, 1), s.Explained)
	switch n, x, ok := s.Peak(); {
	case !ok || s.Kappa.Low == 0:
		words += " Coherency may be zero, so no maximum of the throughput is known."
	case n > l.Most:
		words += fmt.Sprintf(" Its maximum, %s, would be at %.0f in flight (extrapolated beyond %.0f).", text.PerSecond(x), n, l.Most)
	default:
		words += fmt.Sprintf(" Its maximum, %s, is at %.0f in flight.", text.PerSecond(x), n)
	}
	if len(l.Doubts) > 0 {
		words += " Uncertain: " + strings.Join(l.Doubts, "; ") + "."
	}
	return words
}

// leftOutOf lists the steps that do not count, with reasons.
func leftOutOf(l *size.Ladder) (lines []string) {
	var order []string
	by := map[string][]string{}
	for i := range l.Steps {
		if s := &l.Steps[i]; s.LeftOut != "" {
			if by[s.LeftOut] == nil {
				order = append(order, s.LeftOut)
			}
			by[s.LeftOut] = append(by[s.LeftOut], s.Load)
		}
	}
	for _, why := range order {
		lines = append(lines, fmt.Sprintf("Not counted: %s (%s).", strings.Join(by[why], ", "), why))
	}
	return lines
}

// StepText describes a step in a line.
func StepText(s *size.LadderStep) string {
	text := fmt.Sprintf("%s: %s, p50 %s, p99 %s", s.Load, Value(s.Throughput), Value(s.P50), Value(s.P99))
	if s.LeftOut != "" {
		text += "; not counted: " + s.LeftOut
	}
	return text
}
