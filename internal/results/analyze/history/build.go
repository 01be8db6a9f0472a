package history

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/results/analyze/history/changepoint"
	"github.com/quorumbench/quorumbench/internal/results/analyze/stats"
	"github.com/quorumbench/quorumbench/internal/results/figures"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Order is the order of the points of a series.
type Order string

// The orders.
const (
	ByDate    Order = "date"
	ByVersion Order = "version" // by version, then by date
	ByLabel   Order = "label"   // by the first run of each label, then by date
)

// Options determines which series Build returns and how it judges them.
type Options struct {
	Order  Order
	Trials []string // names of trials; empty for all trials
	// Metrics lists names of metrics. If it is empty, Build uses all metrics.
	Metrics []string
	Margin  float64
}

// Build returns the series of the sources, with their changes. Unless the options request another
// order, the points are in the order of their times, or in the given order of the sources if the
// time of any source is unknown. Build returns an error if the options name a trial or metric that
// no source has.
func Build(sources []*Source, o Options) (*History, error) {
	h := &History{Runs: len(sources), Margin: o.Margin}
	dated := !slices.ContainsFunc(sources, func(s *Source) bool { return s.Time.IsZero() })
	sources = slices.Clone(sources)
	if dated {
		slices.SortStableFunc(sources, func(a, b *Source) int { return a.Time.Compare(b.Time) })
		h.First, h.Last = sources[0].Time, sources[len(sources)-1].Time
	} else if len(sources) > 1 {
		h.note("Some files have no time in their names or contents, so all runs and files are in the given order.")
	}
	if err := checkNames(sources, o); err != nil {
		return nil, err
	}
	index := map[[2]string]int{}
	for _, source := range sources {
		for _, s := range source.samples {
			if !containsFold(o.Trials, s.trial) || !containsFold(o.Metrics, s.metric.Name) {
				continue
			}
			key := [2]string{s.trial, s.metric.Name}
			i, ok := index[key]
			if !ok {
				i = len(h.Series)
				index[key] = i
				h.Series = append(h.Series, Series{Trial: s.trial, Metric: s.metric})
			}
			if p := &s.point; p.ExclusionReason == "" && !(p.Value > 0 && p.Value <= math.MaxFloat64) {
				p.ExclusionReason = "not a number above 0"
			}
			h.Series[i].Points = append(h.Series[i].Points, s.point)
		}
	}
	for i := range h.Series {
		s := &h.Series[i]
		h.dropOtherLoads(s)
		s.sort(o.Order)
		s.findChanges(o.Margin)
	}
	return h, nil
}

// checkNames returns an error if the options name a trial or metric that no source has.
func checkNames(sources []*Source, o Options) error {
	var trials, metrics []string
	for _, source := range sources {
		for _, s := range source.samples {
			if !slices.Contains(trials, s.trial) {
				trials = append(trials, s.trial)
			}
			if !slices.Contains(metrics, s.metric.Name) {
				metrics = append(metrics, s.metric.Name)
			}
		}
	}
	if len(trials) == 0 {
		return fmt.Errorf("no run has a trial with figures; a run has figures as soon as its first trial is complete")
	}
	for _, t := range o.Trials {
		if !containsFold(trials, t) {
			return fmt.Errorf("no run has a trial %q; available trials: %s", t, ShortList(trials))
		}
	}
	for _, m := range o.Metrics {
		if !containsFold(metrics, m) {
			return fmt.Errorf("no run has the metric %q; available metrics: %s", m, ShortList(metrics))
		}
	}
	return nil
}

// containsFold reports whether a list contains a name, regardless of upper and lower case. An empty
// list contains every name.
func containsFold(list []string, name string) bool {
	return len(list) == 0 || slices.ContainsFunc(list, func(s string) bool { return strings.EqualFold(s, name) })
}

// ShortList joins the first 12 names of a list, and states how many more names the list has.
func ShortList(names []string) string {
	const most = 12
	return text.ShortList(names, most)
}

func (h *History) note(format string, args ...any) {
	if s := fmt.Sprintf(format, args...); !slices.Contains(h.Notes, s) {
		h.Notes = append(h.Notes, s)
	}
}

// dropOtherLoads removes the points whose store or load differs from that of the newest point. It
// adds a note about the removed points.
func (h *History) dropOtherLoads(s *Series) {
	newest := s.Points[len(s.Points)-1].conditions
	if newest == nil {
		return
	}
	others, why := 0, ""
	s.Points = slices.DeleteFunc(s.Points, func(p Point) bool {
		if p.conditions == nil {
			return false
		}
		reason := ""
		if p.conditions.Store != newest.Store {
			reason = fmt.Sprintf("the store is %s, but %s in the newest run", p.conditions.Store, newest.Store)
		} else if what, there, here := scenario.FirstDifference(&p.conditions.Load, &newest.Load); what != "" {
			reason = fmt.Sprintf("%s: %s, but %s in the newest run", what, cmp.Or(there, "none"), cmp.Or(here, "none"))
		}
		if reason != "" {
			others++
			why = reason
		}
		return reason != ""
	})
	if others > 0 {
		h.note("%s: %s load or store differs (%s).", s.Trial,
			text.CountNoun(uint64(others), "run is left out because its", "runs are left out because their"), why)
	}
}

