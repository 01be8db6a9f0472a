package size

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/analyze/capacity"
)

// Objective is a list of thresholds that a load must meet, such as p99<20ms, errors<0.1%. Each
// threshold limits the share of bad operations. For example, p99<20ms means that at most 1 % of the
// operations may fail or take longer than 20 ms.
type Objective struct {
	Text  string // the objective as the user wrote it
	Parts []analyze.Threshold
}

// ParseObjective parses thresholds that are separated by commas. The text of its error is one
// sentence.
func ParseObjective(text string) (Objective, error) {
	o := Objective{Text: strings.TrimSpace(text)}
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		t, err := analyze.ParseThreshold(part)
		if t.Metric != "" && !boundable(&t) {
			return o, fmt.Errorf("%q: an objective cannot bound the metric %q; %s", part, t.Metric, objectiveMetricsText)
		}
		if err == nil {
			_, err = goalOf(&t)
		}
		if err != nil {
			return o, err
		}
		o.Parts = append(o.Parts, t)
	}
	if len(o.Parts) == 0 {
		return o, errors.New("the objective is empty; " + objectiveMetricsText)
	}
	return o, nil
}

// objectiveMetricsText describes the metrics for which an objective may have a bound.
const objectiveMetricsText = "write percentiles of response times and the share of errors, as in 'p99<20ms, errors<0.1%'"

// boundable reports whether an objective may have a bound for the threshold's metric.
func boundable(t *analyze.Threshold) bool {
	_, ofTimes := percentile100(t)
	return ofTimes || t.Metric == "errors" || t.Metric == "error-share"
}

// errorSpan is the assumed minimum duration, in seconds, of a cause of errors. Causes such as the
// loss of a leader or a full queue affect more than one operation.
const errorSpan = 0.1

// goalOf converts the threshold to a limit on the share of bad operations.
func goalOf(t *analyze.Threshold) (capacity.Goal, error) {
	g := capacity.Goal{Name: t.Text}
	if t.Trials != "" {
		return g, fmt.Errorf("%q names trials, but an objective always applies to the searched load; remove %q", t.Text, t.Trials+":")
	}
	if t.Op != "<" && t.Op != "<=" {
		return g, fmt.Errorf("%q is a lower bound, but a search finds the highest rate at which upper bounds hold; write < or <=", t.Text)
	}
	p, ofTimes := percentile100(t)
	switch {
	case ofTimes && t.Limit > 0:
		g.Limit, g.Span, g.Percentile = (100-p)/100, t.Limit/1e9, true
	case ofTimes:
		return g, fmt.Errorf("%q: no operation takes 0 s; write a time above 0", t.Text)
	case t.Metric == "errors" && t.Share, t.Figure.Unit == measure.Share && t.Metric == "error-share":
		if !(t.Limit > 0 && t.Limit < 1) {
			return g, fmt.Errorf("%q: the share of errors must be above 0 and below 100 %%, because no trial can prove that errors never occur", t.Text)
		}
		g.Limit, g.Span = t.Limit, errorSpan
	default:
		return g, fmt.Errorf("%q: an objective bounds errors as a share of the operations; write a limit in percent, as in errors<0.1%%", t.Text)
	}
	return g, nil
}

// percentile100 returns the percentile of response times to which the threshold applies, such as
// 99. It returns false if the metric is not such a percentile.
func percentile100(t *analyze.Threshold) (p float64, ok bool) {
	d := t.Figure.Times
	if d == nil || d.Prefix != "" && d.Prefix != "response" {
		return 0, false
	}
	number, ok := strings.CutPrefix(strings.TrimPrefix(t.Metric, "response-"), "p")
	p, err := strconv.ParseFloat(number, 64)
	return p, ok && err == nil && p > 0 && p < 100
}

// Goals returns the parts of the objective as goals for a search.
func (o *Objective) Goals() []capacity.Goal {
	goals := make([]capacity.Goal, 0, len(o.Parts))
	for i := range o.Parts {
		g, _ := goalOf(&o.Parts[i]) // ParseObjective has checked the threshold
		goals = append(goals, g)
	}
	return goals
}

// countBad returns how many operations in a one-second interval were bad for the threshold: they
// failed, were never sent, or took longer than the bound.
func countBad(t *analyze.Threshold, s *analyze.Second) float64 {
	if _, ok := percentile100(t); !ok {
		return float64(s.Errors)
	}
	return float64(s.Times.CountAtLeast(badAbove(t))) + float64(s.Errors)
}

// badAbove returns the shortest time, in nanoseconds, that makes an operation bad.
func badAbove(t *analyze.Threshold) int64 {
	if t.Op == "<=" {
		return int64(t.Limit) + 1
	}
	return int64(t.Limit)
}
