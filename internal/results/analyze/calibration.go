package analyze

import (
	"fmt"
	"strings"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/text"
)

// LimitsOfGenerator returns the load generator's limits, measured by a run of the calibration
// scenario. If a trial has no usable result, the error contains the trial's name.
func LimitsOfGenerator(run *record.Run) (g record.GeneratorLimits, err error) {
	names := scenario.CalibrationTrials
	all, err := loadsOf(run, names.OneClient, names.ManyClients, names.Paced, names.Overloaded)
	if err != nil {
		return g, err
	}
	of := func(name string, figure func(*record.Trial) (float64, bool)) *record.RoundsSummary {
		return ofRounds(all[name], figure)
	}
	response := func(p float64) func(*record.Trial) (float64, bool) {
		return func(t *record.Trial) (float64, bool) { return ns(t.ResponseTime.Percentile(p)) }
	}
	late := func(p float64) func(*record.Trial) (float64, bool) {
		return func(t *record.Trial) (float64, bool) {
			if t.Lateness == nil {
				return 0, false
			}
			return ns(t.Lateness.Percentile(p))
		}
	}
	perSecond := func(t *record.Trial) (float64, bool) { return t.PerSecond, true }
	g = record.GeneratorLimits{
		ServiceP50NS: of(names.OneClient, serviceAt(50)), ServiceP99NS: of(names.OneClient, serviceAt(99)),
		ClosedPerSecond: of(names.ManyClients, perSecond),
		CPUPerOpNS: of(names.ManyClients, func(t *record.Trial) (float64, bool) {
			if t.CPUPerOp == nil {
				return 0, false
			}
			return *t.CPUPerOp, true
		}),
		ResponseP50NS: of(names.Paced, response(50)), ResponseP99NS: of(names.Paced, response(99)),
		LateP50NS: of(names.Paced, late(50)), LateP99NS: of(names.Paced, late(99)),
		OpenPerSecond: of(names.Overloaded, perSecond),
	}
	if rate := all[names.Paced][0].Rate; rate != nil {
		g.OpenRate = *rate
	}
	return g, nil
}

// OneClientTimes returns the p50 and p99 of the service times in the calibration load with a single
// client.
func OneClientTimes(run *record.Run) (p50, p99 *record.RoundsSummary, err error) {
	name := scenario.CalibrationTrials.OneClient
	all, err := loadsOf(run, name)
	if err != nil {
		return nil, nil, err
	}
	return ofRounds(all[name], serviceAt(50)), ofRounds(all[name], serviceAt(99)), nil
}

// loadsOf returns the trials in a run by name. It returns an error if a name has no trials, or if a
// trial has no usable result.
func loadsOf(run *record.Run, names ...string) (map[string][]*record.Trial, error) {
	all := TrialsByName(run).ByName
	for _, name := range names {
		if len(all[name]) == 0 {
			return nil, fmt.Errorf("the load %s against the null server has no result; calibrate again", name)
		}
		for _, t := range all[name] {
			switch {
			case t.State != record.Complete:
				return nil, fmt.Errorf("the load %s against the null server did not complete; calibrate again", name)
			case t.WrongResponses > 0:
				return nil, fmt.Errorf("the load %s got wrong responses from the null server; report this defect of quorumbench", name)
			case t.Completed == 0:
				return nil, fmt.Errorf("the load %s against the null server completed no operations%s", name, firstError(t))
			}
		}
	}
	return all, nil
}

// ofRounds summarizes a figure over all rounds. It returns nil if the figure is missing in any
// round.
func ofRounds(trials []*record.Trial, figure func(*record.Trial) (float64, bool)) *record.RoundsSummary {
	var rounds []float64
	for _, t := range trials {
		x, ok := figure(t)
		if !ok {
			return nil
		}
		rounds = append(rounds, x)
	}
	return record.SummarizeRounds(rounds...)
}

func serviceAt(p float64) func(*record.Trial) (float64, bool) {
	return func(t *record.Trial) (float64, bool) { return ns(t.ServiceTime.Percentile(p)) }
}

