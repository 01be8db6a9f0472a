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

// Gate holds the values of two flags that several commands have: the thresholds that the result of
// a run must meet, and the interval between JSON lines during the run. The zero Gate has no
// thresholds and prints no lines.
type Gate struct {
	Thresholds []analyze.Threshold
	interval   time.Duration
	lines      *Output
}

// RegisterThreshold registers --threshold for a command that runs trials or reads a recorded run.
func (g *Gate) RegisterThreshold(r Flags) {
	Repeated(r, "threshold", &g.Thresholds, "[TRIAL:]METRIC<LIMIT", analyze.ParseThreshold,
		"limit for a metric, for example p99<20ms, 'ops>8000', errors<1% or 'put-*:p99.9<50ms'; exit with status 1 if a trial misses the limit, or with status 6 if a trial cannot be judged")
}

// AddGateFlags adds the flags of a Gate to a command that executes a run, and returns the command.
func (a *App) AddGateFlags(c *cobra.Command) *cobra.Command {
	g := &Gate{}
	r := NewFlags(c.Flags())
	g.RegisterThreshold(r)
	r.Duration("interval", &g.interval, "print one line of JSON per interval to standard output, and everything else to standard error")
	a.AddProgress(r)
	a.AddMetrics(r)
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
		return Usage("--interval and --format %s both print to standard output; give only one of them", f.Value)
	}
	return nil
}

// Begin checks, before the run, that every threshold applies to at least one trial of the scenario.
func (g *Gate) Begin(s *scenario.Scenario) error {
	trials := make([]record.Conditions, 0, len(s.Trials))
	for i := range s.Trials {
		trials = append(trials, record.NewConditions(&s.Trials[i]))
	}
	return g.CheckThresholds(trials)
}

// CheckThresholds returns a usage error for a threshold that cannot apply to any of the trials.
func (g *Gate) CheckThresholds(trials []record.Conditions) error {
	if err := analyze.CheckThresholds(g.Thresholds, trials); err != nil {
		return Usage("--threshold: %w", err)
	}
	return nil
}

// reportSeconds returns intervals that receive each one-second interval of a run and print the JSON
// lines without disturbing the progress display. Without --interval, reportSeconds returns nil. If
// the method `end` is called on nil, it prints nothing.
func (g *Gate) reportSeconds(o *runner.Options, d *Display) *intervals {
	if g.interval == 0 {
		return nil
	}
	v := newIntervals(g.interval, d.eraseBeforeWrite(g.lines), time.Now)
	show := o.Progress
	o.AddSecondHandler(v.second)
	o.Progress = func(p runner.Progress) { // prints the last interval of a trial before its result
		v.progress(p)
		show(p)
	}
	return v
}

// CheckMissed returns the thresholds that a run misses, and the thresholds that cannot be judged.
// It prints one line for each of them.
func (a *App) CheckMissed(g *Gate, run *record.Run) ([]analyze.Missed, error) {
	all, err := analyze.CheckRun(g.Thresholds, run)
	for _, m := range all {
		a.PrintNote("the threshold %s", m)
	}
	return all, err
}

// ExitForMissed returns the error for the result of CheckMissed: ExitFailed if a threshold is
// missed, ExitUndecided if a threshold cannot be judged and no threshold is missed, or nil if no
// threshold is in the list.
func ExitForMissed(missed []analyze.Missed) error {
	switch {
	case len(missed) == 0:
		return nil
	case slices.ContainsFunc(missed, func(m analyze.Missed) bool { return !m.Undecided }):
		return &Exit{Code: ExitFailed}
	}
	return &Exit{Code: ExitUndecided}
}
