package size

import (
	"cmp"
	"math"
	"slices"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/analyze/samples"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/store"
)

// usedPoint holds the members' resource use in one trial of a curve. Unknown values are NaN.
type usedPoint struct {
	rate float64 // completed operations per second
	// CPUs in use, and CPUs available, on the machine on which members used the largest share of
	// the CPUs
	cpu, processors float64
	syncing         float64 // share of the time in which the busiest member synced its log
	network         float64 // bytes per second that the busiest member sent or received
	// bytes used and available, on the machine on which members used the largest share of the
	// memory
	memoryUsed, memory float64
}

// usedPoints returns a point for each trial that met the objective, in ascending order of rate.
func usedPoints(run *record.Run, f *CapacityFinding) (all []usedPoint) {
	for _, p := range f.Curve {
		if p.Holds && p.Trial.PerSecond > 0 && p.Trial.Opened != nil {
			all = append(all, usedBy(run, p.Trial))
		}
	}
	slices.SortStableFunc(all, func(a, b usedPoint) int { return cmp.Compare(a.rate, b.rate) })
	return all
}

// usedBy computes the resource use from a trial's files.
func usedBy(run *record.Run, t *record.Trial) usedPoint {
	nan := math.NaN()
	p := usedPoint{rate: t.PerSecond, cpu: nan, syncing: nan, network: nan, memoryUsed: nan}
	in := samples.WindowOf(t)
	seconds := in.To.Sub(in.From).Seconds()
	byMember := map[string][]*record.MachineRow{}
	var names []string
	for i := range t.Machines {
		if r := &t.Machines[i]; r.IsMember() {
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
			grown, _ := analyze.CounterIncrease(rows, in, counter)
			return grown / seconds
		}
		cpu[machine] += used((*record.MachineRow).CPU)
		most := 0.0
		for _, r := range rows {
			if !r.Time.Before(in.From.Add(-samples.MaxEdgeDistance)) && !r.Time.After(in.To.Add(samples.MaxEdgeDistance)) && r.RSS > most {
				most = r.RSS
			}
		}
		rss[machine] += most
		// include the warm-up, because its rate is the same
		loaded := samples.Span{From: in.From.Add(-t.Warmup), To: in.To}
		p.network = larger(p.network, rareCounterRate(rows, loaded, func(r *record.MachineRow) float64 { return r.Received }))
		p.network = larger(p.network, rareCounterRate(rows, loaded, func(r *record.MachineRow) float64 { return r.Sent }))
	}
	p.machines(run.PartOf(t), t, cpu, rss)
	for _, m := range samples.AllMemberMetrics(t) {
		if m.Seconds > 0 && m.Metrics[store.FsyncSeconds].Count > 0 {
			p.syncing = larger(p.syncing, math.Min(m.Metrics[store.FsyncSeconds].Sum/m.Seconds, 1))
		}
		if used, cores := m.Metrics[store.CPUSeconds].Value, m.Metrics[store.Processors].Value; len(names) == 0 && m.Seconds > 0 && cores > 0 {
			// If the cluster was already running, only the members' metrics are known.
			p.cpu, p.processors = larger(p.cpu, used/m.Seconds), math.Max(p.processors, cores)
		}
	}
	return p
}

// rareCounterRate returns the increase per second of a counter that is not read in every row. It
// uses the first and the last row in the span that contain the counter. It returns NaN if there are
// fewer than two such rows.
func rareCounterRate(rows []*record.MachineRow, span samples.Span, counter func(*record.MachineRow) float64) float64 {
	var first, last *record.MachineRow
	for _, r := range rows {
		if math.IsNaN(counter(r)) || r.Time.Before(span.From.Add(-samples.MaxEdgeDistance)) || r.Time.After(span.To.Add(samples.MaxEdgeDistance)) {
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

// machines sets the CPU and memory figures. Each is taken from the machine on which the members
// used the largest share.
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
		if s := used / processorCount(m); s > share {
			share, p.cpu, p.processors = s, used, processorCount(m)
		}
		if s := rss[name] / float64(m.MemoryBytes); rss[name] > 0 && m.MemoryBytes > 0 && s > filled {
			filled, p.memoryUsed, p.memory = s, rss[name], float64(m.MemoryBytes)
		}
	}
}

// machineOfRow returns the machine (other than the generator's) whose rows in machines.csv have the
// given name.
func machineOfRow(run *record.Run, name string) *measure.Machine {
	for i := range run.Hosts {
		if record.OtherMachine(run.Hosts[i].Name) == name {
			return machineNamed(run, run.Hosts[i].Machine)
		}
	}
	return nil
}

// larger returns the larger of two values, and ignores a value that is NaN.
func larger(a, b float64) float64 {
	if math.IsNaN(a) || b > a { // any comparison with NaN is false
		return b
	}
	return a
}

func machineNamed(run *record.Run, name string) *measure.Machine {
	for i := range run.Machines {
		if run.Machines[i].Name == name {
			return &run.Machines[i]
		}
	}
	return nil
}

func processorCount(m *measure.Machine) float64 {
	if m.CPULimit != nil {
		return math.Min(*m.CPULimit, float64(m.CPUs))
	}
	return float64(m.CPUs)
}
