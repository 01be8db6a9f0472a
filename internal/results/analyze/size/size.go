// Package size reports how much load a cluster can carry: the capacity that a search found, the
// steps of a ladder of trials, and how much of each resource a different load would use.
package size

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/analyze/limits"
	"github.com/quorumbench/quorumbench/internal/results/analyze/samples"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Load is a load whose resource use must be estimated.
type Load struct {
	scenario.Load
	Rate    float64       // operations per second
	History time.Duration // how long the store keeps replaced values
	Network float64       // network bandwidth of a member in bytes per second; 0 if unknown
}

// Sized is the estimate of how much of a cluster's resources a load uses. It is derived from the
// recorded trials of a capacity search (the curve).
type Sized struct {
	Load  Load
	Curve *CapacityFinding
	Run   *record.Run // the run that contains the curve
	// Uses holds the load's use of each resource. The first entry is the objective.
	Uses []Use
	// FirstExhausted is the index in Uses of the resource that is used up first if the load grows
	// without changing its mix. NearestToLimit is the index of the resource that is most used at
	// the capacity. Each is -1 if unknown.
	FirstExhausted, NearestToLimit int
	Advice                         []store.Advice
	Notes                          []string // sentences
}

// Use is the load's use of one resource.
type Use struct {
	Resource  string
	Unit      measure.Unit
	PerSecond bool // set if the values are amounts per second
	// Used is the use at the load's rate, or NaN if the trials are not sufficient to estimate it.
	Used float64
	// AtCapacity is the use at the lower bound of the capacity.
	AtCapacity float64
	Limit      float64 // 0 if unknown
	// ExhaustedAt is the rate at which the resource is used up, or 0 if the trials are not
	// sufficient to estimate it.
	ExhaustedAt float64
	Method      string // how the use was determined; a sentence without the full stop
	Source      string
}

// Share returns the used share of the limit. It returns false if the limit or the use is unknown.
func (u *Use) Share() (float64, bool) { return u.Used / u.Limit, u.Limit > 0 && !math.IsNaN(u.Used) }

// ShareAtCapacity returns the share of the limit that is used at the capacity. It returns false if
// the limit or the use is unknown.
func (u *Use) ShareAtCapacity() (float64, bool) {
	return u.AtCapacity / u.Limit, u.Limit > 0 && !math.IsNaN(u.AtCapacity)
}

// The values of Use.Resource.
const (
	UseObjective = "objective"
	UseCPU       = "CPU"
	UseDisk      = "disk"
	UseNetwork   = "network"
	UseMemory    = "memory"
)

