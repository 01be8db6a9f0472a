package size

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/store"
)

// usedPoint is what the members used in a trial of a curve; NaN is not known.
type usedPoint struct {
	rate               float64 // done a second
	cpu, processors    float64 // of the machine whose members used the largest share: in use, and there are
	syncing            float64 // the share of time of the busiest member's log
	network            float64 // bytes a second of the busiest member
	memoryUsed, memory float64 // of the machine whose members have the largest share
}

// usedPoints are those of the trials that kept the objective, the lowest rate first.
func usedPoints(run *record.Run, f *CapacityFinding) (all []usedPoint) {
	for _, p := range f.Curve {
		if p.Holds && p.Trial.PerSecond > 0 && p.Trial.Opened != nil {
			all = append(all, usedBy(run, p.Trial))
		}
	}
	slices.SortStableFunc(all, func(a, b usedPoint) int { return cmp.Compare(a.rate, b.rate) })
	return all
}

// usedBy reads it from a trial's files.
func usedBy(run *record.Run, t *record.Trial) usedPoint {
	nan := math.NaN()
	p := usedPoint{rate: t.PerSecond, cpu: nan, syncing: nan, network: nan, memoryUsed: nan}
	in := analyze.WindowOf(t)
	seconds := in.To.Sub(in.From).Seconds()
	byMember := map[string][]*record.MachineRow{}
	var names []string
	for i := range t.Machines {
		if r := &t.Machines[i]; r.Member() {
			if byMember[r.Name] == nil {
				names = append(names, r.Name)
			}
			byMember[r.Name] = append(byMember[r.Name], r)
		}
	}
	cpu, rss := map[string]float64{}, map[string]float64{} // by machine
	for _, name := range names {
		rows := byMember[name]
		machine := cmp.Or(rows[0].Machine, record.MachineName)
		used := func(counter func(*record.MachineRow) float64) float64 {
			grown, _ := analyze.GrownIn(rows, in, counter)
			return grown / seconds
		}
		cpu[machine] += used((*record.MachineRow).CPU)
		most := 0.0
		for _, r := range rows {
			if !r.Time.Before(in.From.Add(-analyze.AtEdge)) && !r.Time.After(in.To.Add(analyze.AtEdge)) && r.RSS > most {
				most = r.RSS
			}
		}
		rss[machine] += most
		loaded := analyze.Span{From: in.From.Add(-t.Warmup), To: in.To} // a warm-up has the same rate
		p.network = larger(p.network, seldomRead(rows, loaded, func(r *record.MachineRow) float64 { return r.Received }))
		p.network = larger(p.network, seldomRead(rows, loaded, func(r *record.MachineRow) float64 { return r.Sent }))
	}
	p.machines(run.Of(t), t, cpu, rss)
	for _, m := range analyze.MembersMetrics(t) {
		if m.Seconds > 0 && m.Metrics[store.FsyncSeconds].Count > 0 {
			p.syncing = larger(p.syncing, math.Min(m.Metrics[store.FsyncSeconds].Sum/m.Seconds, 1))
		}
		if used, cores := m.Metrics[store.CPUSeconds].Value, m.Metrics[store.Processors].Value; len(names) == 0 && m.Seconds > 0 && cores > 0 {
			// Of a cluster that ran already only the members themselves tell.
			p.cpu, p.processors = larger(p.cpu, used/m.Seconds), math.Max(p.processors, cores)
		}
	}
	return p
}

// seldomRead is by how much a counter grew a second in a span, between the first and the
// last row that have it; NaN for fewer than two.
func seldomRead(rows []*record.MachineRow, in analyze.Span, counter func(*record.MachineRow) float64) float64 {
	var first, last *record.MachineRow
	for _, r := range rows {
		if math.IsNaN(counter(r)) || r.Time.Before(in.From.Add(-analyze.AtEdge)) || r.Time.After(in.To.Add(analyze.AtEdge)) {
			continue
		}
		if first == nil {
			first = r
		}
		last = r
	}
	if first == last || !last.Continues(first) || counter(last) < counter(first) {
		return math.NaN()
	}
	return (counter(last) - counter(first)) / last.Time.Sub(first.Time).Seconds()
}

// machines takes the machine of which most is used.
func (p *usedPoint) machines(run *record.Run, t *record.Trial, cpu, rss map[string]float64) {
	share, filled := -1.0, -1.0
	for name, used := range cpu {
		m := t.Machine
		if name != record.MachineName {
			m = machineOfRow(run, name)
		}
		if m == nil || m.CPUs == 0 {
			continue
		}
		if s := used / processorsHad(m); s > share {
			share, p.cpu, p.processors = s, used, processorsHad(m)
		}
		if s := rss[name] / float64(m.MemoryBytes); rss[name] > 0 && m.MemoryBytes > 0 && s > filled {
			filled, p.memoryUsed, p.memory = s, rss[name], float64(m.MemoryBytes)
		}
	}
}

