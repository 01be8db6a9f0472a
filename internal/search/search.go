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
	"github.com/quorumbench/quorumbench/internal/results/figures"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/runner"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// Options are the options of a search.
type Options struct {
	Objective   size.Objective
	TimeLimit   time.Duration  // time limit, counted from the start of the first trial; a trial that would end later is not started
	Width       float64        // maximum width of the final interval, as a fraction of its middle
	InitialRate *float64       // first rate; if nil, the search chooses it
	MaxRate     float64        // highest rate
	WarmUp      *time.Duration // maximum warm-up of a cluster that was just started; if nil, MaxWarmUp or a fifth of the time limit
	OverKey     string         // key of a parameter; there is a separate search for each value in Values; empty for a single search
	Values      []string       // values of the parameter OverKey
	Parameter   *Parameter     // parameter whose largest value the search finds; nil if the search finds the highest rate

	// SlowStartReason returns the reason why a store is slower just after it was started, or "" if
	// no reason is known.
	SlowStartReason func(store string) string
	Display         Display
	Now             func() time.Time
}

// Display shows the progress of the search.
type Display interface {
	Line(text string)
	Update(step string, elapsed time.Duration, text string)
}

// Rates and durations in a search.
const (
	MinRate       = 10              // lowest rate; a lower rate yields too few operations in a window of a few seconds
	FirstRate     = 100             // first rate if nothing is known about the store
	minSearchTime = 5 * time.Second // a search other than the first is skipped if it would have less time than this
)

// Run searches for the capacity of each trial in the runner's scenario. It returns the run
// directory and the findings. The findings are nil if the run recorded none. The display of the
// search does not replace the runner's Progress, which is still called.
func Run(ctx context.Context, o Options, r runner.Options) (dir string, found *size.CapacityFindings, err error) {
	s := newSearches(&o, r.Scenario.Trials)
	r.AddProgressHandler(s.show)
	r.Next = s.next
	dir, err = runner.Run(ctx, r)
	if dir == "" {
		return "", nil, err
	}
	run, failed := record.Open(dir)
	if failed != nil {
		return dir, nil, errors.Join(err, failed)
	}
	figures.ReadTrialFiles(run, dir)
	return dir, size.CapacitiesOf(run), err
}

// searches lets the runner execute one search after the other.
type searches struct {
	*Options
	loads   []scenario.Trial // one trial per value in Values; a single trial if Values is empty
	index   int              // index of the current search
	current *seeker
	began   time.Time // start of the first trial; zero if no trial has started
	trials  int       // number of trials planned so far
	found   record.CapacityByParameter
}

func newSearches(o *Options, loads []scenario.Trial) *searches {
	return &searches{Options: o, loads: loads, index: -1, found: record.CapacityByParameter{Parameter: o.OverKey, UntilNS: o.TimeLimit.Nanoseconds()}}
}

// next implements runner.Next.
func (s *searches) next(before *record.Trial) (runner.PlannedTrial, error) {
	if before != nil && s.began.IsZero() {
		s.began = before.Started
	}
	for {
		if s.current != nil {
			t, err := s.current.next(before, s.trials+1)
			if s.storeProgress(); err != nil {
				return runner.PlannedTrial{}, err
			}
			if t != nil {
				s.trials++
				named := runner.PlannedTrial{Trial: t, FreshCluster: s.current.planned == 1, Searches: s.recordSearches()}
				if s.Parameter != nil {
					named.FreshCluster, named.OnPreloadFailure = true, s.handlePreloadFailure
				}
				return named, nil
			}
		}
		if s.index++; s.index == len(s.loads) {
			return runner.PlannedTrial{Searches: s.recordSearches()}, nil
		}
		s.begin()
		before = nil
	}
}

// handlePreloadFailure calls seeker.handlePreloadFailure. If the search continues, the number of
// planned trials decreases by 1, because the trial did not start.
func (s *searches) handlePreloadFailure(why error) bool {
	if !s.current.handlePreloadFailure(why) {
		return false
	}
	s.trials--
	return true
}

// begin starts the next search with its share of the remaining time.
func (s *searches) begin() {
	remaining := s.TimeLimit
	if !s.began.IsZero() {
		remaining -= s.Now().Sub(s.began)
	}
	share := remaining / time.Duration(len(s.loads)-s.index)
	s.current = newSeeker(s.Options, s.loads[s.index], share)
	if len(s.Values) == 0 {
		return
	}
	value := s.Values[s.index]
	s.current.name = scenario.NamePart(s.OverKey+"="+value, s.index+1) + "-"
	s.found.Searches = append(s.found.Searches, record.CapacitySearch{Value: value})
	if s.index > 0 { // the time limit of a later search includes the start of its cluster
		s.current.began = s.Now()
	}
	s.Display.Line(fmt.Sprintf("%s=%s, search %d of %d, time limit %s", s.OverKey, value, s.index+1, len(s.loads), share.Round(time.Second)))
	if s.index > 0 && share < minSearchTime {
		s.current.found.Status, s.current.found.Reason = string(capacity.Undecided), "the time limit was reached before the first trial of this search"
	}
}

// storeProgress stores the progress of the current search in s.found.
func (s *searches) storeProgress() {
	if n := len(s.found.Searches); n > 0 {
		s.found.Searches[n-1].Capacity = s.current.found
	}
}

// recordSearches returns the progress of all searches.
func (s *searches) recordSearches() record.Searches {
	if len(s.Values) == 0 {
		return record.Searches{Capacity: &s.current.found}
	}
	return record.Searches{ByParameter: &s.found}
}

func (s *searches) show(p runner.Progress) { s.current.show(p) }