// sort sorts the points by version or by label. The sort is stable: points with the same version or
// label stay in their order.
func (s *Series) sort(order Order) {
	switch order {
	case ByVersion:
		slices.SortStableFunc(s.Points, func(a, b Point) int { return compareVersions(a.Version, b.Version) })
	case ByLabel:
		rank := map[string]int{}
		for i := range s.Points {
			if _, ok := rank[s.Points[i].Build()]; !ok {
				rank[s.Points[i].Build()] = i
			}
		}
		slices.SortStableFunc(s.Points, func(a, b Point) int { return cmp.Compare(rank[a.Build()], rank[b.Build()]) })
	}
}

// compareVersions compares two versions. It compares numbers by value. A version with a suffix,
// such as 3.7.0-rc.1, comes before the version without the suffix.
func compareVersions(a, b string) int {
	if a == "" || b == "" {
		return cmp.Compare(len(a), len(b))
	}
	for a != "" && b != "" {
		x, y := token(a), token(b)
		if x != y {
			digits := isDigit(x[0]) && isDigit(y[0])
			x, y = strings.TrimLeft(x, "0"), strings.TrimLeft(y, "0")
			if digits && len(x) != len(y) {
				return cmp.Compare(len(x), len(y))
			}
			return cmp.Compare(x, y)
		}
		a, b = a[len(x):], b[len(y):]
	}
	suffixed := func(s string) bool { return s != "" && s[0] != '.' && !isDigit(s[0]) }
	switch {
	case suffixed(a):
		return -1
	case suffixed(b):
		return 1
	}
	return cmp.Compare(len(a), len(b))
}

// token returns the longest prefix of a text that consists only of digits or contains no digit.
func token(s string) string {
	end := 1
	for end < len(s) && isDigit(s[end]) == isDigit(s[0]) {
		end++
	}
	return s[:end]
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// Select removes the changes that ended before the time `since`, and the changes that none of the
// last `runs` runs confirmed. A zero `since` or `runs` switches the corresponding condition off.
func (h *History) Select(since time.Time, runs int) {
	if !since.IsZero() {
		h.SelectionText = " since " + since.Format(time.DateOnly)
	}
	if runs > 0 {
		by := "the last run"
		if runs > 1 {
			by = fmt.Sprintf("one of the last %d runs", runs)
		}
		h.SelectionText += " that " + by + " confirmed"
	}
	for i := range h.Series {
		s := &h.Series[i]
		s.Changes = slices.DeleteFunc(s.Changes, func(c Change) bool {
			return s.Points[c.LastDriftIndex].Time.Before(since) || runs > 0 && c.ConfirmedBy < len(s.Points)-runs
		})
	}
}

// Worsened describes the series that became worse. The last change of such a series was judged
// worse, or one of its changes was judged worse and all of its changes together are worse by more
// than the margin.
func (h *History) Worsened() (all []string) {
	for i := range h.Series {
		s := &h.Series[i]
		if len(s.Changes) == 0 || s.Metric.Direction == figures.NoDirection {
			continue
		}
		last := &s.Changes[len(s.Changes)-1]
		together := 1.0
		for k := range s.Changes {
			together *= 1 + s.Changes[k].Share
		}
		fell := s.Metric.Direction == figures.HigherIsBetter && together < 1/(1+h.Margin) || s.Metric.Direction == figures.LowerIsBetter && together > 1+h.Margin
		switch {
		case last.Word == stats.Worse:
			all = append(all, fmt.Sprintf("%s (%s at %s)", s.Name(), text.SignedPercent(last.Share), s.Points[last.Index].Title()))
		case fell && slices.ContainsFunc(s.Changes, func(c Change) bool { return c.Word == stats.Worse }):
			all = append(all, fmt.Sprintf("%s (%s over %d changes)", s.Name(), text.SignedPercent(together-1), len(s.Changes)))
		}
	}
	return all
}

// Unjudged returns an error that lists the series that are too short to have a change. It returns
// nil if no series is too short.
func (h *History) Unjudged() error {
	var short []string
	for i := range h.Series {
		if h.Series[i].CountUsable() < changepoint.MinPoints {
			short = append(short, h.Series[i].Name())
		}
	}
	switch {
	case len(short) == 0:
		return nil
	case len(short) == len(h.Series):
		return fmt.Errorf("--fail-on worse: nothing could be judged, because no series has %d runs that count; add runs", changepoint.MinPoints)
	}
	return fmt.Errorf("--fail-on worse: some series could not be judged, because a series needs %d runs that count: %s", changepoint.MinPoints, ShortList(short))
}
