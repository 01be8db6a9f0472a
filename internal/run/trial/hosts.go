package trial

import (
	"time"

	"github.com/quorumbench/quorumbench/internal/results/record"
)

// byHost returns the observations of each of the scenario's hosts in a window.
func (s *sampler) byHost(from, to time.Time) (all []record.ByHost) {
	for i := range s.sources {
		one := &s.sources[i]
		h := record.ByHost{
			Name: one.Name, Lost: one.lost, Machine: one.on.machine, CPUs: one.on.use.cpus, Members: one.Members, Load: one.Load,
			Clock: clockBetween(one.clocks, from, to), SamplingCPUSeconds: costBetween(one.on.cost, from, to),
		}
		h.BusyShare, h.StolenShare, h.ForeignShare = one.on.use.shares(from, to)
		if seen := s.throttled[one.row]; len(seen) > 0 {
			h.ThrottledSeconds = new(max(cpuBetween(seen, from, to), 0))
		}
		all = append(all, h)
	}
	return all
}
