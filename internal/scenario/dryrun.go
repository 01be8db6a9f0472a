package scenario

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Lines returns the output of a dry run: a heading, and one line per trial in the order of
// execution. The first two columns contain the trial's number, in the order of the file, and its
// name. The definitions of the parameters determine the other columns.
func (s *Scenario) Lines() []string {
	heading, rows := []string{"no.", "trial"}, make([][]string, len(s.Trials))
	for i := range s.Trials {
		rows[i] = []string{strconv.Itoa(s.Trials[i].Number), s.Trials[i].Name}
	}
	add := func(p *Parameter) {
		cells, hasValue := make([]string, len(rows)), !p.column.optional
		for i := range s.Trials {
			if p.column.cell != nil {
				cells[i] = p.column.cell(&s.Trials[i])
			} else {
				cells[i] = p.Text(&s.Trials[i].Load)
			}
			hasValue = hasValue || cells[i] != ""
		}
		if !hasValue {
			return
		}
		heading = append(heading, cmp.Or(p.column.title, p.Key))
		for i := range rows {
			rows[i] = append(rows[i], cmp.Or(cells[i], p.column.emptyText))
		}
	}
	all := slices.DeleteFunc(parameters(nil, nil), func(p *Parameter) bool { return p.column == nil })
	for _, p := range all {
		if !p.column.optional {
			add(p)
		}
	}
	for _, p := range slices.Backward(all) { // parameters of the load come before those of the cluster
		if p.column.optional {
			add(p)
		}
	}
	var out strings.Builder
	_ = text.Table(&out, slices.Concat([][]string{heading}, rows)) // writing to memory cannot fail
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
}

func repeatLabel(t *Trial) string {
	if t.Repeats < 2 {
		return ""
	}
	return fmt.Sprintf("%d of %d", t.Repeat, t.Repeats)
}

func workersLabel(t *Trial) string {
	if t.Load.Workers < 2 {
		return ""
	}
	return strconv.Itoa(int(t.Load.Workers))
}

func environmentLabel(t *Trial) string { return strings.Join(t.Cluster.Environment(), " ") }

func (c *Cluster) label() string {
	if c.RunningCluster != nil {
		at := c.Store + " at " + c.RunningCluster.Endpoints[0]
		if more := len(c.RunningCluster.Endpoints) - 1; more > 0 {
			at += fmt.Sprintf(" +%d", more)
		}
		return at
	}
	return fmt.Sprintf("%s x%d", c.FullName(), c.Members)
}

// mixLabel returns the name of the operation, or the names and percentages if there are several,
// for example "put" or "put 20% + get 80%".
func (l *Load) mixLabel() string {
	if len(l.Mix) == 1 {
		return l.Mix[0].Kind.String()
	}
	sum := 0.0
	for _, o := range l.Mix {
		sum += o.Weight
	}
	several := l.consistencyLabel() == severalLevels
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

// consistencyLabel returns the consistency level of the reads. It returns "-" if there are no
// reads, and "several" if reads have different levels.
func (l *Load) consistencyLabel() string {
	label := "-"
	for _, o := range l.Mix {
		switch c := o.Consistency.String(); {
		case o.Consistency == kv.NoConsistency || label == c:
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
	if l.Application.Name != "" { // an application's rate is the sum over all its calls, and its due times are not from a recording
		return "scheduled " + text.PerSecond(l.Rate.PerSecond)
	}
	unit := "/s"
	if l.Rate.SourceTrial != "" {
		unit = ""
	}
	return l.Arrival.String() + " " + l.Rate.String() + unit
}

func (l *Load) windowLabel() string {
	window := l.Duration.String()
	switch {
	case l.Total > 0:
		window = text.Plural(l.Total, "operation")
	case l.Watch != nil && l.Watch.EarlierEvents > 0:
		window = "until caught up, at most " + window
	}
	if l.Warmup > 0 {
		window += " after " + l.Warmup.String()
	}
	return window
}

// EstimatedDuration returns the duration of the warm-up plus the window. The duration of the window
// is not known if the window ends when watchers have caught up, or after a number of operations at
// an unknown rate. In this case, known is false, and d contains only the known part.
func (l *Load) EstimatedDuration() (d time.Duration, known bool) {
	d = l.Warmup + l.Duration
	if l.Watch != nil && l.Watch.EarlierEvents > 0 {
		return l.Warmup, false // the window ends when the watchers have caught up
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

// EstimatedDuration returns the sum of the estimates for all trials. known is false if part of any
// estimate is not known. The sum does not include the time to start clusters, preload keys and
// drain.
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
