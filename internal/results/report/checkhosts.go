package report

import (
	"fmt"
	"slices"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/analyze/preflight"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/text"
)

// HostsCheck reports the measurements of hosts, and whether the hosts are good enough for each
// store.
func HostsCheck(c *preflight.Check) Finding {
	return Finding{
		parts:  func(to layout) { hostsParts(to, c) },
		object: func() any { return hostsObject(c) },
	}
}

// sources lists the documents that a report cites, in the order of their first use. It assigns a
// number to each document.
type sources []kv.Document

func (s *sources) number(d kv.Document) int {
	at := slices.Index(*s, d)
	if at < 0 {
		at = len(*s)
		*s = append(*s, d)
	}
	return at + 1
}

func hostsParts(to layout, c *preflight.Check) {
	var cited sources
	for i := range c.Verdicts {
		verdictParts(to, &c.Verdicts[i], &cited)
	}
	to.inset(&Table{Heading: "Disks: time until a write is durable", Rows: diskRows(c), Columns: []analyze.Column{
		{Title: "host", LeftAligned: true}, {Title: "file system", LeftAligned: true}, {Title: "bytes"}, {Title: "writes"}, {Title: "p50"}, {Title: "p99"}, {Title: "max"}, {Title: "CPU busy"}, {Title: "steal"}, {Title: "throttled"},
	}})
	if len(c.Pairs) > 0 {
		to.inset(&Table{Heading: "Network: round trips of 64 bytes over one TCP connection", Rows: pairRows(c), Columns: []analyze.Column{
			{Title: "hosts", LeftAligned: true}, {Title: "count"}, {Title: "mean"}, {Title: "p50"}, {Title: "p99"}, {Title: "max"}, {Title: "jitter"}, {Title: "resent"},
		}})
	}
	to.inset(&Table{Heading: "Machines", Rows: machineRows(c), Columns: []analyze.Column{
		{Title: "host", LeftAligned: true}, {Title: "CPUs"}, {Title: "memory"}, {Title: "swap"}, {Title: "open files"}, {Title: "clock"},
	}})
	to.section("Notes", hostsNotes(c))
	to.section("Sources", documents(cited))
}

// verdictParts reports the verdict for one store: the results of its rules, and the recommended
// settings. It omits guidelines that are met. Unless the layout shows details, it also omits
// guidelines that could not be checked.
func verdictParts(to layout, v *preflight.Verdict, cited *sources) {
	head := fmt.Sprintf("%s: %s", v.State, v.Store)
	if v.State == preflight.CannotTell && v.More > 0 {
		head += fmt.Sprintf(" (%s would decide)", preflight.Lasting(v.More))
	}
	to.addLines(head)
	for i := range v.Findings {
		f := &v.Findings[i]
		word := f.State.String()
		switch {
		case f.Advice && f.State == preflight.Pass, f.Advice && f.State == preflight.CannotTell && !to.detailed():
			continue
		case f.Advice && f.State == preflight.Fail:
			word = "advice"
		}
		line := fmt.Sprintf("  %s: %s, %s: %s [%d]", word, f.What, f.Place(), f.Reason, cited.number(f.Source))
		if f.Remedy != "" {
			line += ". Remedy: " + f.Remedy
		}
		to.addLines(line + ".")
	}
	for _, s := range v.Settings {
		to.addLines(fmt.Sprintf("  recommended: %s=%s: %s [%d].", s.Name, s.Value, s.Reason, cited.number(s.Source)))
	}
}

func diskRows(c *preflight.Check) (rows [][]string) {
	for i := range c.Hosts {
		h := &c.Hosts[i]
		for k, size := range h.Writes.Sizes {
			t := h.Writes.Times(k)
			row := []string{text.Line(h.Name, text.MaxOutput), h.Limits.FileSystem, text.Count(uint64(size)), text.Count(uint64(t.Count)), durationOrDash(t.P50), durationOrDash(t.P99), durationOrDash(t.Max), shareOrDash(h.Busy), shareOrDash(h.Steal), shareOrDash(h.Throttled)}
			if k > 0 {
				row[0], row[1], row[7], row[8], row[9] = "", "", "", "", ""
			}
			rows = append(rows, row)
		}
	}
	return rows
}

