package command

import (
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/runner"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// Gate is what a run's result is held to, and how it is reported while it runs:
// the flags that commands with a result share. The zero gate asks for nothing.
type Gate struct {
	Thresholds []analyze.Threshold
	interval   time.Duration
	lines      *Output
}

// Judge registers --threshold for a command whose result is a run.
func (g *Gate) Judge(r Flags) {
	Repeated(r, "threshold", &g.Thresholds, "[TRIAL:]METRIC<LIMIT", analyze.ParseThreshold,
		"exit with 1 if a trial's metric misses the limit, and with 6 if it is not known, as in p99<20ms, 'ops>8000', errors<1% or 'put-*:p99.9<50ms'")
}

// Gated gives a command that conducts a run the flags of its gate.
func (a *App) Gated(c *cobra.Command) *cobra.Command {
	g := &Gate{}
	r := NewFlags(c.Flags())
	g.Judge(r)
	r.Span("interval", &g.interval, "print a line of JSON on standard output at this interval, and everything else on standard error")
	run := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := g.checkInterval(c); err != nil {
			return err
		}
		a.Gate = g
		if g.interval > 0 {
			g.lines = a.Stdout
			a.Stdout = NewOutput(a.Stderr)
			defer func() { a.Stdout = g.lines }()
		}
		return run(c, args)
	}
	return c
}

func (g *Gate) checkInterval(c *cobra.Command) error {
	if !c.Flags().Changed("interval") {
		return nil
	}
	if g.interval < time.Second || g.interval%time.Second != 0 {
		return Usage("--interval must be whole seconds and at least 1s, not %v", g.interval)
	}
	if f := c.Flags().Lookup("format"); f != nil && f.Value.String() != "text" {
		return Usage("--interval prints lines of JSON on standard output and --format %s its own output there; give one of them", f.Value)
	}
	return nil
}

// Begin checks what can be checked before anything runs.
func (g *Gate) Begin(s *scenario.Scenario) error {
	trials := make([]record.Conditions, 0, len(s.Trials))
	for i := range s.Trials {
		trials = append(trials, record.FromScenario(&s.Trials[i]))
	}
	return g.CheckThresholds(trials)
}

// CheckThresholds refuses what no trial of these conditions can be held to.
func (g *Gate) CheckThresholds(trials []record.Conditions) error {
	if err := analyze.CheckThresholds(g.Thresholds, trials); err != nil {
		return Usage("--threshold: %w", err)
	}
	return nil
}

// reportSeconds has a run report its seconds, if lines are wanted, between what
// the display shows. What it returns may be nil, which prints nothing.
func (g *Gate) reportSeconds(o *runner.Options, d *Display) *intervals {
	if g.interval == 0 {
		return nil
	}
	v := newIntervals(g.interval, d.between(g.lines), time.Now)
	show := o.Progress
	o.Second = v.second
	o.Progress = func(p runner.Progress) {
		v.progress(p)
		show(p)
	}
	return v
}

// Missed reports which thresholds a run misses, and of which that is not known, a line
// each.
func (a *App) Missed(g *Gate, run *record.Run) ([]analyze.Missed, error) {
	all, err := analyze.CheckRun(g.Thresholds, run)
	for _, m := range all {
		a.Remark("the threshold %s", m)
	}
	return all, err
}

// ExitOf returns what thresholds that are not kept end a command with: ExitFailed if
// one is missed, ExitNotKnown if that is not known.
func ExitOf(missed []analyze.Missed) error {
	switch {
	case len(missed) == 0:
		return nil
	case slices.ContainsFunc(missed, func(m analyze.Missed) bool { return !m.NotKnown }):
		return &Exit{Code: ExitFailed}
	}
	return &Exit{Code: ExitNotKnown}
}
