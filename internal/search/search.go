// Package search finds capacities. It plans trials, lets the runner execute them on a cluster, and
// records the resulting interval.
package search

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/quorumbench/quorumbench/internal/results/analyze/capacity"
	"github.com/quorumbench/quorumbench/internal/results/analyze/size"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/runner"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// Options are the options of a search.
type Options struct {
	Objective size.Objective
	Until     time.Duration  // time limit, counted from the first trial; no trial starts that would end later
	Width     float64        // the search ends when the interval is at most this wide, as a fraction
	From      *float64       // first rate; if nil, the search chooses it
	Most      float64        // highest rate
	WarmUp    *time.Duration // maximum warm-up of a cluster that was just started; if nil, MostWarmUp or a fifth of the time limit
	Over      string         // key of the parameter that takes several values; empty if there is none
	Values    []string       // values of that parameter; there is one search per value
	Parameter *Parameter     // the search is for a value of this parameter; if nil, for a rate

	// SlowAtFirst returns the reason why a store is slower after its start, or "" if it is not
	// known.
	SlowAtFirst func(store string) string
	Display     Display
	Now         func() time.Time
}

// Display shows the progress of the search.
type Display interface {
	Line(text string)
	Update(step string, elapsed time.Duration, text string)
}

// Rates and durations in a search.
const (
	LeastRate   = 10              // lowest rate; at lower rates, a window of a few seconds shows hardly anything
	FirstRate   = 100             // first rate, unless more is known about the store
	leastSearch = 5 * time.Second // a search with less time does not start
)

// Run searches for the capacity of each trial in the runner's scenario. It returns the run
// directory and the findings. The findings are nil if the run recorded none.
func Run(ctx context.Context, o Options, r runner.Options) (dir string, found *size.CapacityFindings, err error) {
	s := newSearches(&o, r.Scenario.Trials)
	r.Progress, r.Next = s.show, s.next
	dir, err = runner.Run(ctx, r)
	if dir == "" {
		return "", nil, err
	}
	run, failed := record.Open(dir)
	if failed != nil {
		return dir, nil, errors.Join(err, failed)
	}
	run.ReadEvents(dir)
	return dir, size.CapacitiesOf(run), err
}

// searches lets the runner execute one search after the other.
type searches struct {
	*Options
	loads   []scenario.Trial // one per value; only one if there is no parameter with several values
	at      int              // index of the current search
	current *seeker
	began   time.Time // start of the first trial; zero if no trial has started
	trials  int       // number of trials planned so far
	found   record.CapacityOver
}

func newSearches(o *Options, loads []scenario.Trial) *searches {
	return &searches{Options: o, loads: loads, at: -1, found: record.CapacityOver{Parameter: o.Over, UntilNS: o.Until.Nanoseconds()}}
}

// next implements runner.Next.
func (s *searches) next(before *record.Trial) (runner.PlannedTrial, error) {
	if before != nil && s.began.IsZero() {
		s.began = before.Started
	}
	for {
		if s.current != nil {
			t, err := s.current.next(before, s.trials+1)
			if s.keep(); err != nil {
				return runner.PlannedTrial{}, err
			}
			if t != nil {
				s.trials++
				named := runner.PlannedTrial{Trial: t, Fresh: s.current.planned == 1, Found: s.recorded()}
				if s.Parameter != nil {
					named.Fresh, named.Unprepared = true, s.unprepared
				}
				return named, nil
			}
		}
		if s.at++; s.at == len(s.loads) {
			return runner.PlannedTrial{Found: s.recorded()}, nil
		}
		s.begin()
		before = nil
	}
}

// unprepared calls seeker.unprepared. The run does not count a trial that did not start.
func (s *searches) unprepared(why error) bool {
	if !s.current.unprepared(why) {
		return false
	}
	s.trials--
	return true
}

// begin starts the next search with its share of the remaining time.
func (s *searches) begin() {
	left := s.Until
	if !s.began.IsZero() {
		left -= s.Now().Sub(s.began)
	}
	share := left / time.Duration(len(s.loads)-s.at)
	s.current = newSeeker(s.Options, s.loads[s.at], share)
	if len(s.Values) == 0 {
		return
	}
	value := s.Values[s.at]
	s.current.name = scenario.NameOf(s.Over+"="+value, s.at+1) + "-"
	s.found.Searches = append(s.found.Searches, record.CapacitySearch{Value: value})
	if s.at > 0 { // the time to start its cluster counts
		s.current.began = s.Now()
	}
	s.Display.Line(fmt.Sprintf("%s=%s, search %d of %d, in %s", s.Over, value, s.at+1, len(s.loads), share.Round(time.Second)))
	if s.at > 0 && share < leastSearch {
		s.current.found.Status, s.current.found.Why = string(capacity.NotKnown), "the time limit was reached before its first trial"
	}
}

// keep stores the progress of the current search in the record.
func (s *searches) keep() {
	if n := len(s.found.Searches); n > 0 {
		s.found.Searches[n-1].Capacity = s.current.found
	}
}

// recorded returns the progress of all searches.
func (s *searches) recorded() record.Searches {
	if len(s.Values) == 0 {
		return record.Searches{Capacity: &s.current.found}
	}
	return record.Searches{Over: &s.found}
}

func (s *searches) show(p runner.Progress) { s.current.show(p) }