func pairRows(c *preflight.Check) (rows [][]string) {
	for i := range c.Pairs {
		p := &c.Pairs[i]
		t := p.Times()
		row := []string{text.Line(p.Name(), text.MaxOutput), text.Count(uint64(t.Count)), durationOrDash(t.Mean), durationOrDash(t.P50), durationOrDash(t.P99), durationOrDash(t.Max), durationOrDash(t.Jitter), shareOrDash(t.Loss)}
		rows = append(rows, row)
	}
	return rows
}

func machineRows(c *preflight.Check) (rows [][]string) {
	for i := range c.Hosts {
		h := &c.Hosts[i]
		p := &h.Limits
		cpus := text.Count(uint64(h.Machine.CPUs))
		if h.Machine.CPULimit != nil {
			cpus = text.Number(*h.Machine.CPULimit) + " of " + cpus
		}
		clock := text.Dash
		if h.Ahead != nil {
			sign := ""
			if *h.Ahead >= 0 {
				sign = "+"
			}
			clock = fmt.Sprintf("%s%s ms ± %s", sign, text.Milliseconds(float64(*h.Ahead), 3), text.Duration(float64(*h.AheadBound)))
		}
		rows = append(rows, []string{text.Line(h.Name, text.MaxOutput), cpus, bytesOrDash(p.MemoryBytes), bytesOrDash(p.SwapBytes), countOrDash(p.OpenFiles), clock})
	}
	return rows
}

// hostsNotes returns sentences about what was measured, and what a measurement of this length
// cannot show.
func hostsNotes(c *preflight.Check) (notes []string) {
	var neighbor int64
	var late time.Duration
	var step bool
	for i := range c.Hosts {
		w := &c.Hosts[i].Writes
		neighbor, late = max(neighbor, w.Neighbor()), max(late, w.Late())
	}
	for i := range c.Verdicts {
		for k := range c.Verdicts[i].Findings {
			d := c.Verdicts[i].Findings[k].Disk
			step = step || d != nil && d.Trend.StepAt > 0
		}
	}
	w := &c.Hosts[0].Writes
	lasted := text.MeasuredSeconds(float64(len(w.Seconds)))
	notes = append(notes, fmt.Sprintf("Each host made a synced write every %s, for %s. The writes became due at a constant rate, so a stall delays all writes that become due meanwhile.", text.Duration(float64(w.Interval)), lasted))
	for i := range c.Verdicts {
		if v := &c.Verdicts[i]; !slices.ContainsFunc(c.Verdicts[:i], func(o preflight.Verdict) bool { return o.Written == v.Written }) {
			notes = append(notes, fmt.Sprintf("The check for %s writes %s.", v.Store, v.Written))
		}
	}
	if neighbor > 0 {
		notes = append(notes, fmt.Sprintf("At the same time, another writer on each host wrote at most %s, to imitate a pull of an image.", text.Bytes(uint64(neighbor))))
	} else {
		notes = append(notes, "No other load was added. --neighbor-load 1GiB shows how the disks behave while an image is pulled.")
	}
	if !step {
		notes = append(notes, fmt.Sprintf("No end of burst credits was seen. Credits of cloud disks can last for 30 minutes or more at a high rate, so %s may have been too short. Measure longer with --duration, or use up the credits sooner with a higher --rate.", lasted))
	}
	if late > 0 {
		notes = append(notes, fmt.Sprintf("Before a write, the writer waited for a free CPU for at most %s. This wait is not included in the times of the disks.", text.Duration(float64(late))))
	}
	if len(c.Pairs) > 0 {
		notes = append(notes, "resent: share of the TCP segments that were sent again, which shows lost packets. jitter: mean difference between two consecutive round trips.")
	}
	return notes
}

func documents(cited sources) (lines []string) {
	for i, d := range cited {
		lines = append(lines, fmt.Sprintf("[%d] %s: %s", i+1, d.Title, d.URL))
	}
	return lines
}

func durationOrDash(d time.Duration) string {
	if d == 0 {
		return text.Dash
	}
	return text.Duration(float64(d))
}

func shareOrDash(share float64) string {
	if share < 0 {
		return text.Dash
	}
	return text.Percent(share, 1)
}

func bytesOrDash(n int64) string {
	if n < 0 {
		return text.Dash
	}
	return text.Bytes(uint64(n))
}

func countOrDash(n int64) string {
	if n < 0 {
		return text.Dash
	}
	return text.Count(uint64(n))
}