// machineOfRow is another machine than the generator's, by the name of its rows.
func machineOfRow(run *record.Run, name string) *record.Machine {
	for i := range run.Hosts {
		if record.OtherMachine(run.Hosts[i].Name) == name {
			return machineNamed(run, run.Hosts[i].Machine)
		}
	}
	return nil
}

// larger is the larger one of what is known.
func larger(a, b float64) float64 {
	if math.IsNaN(a) || b > a { // neither is so of one that is not known
		return b
	}
	return a
}

// useLine is a use over the rate: between trials by a straight line, and beyond them by the
// line through all as far as the trials support one.
type useLine struct {
	rates, uses []float64
	base, slope float64 // of the straight line through all
	straight    bool    // it is one, by trials that are far enough apart
}

// What a straight line wants: so many different rates, the highest so many times the
// lowest, and no trial further from it than a part of the highest use.
const (
	leastRates = 3
	leastApart = 2
	mostOff    = 0.1
	// mostBeyond is how far beyond the highest rate such a line is believed, as a ratio.
	mostBeyond = 2
	// sameUse is how far beyond the trials a use is about that of the nearest, as a ratio.
	sameUse = 1.1
)

// lineOf is that of the points of which it is known; nil without any.
func lineOf(points []usedPoint, of func(*usedPoint) float64) *useLine {
	l := &useLine{}
	for i := 0; i < len(points); {
		sum, n, rate := 0.0, 0.0, points[i].rate
		for ; i < len(points) && points[i].rate == rate; i++ {
			if use := of(&points[i]); !math.IsNaN(use) && !math.IsInf(use, 0) {
				sum, n = sum+use, n+1
			}
		}
		if n > 0 {
			l.rates, l.uses = append(l.rates, rate), append(l.uses, sum/n)
		}
	}
	n := len(l.rates)
	if n == 0 {
		return nil
	}
	if n < leastRates || l.rates[n-1] < leastApart*l.rates[0] {
		return l
	}
	l.base, l.slope = stat.LinearRegression(l.rates, l.uses, nil, false)
	l.straight = l.base >= -mostOff*slices.Max(l.uses) && l.slope >= 0
	l.base = math.Max(l.base, 0) // nothing uses less than nothing
	for i, rate := range l.rates {
		l.straight = l.straight && math.Abs(l.base+l.slope*rate-l.uses[i]) <= mostOff*slices.Max(l.uses)
	}
	return l
}

// at is the use at a rate; false where the trials do not tell it.
func (l *useLine) at(rate float64) (use float64, known bool) {
	last := len(l.rates) - 1
	switch {
	case rate > l.rates[last] && rate <= sameUse*l.rates[last]:
		return l.uses[last], true
	case rate < l.rates[0] && sameUse*rate >= l.rates[0]:
		return l.uses[0], true
	case rate > l.rates[last] || rate < l.rates[0]:
		return l.base + l.slope*rate, l.straight && rate <= mostBeyond*l.rates[last]
	case rate == l.rates[0]:
		return l.uses[0], true
	}
	i, _ := slices.BinarySearch(l.rates, rate)
	share := (rate - l.rates[i-1]) / (l.rates[i] - l.rates[i-1])
	return l.uses[i-1] + share*(l.uses[i]-l.uses[i-1]), true
}

// reaches is the rate at which the use comes to a limit; 0 where it does not as far as the
// trials tell, or the limit is not known.
func (l *useLine) reaches(limit float64) float64 {
	if limit <= 0 {
		return 0
	}
	for i, use := range l.uses {
		if use >= limit {
			return l.rates[i]
		}
	}
	if rate := (limit - l.base) / l.slope; l.straight && l.slope > 0 && rate <= mostBeyond*l.rates[len(l.rates)-1] {
		return math.Max(rate, l.rates[len(l.rates)-1])
	}
	return 0
}

// FewestBeyond is how many operations must lie beyond a percentile before it is known.
const FewestBeyond = measure.MinBeyond

// ShareOf returns the load's rate as a share of a capacity, in operations a second.
func (s *Sized) ShareOf(capacity float64) float64 { return s.Load.Rate / capacity }

// IsKnown reports whether the trials of a search support a use: one that they do not
// support is not a number.
func IsKnown(use float64) bool { return !math.IsNaN(use) }
