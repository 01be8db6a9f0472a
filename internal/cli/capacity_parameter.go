package cli

import (
	"fmt"
	"math"
	"strconv"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/load/app/registry"
	"github.com/quorumbench/quorumbench/internal/results/analyze/capacity"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/scenario/application"
)

// searchedParameter is a parameter of an application whose largest value is searched.
type searchedParameter struct {
	key               string
	whole             bool
	from, least, most float64
	// read is the scenario with a value, of which it says why it is refused.
	read func(value string) (*scenario.Scenario, error)
}

// leastWindow is how long a trial of an application is at least, in seconds: in so long
// each node of Kubernetes, and each Patroni, renews its lease once.
const leastWindow = 10

// leastNumber is the smallest value of a parameter that is no whole number.
const leastNumber = 0.1

// parameter is the one that is searched, with the bounds that the scenario allows it. The
// trial has the scenario's own value.
func (a *commandLine) parameter(f *capacityFlags, t *scenario.Trial, read func(value string) (*scenario.Scenario, error)) (*searchedParameter, error) {
	d := application.Find(registry.All(), t.Load.Application.Name).Definition() // one refuses a trial of none
	of := d.Scaling(f.over.key)
	own := t.Load.Application.Values()[f.over.key]
	p := &searchedParameter{key: f.over.key, whole: of.Unit == application.Whole, from: own, read: read}
	least, most := of.Least, of.Most
	if !p.whole {
		least = math.Max(least, leastNumber)
	}
	own = math.Max(own, least)
	p.least, p.most = p.bound(own, least), p.bound(own, most)
	if f.given("max-value") {
		if !(f.mostValue >= p.least && f.mostValue <= p.most) {
			return nil, command.Usage("--max-value must be from %s to %s, which the scenario allows %s, not %s", p.text(p.least), p.text(p.most), p.key, application.Format(f.mostValue))
		}
		p.most = f.mostValue
	}
	if p.from = math.Min(math.Max(p.from, p.least), p.most); f.given("from") {
		if p.from = f.from; !(p.from >= p.least && p.from <= p.most) {
			return nil, command.Usage("--from must be from %s to %s, which the scenario allows %s, not %s", p.text(p.least), p.text(p.most), p.key, application.Format(p.from))
		}
	}
	if p.whole && (p.from != math.Trunc(p.from) || p.most != math.Trunc(p.most)) {
		return nil, command.Usage("--from and --max-value must be whole numbers, because %s is", p.key)
	}
	return p, nil
}

// bound is the value that is nearest to a limit, on the way there from one that is
// allowed, and allowed as well: parameters bound each other.
func (p *searchedParameter) bound(allowed, limit float64) float64 {
	if _, err := p.trial(limit); err == nil {
		return limit
	}
	for range 40 {
		middle := (allowed + limit) / 2
		if p.whole {
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

// trial is the load of a value.
func (p *searchedParameter) trial(value float64) (*scenario.Trial, error) {
	s, err := p.read(p.text(value))
	if err != nil {
		return nil, err
	}
	return &s.Trials[0], nil
}

// text is a value as scenario files have it.
func (p *searchedParameter) text(value float64) string {
	if p.whole {
		return strconv.FormatFloat(value, 'f', 0, 64)
	}
	return nameRate(value)
}

// offered is how many calls become due a second at a value, or at the bound next to it.
func (p *searchedParameter) offered(value float64) float64 {
	t, err := p.trial(math.Min(math.Max(value, p.least), p.most))
	if err != nil {
		return 0
	}
	return t.Load.Rate.PerSecond
}

// options are the search's.
func (p *searchedParameter) options(o capacity.Options, fresh bool) capacity.Options {
	o.From, o.Least, o.Most, o.Overhead = p.from, p.least, p.most, clusterStart
	o.Parameter = &capacity.Parameter{Whole: p.whole, Offered: p.offered, Window: leastWindow, Fresh: fresh}
	return o
}

// clusterStart is about how long a cluster takes to start, in seconds, before any did.
const clusterStart = 3

// name is what a trial of a value is called.
func (p *searchedParameter) name(plan *capacity.Plan) string {
	return fmt.Sprintf("%s-%s-%s", plan.Purpose, p.key, p.text(plan.Rate))
}

// floor is the value that an end of an interval stands for: of whole numbers, the largest
// that is not above it.
func (p *searchedParameter) floor(end float64) float64 {
	if p.whole {
		return math.Floor(end)
	}
	return end
}