// SizesOf estimates how much of a cluster's resources a load uses, based on the capacity searches
// in runs. The caller must have read the runs' events (figures.ReadTrialFiles). There is one result
// for each combination of store, version and number of members. The function `ask` returns the
// sizer for the store with the given name, or nil if this store has no sizer. The text of the error
// is one sentence.
func SizesOf(runs []*record.Run, load Load, ask func(name string) store.Sizer) ([]*Sized, error) {
	type candidate struct {
		run *record.Run
		f   *CapacityFinding
	}
	var order []string
	groups := map[string][]candidate{}
	mix := mixText(&load.Load)
	searched, other := 0, ""
	for _, run := range runs {
		found := CapacitiesOf(run)
		if found == nil {
			continue
		}
		for _, f := range found.All {
			if !f.Known() || f.LowerPerSecond <= 0 {
				continue
			}
			if searched++; mixText(&f.First.Load) != mix {
				other = mixText(&f.First.Load)
				continue
			}
			key := fmt.Sprintf("%s\x00%d", analyze.Store(f.First), f.First.Members)
			if groups[key] == nil {
				order = append(order, key)
			}
			groups[key] = append(groups[key], candidate{run, f})
		}
	}
	switch {
	case searched == 0:
		return nil, fmt.Errorf("the runs have no capacity; record one with quorumbench capacity")
	case len(order) == 0:
		return nil, fmt.Errorf("the load's operations are %s, but the recorded capacities are for %s; record a capacity for this load with quorumbench capacity", mix, other)
	}
	var all []*Sized
	for _, key := range order {
		of := groups[key]
		size := func(c candidate) int { return c.f.First.ValueSize }
		slices.SortStableFunc(of, func(a, b candidate) int { return cmp.Compare(size(a), size(b)) })
		i := slices.IndexFunc(of, func(c candidate) bool { return size(c) >= load.ValueSize })
		if i < 0 {
			largest := size(of[len(of)-1])
			return nil, fmt.Errorf("the load's values have a size of %s, but the largest recorded values of %s have a size of %s; record a capacity with quorumbench capacity --over value-size=%d",
				text.FormatSize(load.ValueSize), analyze.Store(of[0].f.First), text.FormatSize(largest), load.ValueSize)
		}
		s, err := sizeBy(of[i].run, of[i].f, load, ask)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

func mixText(l *scenario.Load) string {
	for _, p := range scenario.ParametersOf(l) {
		if p.Key == "mix" {
			return p.Text(l)
		}
	}
	return ""
}

// sizeBy estimates the resource use from one curve.
func sizeBy(run *record.Run, f *CapacityFinding, load Load, ask func(string) store.Sizer) (*Sized, error) {
	s := &Sized{Load: load, Curve: f, Run: run, FirstExhausted: -1, NearestToLimit: -1}
	first := f.First
	if first.ValueSize > load.ValueSize {
		s.note("the recorded values have a size of %s, but the load's values only %s: the estimate is pessimistic", text.FormatSize(first.ValueSize), text.FormatSize(load.ValueSize))
	}
	if first.KeySpace != load.KeySpace {
		s.note("the recorded key space has %d keys, but the load's key space has %d: memory use and database size are rough estimates", first.KeySpace, load.KeySpace)
	}
	objective := Use{Resource: UseObjective, Unit: measure.Rate, Used: load.Rate, AtCapacity: f.LowerPerSecond, Limit: f.LowerPerSecond, ExhaustedAt: f.LowerPerSecond,
		Method: "the load's rate as a share of the lower bound of the capacity for " + f.Objective}
	if f.UpperPerSecond == nil {
		objective.ExhaustedAt = 0 // the objective may also be met at higher rates
		s.note("no tested rate missed the objective: the cluster may carry more than %.0f operations per second; search at higher rates", f.LowerPerSecond)
		if load.Rate > f.LowerPerSecond {
			objective.Limit, objective.AtCapacity = 0, math.NaN()
		}
	}
	if len(f.Periods) > 0 {
		s.note("the capacity changed during the search, and the interval covers all of its values; search again to find the current capacity")
	}
	s.Uses = append(s.Uses, objective)
	points := usedPoints(run, f)
	if len(points) == 0 {
		s.note("no trial that met the objective has figures about the members, so their resource use is unknown")
	}
	if n := len(points); n > 0 {
		s.noteBeyond("the load's rate", load.Rate, points[0].rate, points[n-1].rate)
		s.noteBeyond("the lower bound of the capacity", f.LowerPerSecond, points[0].rate, points[n-1].rate)
	}
	if first.SharesMachine != nil && *first.SharesMachine {
		s.note("the load generator shared the members' CPUs: on separate machines, the members have more CPU time")
	}
	s.addMeasured(points)
	if err := s.addStoreAdvice(ask(first.Store)); err != nil {
		return nil, err
	}
	s.findExhausted()
	return s, nil
}

func (s *Sized) note(format string, args ...any) {
	s.Notes = append(s.Notes, fmt.Sprintf(format, args...))
}

// noteBeyond adds a note if a rate is outside the range of the rates in the curve's trials.
func (s *Sized) noteBeyond(what string, rate, lowest, highest float64) {
	where, end := "above the highest", highest
	switch {
	case rate > sameRateRatio*highest:
	case sameRateRatio*rate < lowest:
		where, end = "below the lowest", lowest
	default:
		return
	}
	s.note("%s is %s rate that met the objective in the search, %.0f per second: the resource use at %[1]s is extrapolated along a straight line through the trials, or unknown if the trials are not on a straight line", what, where, end)
}

// addMeasured adds the resource use that was measured in the curve's trials.
func (s *Sized) addMeasured(points []usedPoint) {
	add := func(what string, unit measure.Unit, limit float64, value func(*usedPoint) float64, text string) {
		line := lineOf(points, value)
		if line == nil {
			if len(points) > 0 {
				s.note("the %s use of the members is unknown: too few samples in the trials that met the objective; use longer trials", what)
			}
			return
		}
		known := func(rate float64) float64 {
			use, ok := line.use(rate)
			if !ok {
				return math.NaN()
			}
			return use
		}
		u := Use{Resource: what, Unit: unit, Used: known(s.Load.Rate), AtCapacity: known(s.Curve.LowerPerSecond), Limit: limit, Method: text, PerSecond: what == UseNetwork}
		if what == UseCPU || what == UseNetwork {
			u.ExhaustedAt = line.reaches(limit)
		}
		s.Uses = append(s.Uses, u)
	}
	processors, memory := 0.0, 0.0
	if len(points) > 0 {
		processors, memory = points[0].processors, points[0].memory
	}
	add(UseCPU, measure.Ratio, processors, func(p *usedPoint) float64 { return p.cpu },
		"CPUs used by all members on the busiest machine")
	add(UseDisk, measure.Share, 1, func(p *usedPoint) float64 { return p.syncing },
		"share of time in which the busiest member synced its log; one sync serves all waiting writes, so even a fully busy disk may allow more writes")
	add(UseNetwork, measure.Bytes, s.Load.Network, func(p *usedPoint) float64 { return p.network },
		"bytes per second that the busiest member sent or received, whichever is larger")
	add(UseMemory, measure.Bytes, memory, func(p *usedPoint) float64 { return p.memoryUsed },
		"resident memory of the members on the machine where their share of the memory is largest, with the key space of the search")
}

// addStoreAdvice adds the figures and recommendations from the store's documentation.
func (s *Sized) addStoreAdvice(sizer store.Sizer) error {
	if sizer == nil {
		s.note("this store's documentation has no recommendations")
		return nil
	}
	l := s.sizedLoad()
	fills, advice, err := sizer.Size(l)
	if err != nil {
		return err
	}
	at := func(rate float64) []store.ResourceUsage {
		other := l
		other.Requests, other.Writes = rate, l.Writes*rate/math.Max(l.Requests, 1e-9)
		more, _, err := sizer.Size(other)
		if err != nil || len(more) != len(fills) {
			return fills
		}
		return more
	}
	none, capacity := at(0), at(s.Curve.LowerPerSecond)
	for i, f := range fills {
		u := Use{Resource: f.Resource, Unit: measure.Bytes, Used: f.Used, AtCapacity: capacity[i].Used, Limit: f.Limit, Method: f.Explanation, Source: f.Source}
		if each := (f.Used - none[i].Used) / s.Load.Rate; each > 0 {
			u.ExhaustedAt = math.Max((f.Limit-none[i].Used)/each, 0)
		}
		s.Uses = append(s.Uses, u)
	}
	s.Advice = advice
	return nil
}

// sizedLoad describes the load and its cluster in the form that a store's sizer expects.
func (s *Sized) sizedLoad() store.SizingInput {
	first := s.Curve.First
	l := store.SizingInput{
		Members: first.Members, Requests: s.Load.Rate, Clients: max(s.Load.Connections, 1), Keys: s.Load.KeySpace,
		KeySize: len(s.Load.Prefix) + s.Load.KeySize, ValueSize: s.Load.ValueSize, History: s.Load.History,
	}
	weight := 0.0
	for _, o := range s.Load.Mix {
		if weight += o.Weight; o.Kind.Writes() {
			l.Writes += o.Weight
		}
	}
	l.Writes *= l.Requests / math.Max(weight, 1e-9)
	run := s.Run.PartOf(first)
	for i := range run.Clusters {
		c := &run.Clusters[i]
		if c.ID != first.Cluster || !c.Started {
			continue
		}
		if text, err := json.Marshal(c.Settings); err == nil {
			l.Settings = text
		}
		for _, m := range c.Members {
			if machine := machineNamed(run, m.Machine); machine != nil {
				l.Processors = lesser(l.Processors, processorCount(machine))
				l.Memory = lesser(l.Memory, float64(machine.MemoryBytes))
			}
		}
	}
	last := map[string]time.Duration{}
	for _, p := range s.Curve.Curve {
		if !p.Holds {
			continue
		}
		// A member measures this metric rarely. Therefore, use the mean since the member's start
		// and not only the measurements in the window.
		for i := range p.Trial.Stores {
			if mean, ok := p.Trial.Stores[i].Metrics[store.PeerRoundTripSeconds].Mean(); ok {
				last[p.Trial.Stores[i].Endpoint] = measure.ToDuration(mean)
			}
		}
		for _, m := range samples.AllMemberMetrics(p.Trial) {
			if p99, ok := limits.TimerPercentile(m.Metrics[store.FsyncSeconds], 99); ok {
				l.FsyncP99 = max(l.FsyncP99, measure.ToDuration(p99))
			}
		}
	}
	for _, mean := range last {
		l.RoundTrip = max(l.RoundTrip, mean)
	}
	return l
}

// findExhausted determines the resource that is used up first, and the resource that is nearest to
// its limit at the capacity.
func (s *Sized) findExhausted() {
	most := 0.0
	for i := range s.Uses {
		u := &s.Uses[i]
		if u.ExhaustedAt > 0 && (s.FirstExhausted < 0 || u.ExhaustedAt < s.Uses[s.FirstExhausted].ExhaustedAt) {
			s.FirstExhausted = i
		}
		share, ok := u.ShareAtCapacity()
		if i > 0 && ok && share > most {
			s.NearestToLimit, most = i, share
		}
	}
	for i := range s.Uses { // a resource that is already used up comes first
		if share, ok := s.Uses[i].Share(); ok && share > 1 && s.Uses[i].ExhaustedAt == 0 {
			s.FirstExhausted = i
		}
	}
}

// lesser returns the smaller of two values; 0 means that a value is unknown.
func lesser(a, b float64) float64 {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}

// ShareOf returns the load's rate divided by a capacity in operations per second.
func (s *Sized) ShareOf(capacity float64) float64 { return s.Load.Rate / capacity }

// IsKnown reports whether the trials of a search are sufficient to estimate a use. If not, the use
// is NaN.
func IsKnown(use float64) bool { return !math.IsNaN(use) }
