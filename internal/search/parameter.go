package search

import (
	"fmt"
	"math"
	"strconv"

	"github.com/quorumbench/quorumbench/internal/results/analyze/capacity"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/scenario/application"
)

// Parameter is a parameter of an application. The search finds the largest value of the parameter
// at which the application meets the objective.
type Parameter struct {
	Key      string
	Integer  bool // set if values must be whole numbers
	Initial  float64
	Min, Max float64 // bounds that the scenario allows

	// read returns the scenario in which the parameter has the given value. It returns an error if
	// the scenario does not allow the value.
	read func(value string) (*scenario.Scenario, error)
}

const (
	// minWindow is the minimum length, in seconds, of the measurement window of an application's
	// trial. In 10 seconds, each Kubernetes node and each Patroni member renews its lease once.
	minWindow = 10
	// minNumber is the smallest value that a search tries if the parameter's values need not be
	// whole numbers.
	minNumber = 0.1
	// clusterStart is the assumed duration, in seconds, of the start of a cluster. It applies until
	// a start has been measured.
	clusterStart = 3
)

// NewParameter returns the declared parameter for a search that starts with the value initial. The
// bounds of the search are the lowest and the highest value that the function `read` accepts.
func NewParameter(declared *application.Parameter, initial float64, read func(value string) (*scenario.Scenario, error)) *Parameter {
	p := &Parameter{Key: declared.Key, Integer: declared.Unit == application.Integer, read: read}
	least := declared.Min
	if !p.Integer {
		least = math.Max(least, minNumber)
	}
	allowed := math.Max(initial, least)
	p.Min, p.Max = p.bound(allowed, least), p.bound(allowed, declared.Max)
	p.Initial = math.Min(math.Max(initial, p.Min), p.Max)
	return p
}

// bound returns the value that is nearest to `limit` among the values that the scenario accepts. It
// uses a binary search between `allowed` and `limit`. The scenario must accept the value of
// `allowed`. The bounds of a parameter may depend on other parameters, so they are not known in
// advance.
func (p *Parameter) bound(allowed, limit float64) float64 {
	if _, err := p.trial(limit); err == nil {
		return limit
	}
	for range 40 {
		middle := (allowed + limit) / 2
		if p.Integer {
			middle = math.Round(middle)
		}
		if middle == allowed || middle == limit {
			break
		}
		if _, err := p.trial(middle); err == nil {
			allowed = middle
		} else {
			limit = middle
		}
	}
	return allowed
}

// trial returns the scenario's trial in which the parameter has the given value.
func (p *Parameter) trial(value float64) (*scenario.Trial, error) {
	s, err := p.read(p.Text(value))
	if err != nil {
		return nil, err
	}
	return &s.Trials[0], nil
}

// Text returns a value of the parameter in the form that scenario files use.
func (p *Parameter) Text(value float64) string {
	if p.Integer {
		return strconv.FormatFloat(value, 'f', 0, 64)
	}
	return nameRate(value)
}

// offeredRate returns the number of calls that become due per second if the parameter has the given
// value. For a value outside the bounds it uses the nearest bound. It returns 0 if the scenario
// rejects the value.
func (p *Parameter) offeredRate(value float64) float64 {
	t, err := p.trial(math.Min(math.Max(value, p.Min), p.Max))
	if err != nil {
		return 0
	}
	return t.Load.Rate.PerSecond
}

// options returns the planner's options o, completed for a search for a value of this parameter.
// fresh is set if each trial uses a new store.
func (p *Parameter) options(o capacity.Options, fresh bool) capacity.Options {
	o.InitialRate, o.MinRate, o.MaxRate, o.Overhead = p.Initial, p.Min, p.Max, clusterStart
	o.Parameter = &capacity.Parameter{Integer: p.Integer, DueRate: p.offeredRate, MinWindow: minWindow, FreshCluster: fresh}
	return o
}

// name returns the name of the trial for a plan.
func (p *Parameter) name(plan *capacity.Plan) string {
	return fmt.Sprintf("%s-%s-%s", plan.Purpose, p.Key, p.Text(plan.Rate))
}

// floor converts an end of an interval to a value of the parameter. It rounds the end down if
// values must be whole numbers.
func (p *Parameter) floor(end float64) float64 {
	if p.Integer {
		return math.Floor(end)
	}
	return end
}