// ns returns a figure in nanoseconds. It returns false if the figure is unknown, or if the figure
// is a percentile and the operation at its rank failed.
func ns(f measure.Figure) (float64, bool) { return f.NS, f.Known && !f.Failed }

// firstError returns ": " and the text of one of the trial's errors. It returns an empty string if
// no error has a text.
func firstError(t *record.Trial) string {
	for kind := range t.ErrorsByKind {
		if text := t.ErrorTexts[kind]; text != "" {
			return ": " + text
		}
	}
	return ""
}

// CalibrationLine describes in one line how fast the load generator is on this machine. It returns
// an empty string if there is no calibration.
func CalibrationLine(c *record.Calibration) string {
	if c == nil {
		return ""
	}
	day := c.Measured.UTC().Format("2006-01-02 15:04 UTC")
	if c.Outdated != "" {
		return fmt.Sprintf("outdated: %s (measured %s); measure again with \"quorumbench check machine\"", c.Outdated, day)
	}
	var parts []string
	add := func(format string, of *record.RoundsSummary, shown func(float64) string) {
		if of != nil {
			parts = append(parts, fmt.Sprintf(format, Rounds(of, shown)))
		}
	}
	g := &c.Generator
	add("p50 of one client %s", g.ServiceP50NS, text.Duration)
	add("p50 on the null server's CPU %s", g.OneProcessorP50NS, text.Duration)
	add("p50 on another CPU %s", g.TwoProcessorsP50NS, text.Duration)
	add("at most %s", g.ClosedPerSecond, text.PerSecond)
	add("p50 of an open loop %s", g.ResponseP50NS, text.Duration)
	add("p99 of the lateness %s", g.LateP99NS, text.Duration)
	words := fmt.Sprintf("%s, median (range) of %s against a null server for %s: %s", day, text.Plural(uint64(c.Rounds), "round"), c.Store, strings.Join(parts, ", "))
	if d := c.Disk; d != nil && d.P50().Known {
		words += fmt.Sprintf("; fdatasync p50 %s on %s", d.P50().Text(), text.OrDash(d.FileSystem))
	}
	return words
}

// Rounds formats the median over the rounds, followed by the range from the lowest to the highest
// round.
func Rounds(s *record.RoundsSummary, shown func(float64) string) string {
	if s == nil {
		return text.Dash
	}
	low, high := shown(s.Lowest), shown(s.Highest)
	if low == high {
		return shown(s.Median)
	}
	return fmt.Sprintf("%s (%s)", shown(s.Median), text.JoinRange(low, high))
}

// atFloor returns notes about a trial that may have reached the limits of the load generator: its
// p50 is as low as the p50 of the null server on the same machine, or its throughput is as high as
// the throughput of the null server.
func atFloor(t *record.Trial) (notes []string) {
	c := t.Calibration
	if c == nil || c.Outdated != "" || !HasFigures(t) {
		return nil
	}
	g := &c.Generator
	time, what := t.ServiceTime.Percentile(50), "one client"
	lowest, highest, known := record.RangeOfRounds(g.ServiceP50NS, g.OneProcessorP50NS, g.TwoProcessorsP50NS)
	if t.Open() {
		time, what = t.ResponseTime.Percentile(50), "an open loop"
		lowest, highest, known = record.RangeOfRounds(g.ResponseP50NS)
	}
	if x, ok := ns(time); ok && known && x <= highest {
		notes = append(notes, fmt.Sprintf("The p50 of %s is not above the p50 of %s against the null server on this machine (%s, calibration), so the store's share of this time is unknown.",
			text.Duration(x), what, text.JoinRange(text.Duration(lowest), text.Duration(highest))))
	}
	most := g.ClosedPerSecond
	if t.Open() {
		most = g.OpenPerSecond
	}
	if most != nil && t.PerSecond >= most.Lowest && most.Lowest > 0 {
		notes = append(notes, fmt.Sprintf("The throughput of %s is as high as that of the null server on this machine (%s, calibration), so the load generator may have limited the throughput.",
			text.PerSecond(t.PerSecond), text.JoinRange(text.PerSecond(most.Lowest), text.PerSecond(most.Highest))))
	}
	return notes
}
