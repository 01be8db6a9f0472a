package scenario

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/printable"
)

// Lines is what a dry run prints: a heading, and a line for each trial in the
// order in which they are to run. The first column is the trial's number as
// written; repeats have a column if there are any.
func (s *Scenario) Lines() []string {
	repeated := slices.ContainsFunc(s.Trials, func(t Trial) bool { return t.Repeats > 1 })
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	row := func(cells ...string) {
		for i := range cells {
			cells[i] = printable.Line(cells[i], printable.OfField)
		}
		_, _ = fmt.Fprintln(w, strings.Join(cells, "\t")) // into memory
	}
	heading := []string{"no.", "trial", "store", "operation", "consistency", "target", "connections", "clients", "arrival", "window"}
	watched := slices.ContainsFunc(s.Trials, func(t Trial) bool { return t.Load.Watch != nil })
	if watched {
		heading = append(heading, "watchers")
	}
	varied := slices.ContainsFunc(s.Trials, func(t Trial) bool { return len(t.Cluster.Env) > 0 })
	if varied {
		heading = append(heading, "environment")
	}
	if repeated {
		heading = append(heading, "repeat")
	}
	row(heading...)
	for i := range s.Trials {
		t := &s.Trials[i]
		cells := []string{fmt.Sprint(t.Number), t.Name, t.Cluster.label(), t.Load.MixLabel(), t.Load.ConsistencyLabel(),
			t.Load.Target.String(), fmt.Sprint(t.Load.Connections), fmt.Sprint(t.Load.Clients), t.Load.arrivalLabel(), t.Load.windowLabel()}
		if watched {
			cells = append(cells, t.Load.watchLabel())
		}
		if varied {
			cells = append(cells, cmp.Or(strings.Join(t.Cluster.Environment(), " "), "-"))
		}
		if repeated {
			cells = append(cells, fmt.Sprintf("%d of %d", t.Repeat, t.Repeats))
		}
		row(cells...)
	}
	_ = w.Flush() // into memory
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return lines
}

func (c *Cluster) label() string {
	if c.Attach != nil {
		return c.Store + " at " + c.Attach.Endpoints[0] + more(len(c.Attach.Endpoints)-1)
	}
	return fmt.Sprintf("%s x%d", c.Named(), c.Members)
}

// Named is the store with what tells this version or build of it from others,
// as far as it was asked for: its label, its version or its binary.
func (c *Cluster) Named() string {
	switch {
	case c.Label != "":
		return c.Store + " (" + c.Label + ")"
	case c.Version != "":
		return c.Store + " " + c.Version
	case c.Exec != "":
		return c.Store + " (" + filepath.Base(c.Exec) + ")"
	}
	return c.Store
}

func more(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" +%d", n)
}

// MixLabel names the operations, with their shares when there are several,
// such as "put", or "put 20% + get 80%".
func (l *Load) MixLabel() string {
	if len(l.Mix) == 1 {
		return l.Mix[0].Kind.String()
	}
	sum := 0.0
	for _, o := range l.Mix {
		sum += o.Weight
	}
	several := l.ConsistencyLabel() == severalLevels
	var parts []string
	for _, o := range l.Mix {
		name := o.Kind.String()
		if several {
			name = o.label()
		}
		parts = append(parts, fmt.Sprintf("%s %.3g%%", name, 100*o.Weight/sum))
	}
	return strings.Join(parts, " + ")
}

const severalLevels = "several"

// ConsistencyLabel names the level of the reads: "-" when there are none, and
// "several" when they differ.
func (l *Load) ConsistencyLabel() string {
	label := "-"
	for _, o := range l.Mix {
		switch c := o.Consistency.String(); {
		case o.Consistency == kv.None || label == c:
		case label != "-":
			return severalLevels
		default:
			label = c
		}
	}
	return label
}

func (l *Load) arrivalLabel() string {
	if l.Arrival == Closed {
		return Closed.String()
	}
	unit := "/s"
	if l.Rate.Of != "" {
		unit = ""
	}
	return l.Arrival.String() + " " + l.Rate.String() + unit
}

func (l *Load) windowLabel() string {
	window := l.Duration.String()
	switch {
	case l.Total > 0:
		window = count(l.Total, "operation", "operations")
	case l.Watch != nil && l.Watch.Expect > 0:
		window = "until caught up, at most " + window
	}
	if l.Warmup > 0 {
		window += " after " + l.Warmup.String()
	}
	return window
}

// EstimatedDuration is how long warm-up and window take together. known is
// false, and d the part that can be told, when a total bounds the window and
// its rate is not known.
func (l *Load) EstimatedDuration() (d time.Duration, known bool) {
	d = l.Warmup + l.Duration
	if l.Watch != nil && l.Watch.Expect > 0 {
		return l.Warmup, false // it ends when the watchers have caught up
	}
	if l.Total == 0 {
		return d, true
	}
	if l.Arrival == Closed || l.Rate.PerSecond <= 0 {
		return d, false
	}
	window := float64(l.Total) / l.Rate.PerSecond * float64(time.Second)
	if window > float64(1<<62) {
		return d, false
	}
	return d + time.Duration(window), true
}

// EstimatedDuration sums the trials' estimates; known is false when any is
// not known. Starting clusters, preloads and drains come on top.
func (s *Scenario) EstimatedDuration() (d time.Duration, known bool) {
	known = true
	for i := range s.Trials {
		part, ok := s.Trials[i].Load.EstimatedDuration()
		known = known && ok
		if d += part; d < 0 {
			return 1<<63 - 1, known // 292 years
		}
	}
	return d, known
}
