package scenario

import (
	"cmp"
	"fmt"
	"slices"
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

// repeatUntil settles how long the scenario's trials are repeated.
func (p *fileParser) repeatUntil(o *outline, trials []*builder) {
	u := p.options.Until.over(o.until)
	if u.Precision == 0 {
		return
	}
	at := o.repeatsAt
	for _, b := range trials {
		if s, ok := b.layer["repeats"]; ok && at == (place{}) {
			at = s.at
		}
		b.trial.Repeats = 0
	}
	switch {
	case at.set != "":
		p.failf(at, "until-precision says how long trials are repeated; give one of them")
	case at != (place{}) && o.until.Precision != 0:
		p.failf(at, "repeats says how often, and until how precisely trials are repeated; give one of them")
	case at != (place{}):
		p.warn("--until-precision says how long trials are repeated, in place of repeats")
	}
	if u.AtMost = cmp.Or(u.AtMost, DefaultAtMost); len(u.Metrics) == 0 {
		u.Metrics = untilMetrics()
	}
	if o.Ordered {
		p.warn("order: written holds in every other round: trials that are repeated until they are precise run backwards in the rounds between")
	}
	o.Until = &u
}

// checkUntil refuses what has no room for a single round.
func (p *fileParser) checkUntil(s *Scenario) {
	if s.Until == nil {
		return
	}
	if took, _ := s.EstimatedDuration(); took > s.Until.AtMost {
		p.failf(place{}, "the trials take %s once, without what starting clusters takes, and have %s at most; give them more time", text.FormatDuration(took), text.FormatDuration(s.Until.AtMost))
	}
}

// Round is the n-th round, from 1, of a scenario that is repeated Until its
// figures are precise: the first round's trials, in every second round backwards,
// but for trials that take their rate from another and come after it.
func (s *Scenario) Round(n int) []Trial {
	round := slices.Clone(s.Trials)
	if n%2 == 0 {
		slices.Reverse(round)
		round = afterSources(round)
	}
	for i := range round {
		round[i].Repeat = n
	}
	return round
}
