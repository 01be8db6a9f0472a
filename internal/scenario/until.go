package scenario

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/scenario/file"
	"github.com/quorumbench/quorumbench/internal/text"
)

// RepeatRule is the rule for repeating trials until their figures are precise or a time limit is
// reached. The order alternates: A B in one round and B A in the next. Drift of the machine then
// affects all trials equally.
type RepeatRule struct {
	// Precision is the maximum half-width of a figure's 95 % confidence interval, as a fraction of
	// the figure. It is above 0 and below 1; 0 means that trials are not repeated.
	Precision float64
	// TimeLimit is the time limit for the run; 0 means DefaultTimeLimit. A round does not start if,
	// judging by earlier rounds, it would exceed the limit.
	TimeLimit time.Duration
	// Metrics names the figures that must be precise. If it is empty, defaultMetrics applies.
	Metrics []string
}

// DefaultTimeLimit is the default time limit for repeating trials.
const DefaultTimeLimit = 30 * time.Minute

// defaultMetrics returns throughput and a percentile for which trials of a few seconds have enough
// samples. Comparisons of a run with its baselines use the same figures.
func defaultMetrics() []string { return []string{"ops", "p90"} }

// maxTimeLimit is the highest time limit.
const maxTimeLimit = 1000 * time.Hour

// mergedOver returns the rule u, which is from flags. Values that u lacks are taken from the rule
// in the file.
func (u RepeatRule) mergedOver(file RepeatRule) RepeatRule {
	u.Precision, u.TimeLimit = cmp.Or(u.Precision, file.Precision), cmp.Or(u.TimeLimit, file.TimeLimit)
	if len(u.Metrics) == 0 {
		u.Metrics = file.Metrics
	}
	return u
}

// Text returns the rule as a phrase.
func (u *RepeatRule) Text() string {
	return fmt.Sprintf("until every 95 %% interval of %s is within ± %s, for at most %s", strings.Join(u.Metrics, " and "), text.Share(u.Precision), text.FormatDuration(u.TimeLimit))
}

// readRepeatRule reads the mapping in the file.
func readRepeatRule(n *file.Node) (u RepeatRule, err error) {
	err = n.Fields("until", map[string]func(*file.Node) error{
		"precision": func(n *file.Node) (err error) {
			u.Precision, err = file.ParseWord(n, "until.precision", text.ParseShare)
			return err
		},
		"at-most": func(n *file.Node) (err error) {
			u.TimeLimit, err = file.ParseWord(n, "until.at-most", ParseTimeLimit)
			return err
		},
		"metrics": func(n *file.Node) (err error) { u.Metrics, err = n.Words("until.metrics"); return err },
	})
	if err == nil && u.Precision == 0 {
		err = n.Pos.Errorf("until has no precision; add one, for example {precision: 2%%}")
	}
	return u, err
}

// repeatRuleSchema returns the JSON Schema of the mapping in the file.
func repeatRuleSchema() jsonSchema {
	return objectSchema(map[string]jsonSchema{
		"precision": shareSchema().with("description", "maximum distance from the figure to each end of its 95 % interval"),
		"at-most":   positiveDurationSchema().with("description", "time limit for the run").with("default", text.FormatDuration(DefaultTimeLimit)),
		"metrics":   wordsSchema().with("description", "figures that must be precise").with("default", defaultMetrics()),
	}, "precision")
}

// ParseTimeLimit parses the time limit for a run.
func ParseTimeLimit(s string) (time.Duration, error) {
	d, err := text.ParseDuration(s)
	if err == nil && (d <= 0 || d > maxTimeLimit) {
		err = fmt.Errorf("%s must be above 0 and at most %s", s, text.FormatDuration(maxTimeLimit))
	}
	return d, err
}
