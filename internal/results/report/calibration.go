package report

import (
	"fmt"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Calibration reports the limits of a machine. Its JSON is the recorded calibration.
func Calibration(c *record.Calibration) Finding {
	return Finding{parts: func(out layout) { calibrationParts(out, c) }, object: func() any { return c }}
}

func calibrationParts(out layout, c *record.Calibration) {
	out.lead("Limits of this machine")
	machine := &record.Trial{}
	machine.Machine = &c.Machine
	out.facts([]analyze.Fact{
		{Label: "machine", Text: analyze.Machine(machine)},
		{Label: "null server", Text: fmt.Sprintf("%s, on this machine; %s per measurement", c.Store, text.Plural(uint64(c.Rounds), "round"))},
		{Label: "tool", Text: "quorumbench " + c.Tool.Version},
	})
	g := &c.Generator
	part := func(head string, rows ...[]string) {
		out.inset(&Table{Heading: head, Columns: []analyze.Column{{LeftAligned: true}, {Title: "median"}, {Title: "lowest"}, {Title: "highest"}}, Rows: rows})
	}
	time := func(what string, of *record.RoundsSummary) []string { return roundsCells(what, of, text.Duration) }
	rate := func(what string, of *record.RoundsSummary) []string { return roundsCells(what, of, text.PerSecond) }
	part("Load generator against a null server",
		time("one client, closed loop: service time p50", g.ServiceP50NS), time("one client, closed loop: service time p99", g.ServiceP99NS),
		time("one client on the null server's CPU: p50", g.OneProcessorP50NS), time("one client on the null server's CPU: p99", g.OneProcessorP99NS),
		time("one client on another CPU: p50", g.TwoProcessorsP50NS), time("one client on another CPU: p99", g.TwoProcessorsP99NS),
		rate("many clients, closed loop: throughput", g.ClosedPerSecond), time("many clients, closed loop: generator CPU/op", g.CPUPerOpNS),
		time(fmt.Sprintf("open loop of %s: response time p50", text.PerSecond(g.OpenRate)), g.ResponseP50NS),
		time(fmt.Sprintf("open loop of %s: response time p99", text.PerSecond(g.OpenRate)), g.ResponseP99NS),
		time(fmt.Sprintf("open loop of %s: lateness p50", text.PerSecond(g.OpenRate)), g.LateP50NS),
		time(fmt.Sprintf("open loop of %s: lateness p99", text.PerSecond(g.OpenRate)), g.LateP99NS),
		rate("overloaded open loop: throughput", g.OpenPerSecond))
	part(fmt.Sprintf("Timer delay (%s of 50 to 450 µs)", text.Plural(uint64(c.WakeDelays.Count), "wait")),
		time("p50", c.WakeDelays.P50NS), time("p99", c.WakeDelays.P99NS))
	var trips [][]string
	for i := range c.RoundTrips {
		r := &c.RoundTrips[i]
		if r.Failure != "" {
			trips = append(trips, roundsCells(text.Line(r.Failure, text.MaxOutput), nil, text.Duration))
			continue
		}
		trips = append(trips, time(fmt.Sprintf("%s: p50 (fastest of %d: %s)", r.Address, r.Count, text.Duration(r.LowestNS)), r.P50NS))
	}
	part("TCP connections", trips...)
	if d := c.Disk; d != nil {
		words := fmt.Sprintf("fdatasync in %s: p50 %s, p99 %s (%s, file system %s)", text.Line(d.Path, text.MaxOutput), d.P50().Text(), d.P99().Text(),
			text.Plural(uint64(max(d.Fdatasyncs, 0)), "write"), text.OrDash(d.FileSystem))
		if d.Volatile {
			words += "; this file system loses its data at a power loss"
		}
		out.blank()
		out.addLines(words)
	}
}

// roundsCells returns the cells for a figure that was measured in several rounds. The text of the
// first cell is `label`.
func roundsCells(label string, rounds *record.RoundsSummary, format func(float64) string) []string {
	if rounds == nil {
		return []string{label, text.Dash, text.Dash, text.Dash}
	}
	return []string{label, format(rounds.Median), format(rounds.Lowest), format(rounds.Highest)}
}
