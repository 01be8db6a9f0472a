package scenario

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/text"
)

// Until says how long trials are repeated: until their figures are precise, or
// the time is over. Rounds are interleaved, A B in one and B A in the next, so
// that what drifts on a machine falls on all trials alike.
type Until struct {
	// Precision is how far a figure's 95 % interval may reach to either side, as
	// a share of the figure: above 0 and below 1. 0 asks for no repeating.
	Precision float64
	// AtMost is how long the run may take; 0 is DefaultAtMost. No round is begun
	// that would not end in it, as far as the rounds before tell.
	AtMost time.Duration
	// Metrics are the figures that must be precise, by their names; without any
	// they are untilMetrics.
	Metrics []string
}

// DefaultAtMost is how long a run repeats its trials unless it is told.
const DefaultAtMost = 30 * time.Minute

// untilMetrics are the throughput and a percentile that a trial of seconds knows
// well: those by which a run is compared with its own baselines, too.
func untilMetrics() []string { return []string{"ops", "p90"} }

// maxAtMost is as long as a trial may last.
const maxAtMost = 1000 * time.Hour

// over lays what flags ask for over what a file does.
func (u Until) over(file Until) Until {
	u.Precision, u.AtMost = cmp.Or(u.Precision, file.Precision), cmp.Or(u.AtMost, file.AtMost)
	if len(u.Metrics) == 0 {
		u.Metrics = file.Metrics
	}
	return u
}

// Text is the rule as a phrase.
func (u *Until) Text() string {
	return fmt.Sprintf("until every 95 %% interval of %s is within ± %s, for at most %s", strings.Join(u.Metrics, " and "), text.Share(u.Precision), text.FormatDuration(u.AtMost))
}

// readUntil reads the file's mapping.
func readUntil(n *node) (u Until, err error) {
	err = n.fields("until", map[string]func(*node) error{
		"precision": func(n *node) (err error) {
			u.Precision, err = parsed(n, "until.precision", text.ParseShare)
			return err
		},
		"at-most": func(n *node) (err error) { u.AtMost, err = parsed(n, "until.at-most", ParseAtMost); return err },
		"metrics": func(n *node) (err error) { u.Metrics, err = n.words("until.metrics"); return err },
	})
	if err == nil && u.Precision == 0 {
		err = n.at.errorf("until says no precision; give one, as in {precision: 2%%}")
	}
	return u, err
}

// ParseAtMost reads how long a run may take.
func ParseAtMost(s string) (time.Duration, error) {
	d, err := text.ParseDuration(s)
	if err == nil && (d <= 0 || d > maxAtMost) {
		err = fmt.Errorf("%s is not above 0 and at most %s", s, text.FormatDuration(maxAtMost))
	}
	return d, err
}
