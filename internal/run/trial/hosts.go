package trial

import (
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
)

// byHost returns the observations of each of the scenario's hosts in a window.
func (s *sampler) byHost(from, to time.Time) (all []measure.Host) {
	for i := range s.sources {
		source := &s.sources[i]
		h := measure.Host{
			Name: source.Name, Lost: source.lost, Machine: source.entry.machine, CPUs: source.entry.use.cpus, HasMembers: source.Members, GeneratesLoad: source.Load,
			Clock: clockBetween(source.clocks, from, to), SamplingCPUSeconds: costBetween(source.entry.cost, from, to),
		}
		h.BusyShare, h.StolenShare, h.ForeignShare = source.entry.use.shares(from, to)
		if seen := s.throttled[source.row]; len(seen) > 0 {
			h.ThrottledSeconds = new(max(cpuBetween(seen, from, to), 0))
		}
		all = append(all, h)
	}
	return all
}
