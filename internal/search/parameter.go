package search

import (
	"fmt"
	"math"
	"strconv"

	"github.com/quorumbench/quorumbench/internal/results/analyze/capacity"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/scenario/application"
)

// Parameter is a parameter of an application. The search finds its largest value that meets the
// objective.
type Parameter struct {
	Key         string
	Integer     bool // set if values must be whole numbers
	From        float64
	Least, Most float64 // bounds that the scenario allows

	// read returns the scenario with a given value, or the error with which the scenario rejects
	// it.
	read func(value string) (*scenario.Scenario, error)
}

const (
	// leastWindow is the shortest window of an application's trial, in seconds. In that time each
	// Kubernetes node, and each Patroni member, renews its lease once.
	leastWindow = 10
	// leastNumber is the smallest value of a parameter that need not be a whole number.
	leastNumber = 0.1
	// clusterStart is the assumed time to start a cluster, in seconds, until a start has been
	// measured.
	clusterStart = 3
)

// NewParameter returns a parameter with the scenario's own value and with the bounds that read
// allows.
func NewParameter(of *application.Parameter, own float64, read func(value string) (*scenario.Scenario, error)) *Parameter {
	p := &Parameter{Key: of.Key, Integer: of.Unit == application.Integer, read: read}
	least := of.Least
	if !p.Integer {
		least = math.Max(least, leastNumber)
	}
	allowed := math.Max(own, least)
	p.Least, p.Most = p.bound(allowed, least), p.bound(allowed, of.Most)
	p.From = math.Min(math.Max(own, p.Least), p.Most)
	return p
}

// bound returns the allowed value nearest to a limit. The search starts from an allowed value,
// because the bounds of a parameter may depend on other parameters.
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

// trial returns the trial with a value.
func (p *Parameter) trial(value float64) (*scenario.Trial, error) {
	s, err := p.read(p.Text(value))
	if err != nil {
		return nil, err
	}
	return &s.Trials[0], nil
}

// Text returns a value as scenario files write it.
func (p *Parameter) Text(value float64) string {
	if p.Integer {
		return strconv.FormatFloat(value, 'f', 0, 64)
	}
	return nameRate(value)
}

// offered returns the number of calls that become due per second at a value, or at the nearest
// bound.
func (p *Parameter) offered(value float64) float64 {
	t, err := p.trial(math.Min(math.Max(value, p.Least), p.Most))
	if err != nil {
		return 0
	}
	return t.Load.Rate.PerSecond
}

// options returns the planner's options for a search of this parameter.
func (p *Parameter) options(o capacity.Options, fresh bool) capacity.Options {
	o.From, o.Least, o.Most, o.Overhead = p.From, p.Least, p.Most, clusterStart
	o.Parameter = &capacity.Parameter{Integer: p.Integer, Offered: p.offered, Window: leastWindow, Fresh: fresh}
	return o
}

// name returns the name of the trial for a plan.
func (p *Parameter) name(plan *capacity.Plan) string {
	return fmt.Sprintf("%s-%s-%s", plan.Purpose, p.Key, p.Text(plan.Rate))
}

// floor returns the value for an end of an interval: the largest whole number that is not above it.
func (p *Parameter) floor(end float64) float64 {
	if p.Integer {
		return math.Floor(end)
	}
	return end
}