func hostsObject(c *preflight.Check) (o record.Object) {
	o.Add("check", "hosts")
	o.Add("seconds", c.Seconds)
	stores := []record.Object{}
	for i := range c.Verdicts {
		stores = append(stores, verdictObject(&c.Verdicts[i]))
	}
	o.Add("stores", stores)
	hosts := []record.Object{}
	for i := range c.Hosts {
		hosts = append(hosts, hostObject(&c.Hosts[i]))
	}
	o.Add("hosts", hosts)
	pairs := []record.Object{}
	for i := range c.Pairs {
		pairs = append(pairs, hostPairObject(&c.Pairs[i]))
	}
	o.Add("pairs", pairs)
	return o
}

// stateName returns the name of a state in JSON.
func stateName(s preflight.State) string {
	return [...]string{"pass", "cannot_tell", "fail"}[s]
}

func verdictObject(v *preflight.Verdict) (o record.Object) {
	o.Add("store", v.Store)
	o.Add("state", stateName(v.State))
	o.Add("more_seconds", numberOrNil(v.More.Seconds(), v.More > 0))
	o.Add("written", v.Written)
	rules := []record.Object{}
	for i := range v.Findings {
		f, one := &v.Findings[i], record.Object{}
		one.Add("rule", f.What)
		one.Add("state", stateName(f.State))
		one.Add("advice", f.Advice)
		one.Add("where", f.Where)
		one.Add("reason", f.Reason)
		one.Add("remedy", f.Remedy)
		one.Add("source", f.Source)
		if d := f.Disk; d != nil {
			one.Add("limit_seconds", d.Rule.Limit.Seconds())
			one.Add("percentile", d.Rule.Percentile)
			one.Add("slow_share", map[string]float64{"value": d.Slow.Value, "low": d.Slow.Low, "high": d.Slow.High})
			one.Add("stalls", d.Stalls)
			one.Add("step_at_seconds", numberOrNil(float64(d.Trend.StepAt), d.Trend.StepAt > 0))
		}
		rules = append(rules, one)
	}
	o.Add("rules", rules)
	settings := []kv.Setting{}
	o.Add("settings", append(settings, v.Settings...))
	return o
}

func hostObject(h *preflight.Host) (o record.Object) {
	o.Add("name", h.Name)
	o.Add("address", h.Address)
	o.Add("dir", h.Dir)
	o.Add("machine", h.Machine)
	o.Add("limits", h.Limits)
	o.Add("cpu_busy_share", numberOrNil(h.Busy, h.Busy >= 0))
	o.Add("cpu_steal_share", numberOrNil(h.Steal, h.Steal >= 0))
	o.Add("cpu_throttled_share", numberOrNil(h.Throttled, h.Throttled >= 0))
	if h.Ahead != nil {
		o.Add("clock_ahead_seconds", h.Ahead.Seconds())
		o.Add("clock_bound_seconds", h.AheadBound.Seconds())
	}
	o.Add("write_interval_seconds", h.Writes.Interval.Seconds())
	o.Add("neighbor_bytes", h.Writes.Neighbor())
	o.Add("longest_late_wake_seconds", h.Writes.Late().Seconds())
	disks := []record.Object{}
	for k, size := range h.Writes.Sizes {
		t, one := h.Writes.Times(k), record.Object{}
		one.Add("record_bytes", size)
		one.Add("writes", t.Count)
		one.Add("p50_seconds", numberOrNil(t.P50.Seconds(), t.P50 > 0))
		one.Add("p99_seconds", numberOrNil(t.P99.Seconds(), t.P99 > 0))
		one.Add("max_seconds", numberOrNil(t.Max.Seconds(), t.Count > 0))
		disks = append(disks, one)
	}
	o.Add("writes", disks)
	return o
}

func hostPairObject(p *preflight.Pair) (o record.Object) {
	t := p.Times()
	o.Add("from", p.From)
	o.Add("to", p.To)
	if p.Failure != "" {
		o.Add("failure", p.Failure)
	}
	o.Add("round_trips", t.Count)
	for _, one := range []struct {
		name string
		time.Duration
	}{{"mean_seconds", t.Mean}, {"p50_seconds", t.P50}, {"p99_seconds", t.P99}, {"max_seconds", t.Max}, {"jitter_seconds", t.Jitter}} {
		o.Add(one.name, numberOrNil(one.Seconds(), one.Duration > 0))
	}
	o.Add("retransmitted_share", numberOrNil(t.Loss, t.Loss >= 0))
	return o
}
