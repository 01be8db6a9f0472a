package history

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/results/analyze/stats"
	"github.com/quorumbench/quorumbench/internal/results/history/changepoint"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Order is the order of the points of a series.
type Order string

// The orders.
const (
	ByDate    Order = "date"
	ByVersion Order = "version" // and by date within a version
	ByLabel   Order = "label"   // of their first runs, and by date within a label
)

// Options select and judge series.
type Options struct {
	Order  Order
	Trials []string // all if there are none
	// Metrics are the names of metrics; all if there are none.
	Metrics []string
	Margin  float64
}

// Build returns the series of the sources, with their changes. Sources without a time stay in the
// given order. The error names a trial or metric that no source has.
func Build(sources []*Source, o Options) (*History, error) {
	h := &History{Runs: len(sources), Margin: o.Margin}
	dated := !slices.ContainsFunc(sources, func(s *Source) bool { return s.When.IsZero() })
	sources = slices.Clone(sources)
	if dated {
		slices.SortStableFunc(sources, func(a, b *Source) int { return a.When.Compare(b.When) })
		h.First, h.Last = sources[0].When, sources[len(sources)-1].When
	} else if len(sources) > 1 {
		h.note("Some files have no time in their name or contents, so all are in the order given.")
	}
	if err := known(sources, o); err != nil {
		return nil, err
	}
	index := map[[2]string]int{}
	for _, source := range sources {
		for _, s := range source.samples {
			if !selected(o.Trials, s.trial) || !selected(o.Metrics, s.metric.Name) {
				continue
			}
			key := [2]string{s.trial, s.metric.Name}
			i, ok := index[key]
			if !ok {
				i = len(h.Series)
				index[key] = i
				h.Series = append(h.Series, Series{Trial: s.trial, Metric: s.metric})
			}
			if p := &s.point; p.LeftOut == "" && !(p.Value > 0 && p.Value <= math.MaxFloat64) {
				p.LeftOut = "not a number above 0"
			}
			h.Series[i].Points = append(h.Series[i].Points, s.point)
		}
	}
	for i := range h.Series {
		s := &h.Series[i]
		h.keepOneLoad(s)
		s.sort(o.Order)
		s.follow(o.Margin)
	}
	return h, nil
}

// known returns an error for a trial or metric that no source has.
func known(sources []*Source, o Options) error {
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
		return fmt.Errorf("the runs have no trial with figures; a run has figures once its first trial has ended")
	}
	for _, t := range o.Trials {
		if !slices.Contains(trials, t) {
			return fmt.Errorf("no run has a trial %q; there is %s", t, ShortList(trials))
		}
	}
	for _, m := range o.Metrics {
		if !selected(metrics, m) {
			return fmt.Errorf("no run has the metric %q; there is %s", m, ShortList(metrics))
		}
	}
	return nil
}

// selected reports whether a name is in a list, whatever its case, or the list is empty.
func selected(list []string, name string) bool {
	return len(list) == 0 || slices.ContainsFunc(list, func(s string) bool { return strings.EqualFold(s, name) })
}

// ShortList joins the first names of a list.
func ShortList(names []string) string {
	const most = 12
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}

func (h *History) note(format string, args ...any) {
	if s := fmt.Sprintf(format, args...); !slices.Contains(h.Notes, s) {
		h.Notes = append(h.Notes, s)
	}
}

// keepOneLoad leaves out the points whose store or load is not that of the newest point, and records
// that.
func (h *History) keepOneLoad(s *Series) {
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
			reason = fmt.Sprintf("the store is %s there and %s in the newest run", p.conditions.Store, newest.Store)
		} else if what, there, here := scenario.FirstDifference(&p.conditions.Load, &newest.Load); what != "" {
			reason = fmt.Sprintf("%s: %s there and %s in the newest run", what, cmp.Or(there, "none"), cmp.Or(here, "none"))
		}
		if reason != "" {
			others++
			why = reason
		}
		return reason != ""
	})
	if others > 0 {
		h.note("%s: %s of another load or store left out: %s.", s.Trial, text.Either(uint64(others), "run is", "runs are"), why)
	}
}

// sort orders the points, which are in the order of their dates.
func (s *Series) sort(by Order) {
	switch by {
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

// compareVersions compares two versions: numbers by value, and a version with a suffix, such as
// 3.7.0-rc.1, before the one without it.
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

// token returns the digits at the start of a text, or what is before its first digit.
func token(s string) string {
	end := 1
	for end < len(s) && isDigit(s[end]) == isDigit(s[0]) {
		end++
	}
	return s[:end]
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// Select removes the changes before a time, and those that none of the last runs confirmed. A zero
// time and 0 runs keep all changes.
func (h *History) Select(since time.Time, last int) {
	if !since.IsZero() {
		h.Only = " since " + since.Format(time.DateOnly)
	}
	if last > 0 {
		by := "the last run"
		if last > 1 {
			by = fmt.Sprintf("one of the last %d runs", last)
		}
		h.Only += " that " + by + " confirmed"
	}
	for i := range h.Series {
		s := &h.Series[i]
		s.Changes = slices.DeleteFunc(s.Changes, func(c Change) bool {
			return s.Points[c.Until].When.Before(since) || last > 0 && c.Found < len(s.Points)-last
		})
	}
}

// Worsened describes the series that are worse: by their last change, or by all of their changes
// together.
func (h *History) Worsened() (all []string) {
	for i := range h.Series {
		s := &h.Series[i]
		if len(s.Changes) == 0 || s.Metric.Better == record.Neither {
			continue
		}
		last := &s.Changes[len(s.Changes)-1]
		together := 1.0
		for k := range s.Changes {
			together *= 1 + s.Changes[k].Share
		}
		fell := s.Metric.Better == record.More && together < 1/(1+h.Margin) || s.Metric.Better == record.Less && together > 1+h.Margin
		switch {
		case last.Word == stats.Worse:
			all = append(all, fmt.Sprintf("%s (%s at %s)", s.Name(), text.Change(last.Share), s.Points[last.At].Title()))
		case fell && slices.ContainsFunc(s.Changes, func(c Change) bool { return c.Word == stats.Worse }):
			all = append(all, fmt.Sprintf("%s (%s by %d changes)", s.Name(), text.Change(together-1), len(s.Changes)))
		}
	}
	return all
}

// Unjudged returns an error that names the series that are too short to have a change; nil if there
// are none.
func (h *History) Unjudged() error {
	var short []string
	for i := range h.Series {
		if h.Series[i].Counting() < changepoint.Fewest {
			short = append(short, h.Series[i].Name())
		}
	}
	switch {
	case len(short) == 0:
		return nil
	case len(short) == len(h.Series):
		return fmt.Errorf("--fail-on worse: nothing could be judged, because no series has %d runs that count; add runs", changepoint.Fewest)
	}
	return fmt.Errorf("--fail-on worse: some series could not be judged, because that needs %d runs that count: %s", changepoint.Fewest, ShortList(short))
}
