package verdict

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
)

// added returns a generator's delay that makes the throughput, the median and the p99 wrong by the
// given fractions.
func added(throughput, p50, p99 float64) Added {
	a := Added{Known: true, CycleNS: 10e6, Undisturbed: times(10e6, 20e6), Sampled: times(10e6*(1+p50), 20e6*(1+p99))}
	a.MeanNS = a.CycleNS * throughput
	return a
}

// times returns a distribution. Its percentiles below 99 have the value p50. Its other percentiles
// have the value p99.
func times(p50, p99 float64) (s measure.Summary) {
	s.Count = 100_000
	known := func(ns float64) measure.Figure { return measure.Figure{NS: ns, Known: true} }
	s.Min, s.Max, s.Mean = known(p50), known(p99), known(p50)
	for i, p := range measure.Percentiles {
		if s.Percentiles[i] = known(p50); p >= 99 {
			s.Percentiles[i] = known(p99)
		}
	}
	return s
}

// good returns the figures of a closed loop that breaks no rule: 100 clients for 10 s, with
// response times of 10 ms on average.
func good() Figures {
	f := Figures{
		Measured: &measure.Totals{
			Seconds: 10, MeanInFlight: 100, LoopCPU: 4e9, RunDelay: 1e9, Watching: &measure.WatchTotals{},
			Window: measure.Window{Paused: 1e9, LongestPause: 12e6},
		},
		Load:       Load{Clients: 100, HasWrites: true, Preloaded: true, ValueSize: 256},
		Generator:  Generator{Loops: 2, Added: added(0.005, 0.005, 0.005)},
		Durability: &measure.Durability{FileSystem: "ext4", Synced: true},
	}
	setOperations(&f, 100_000, 0)
	return f
}

// goodOpen returns the figures of an open loop that breaks no rule. The generator sends each
// operation 0.1 ms late.
func goodOpen() Figures {
	f := good()
	f.OpenLoop, f.Clients, f.MaxInFlight = true, 0, 100_000
	f.Measured.Disturbance.OwnDelay = repeated(100_000, f.Measured.Due)
	return f
}

// repeated returns a histogram that contains the same time n times.
func repeated(ns int64, n uint64) *measure.Histogram {
	h := measure.NewHistogram()
	measure.RecordAll(h, ns, n)
	return h
}

// setOperations sets the number of operations in the window. The operations take 10 ms on average.
func setOperations(f *Figures, due, failed uint64) {
	m := f.Measured
	m.Due, m.Done = due, due-failed
	m.Outcomes = [kv.NumOutcomes]uint64{kv.OK: due - failed, kv.ConnectionLost: failed}
	setTimes(f, 10e6*float64(due), 20e6, 20e6)
}

// setTimes sets the times of the operations: the sum of all times, and the p99 and the longest
// time of the successes.
func setTimes(f *Figures, total, p99, longest float64) {
	m, response := f.Measured, measure.NewHistogram()
	n, failed := m.Succeeded(), f.failed()
	mean := total / float64(n+failed)
	f.Merged = &measure.Cell{Response: response, Service: repeated(10e6, n)}
	f.Merged.Failed[measure.ErrorIndex(kv.ConnectionLost)] = repeated(int64(mean), failed)
	if n == 0 {
		return
	}
	measure.Record(response, int64(longest))
	slow := n / 50
	measure.RecordAll(response, int64(p99), slow)
	if rest := n - 1 - slow; rest > 0 {
		measure.RecordAll(response, int64((mean*float64(n)-longest-p99*float64(slow))/float64(rest)), rest)
	}
}

// setHalves sets the throughput of both halves of the window. Each half is n seconds long. In each
// half, the throughput of the seconds alternates around the mean.
func setHalves(f *Figures, n int, first, second, deviation uint64) {
	f.Measured.Seconds = float64(2 * n)
	setTimes(f, float64(100*2*n)*1e9, 50e6, 50e6)
	for _, mean := range []uint64{first, second} {
		for i := range n {
			f.DoneEachSecond = append(f.DoneEachSecond, mean+deviation*uint64(2*(i%2))-deviation)
		}
	}
}

// exchange changes the outcome of n successes.
func exchange(f *Figures, outcome kv.Outcome, n uint64) {
	f.Measured.Outcomes[kv.OK] -= n
	f.Measured.Outcomes[outcome] += n
}

// hold sets how many operations of an open loop had to wait, and for how long.
func hold(f *Figures, n uint64, ns int64) { f.Measured.Disturbance.BlockedDelay = repeated(ns, n) }

// openLoop returns an open loop of n operations with some failures.
func openLoop(n, failed uint64) Figures {
	f := goodOpen()
	setOperations(&f, n, failed)
	return f
}
