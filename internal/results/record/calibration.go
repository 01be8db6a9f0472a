package record

import (
	"math"
	"slices"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
)

// CalibrationSchema is the schema that this package writes.
const CalibrationSchema = "quorumbench/calibration/1"

// Calibration holds the limits of what can be measured on a machine. The load generator's limits
// are measured with a null server on the same machine. No store can appear to be faster than these
// limits.
type Calibration struct {
	Schema   string          `json:"schema"`
	Measured time.Time       `json:"measured"`
	Tool     Tool            `json:"tool"`
	Machine  measure.Machine `json:"machine"`
	// Outdated describes how the machine or the program has changed since the calibration. It is
	// set only in the record of a run, and only if there was such a change. The fields below are
	// then empty.
	Outdated string `json:"outdated,omitempty"`

	Rounds int    `json:"rounds"`
	Store  string `json:"store"` // the protocol of the null server

	Generator  GeneratorLimits `json:"generator"`
	WakeDelays WakeDelay       `json:"wakes"`
	// Disk is the folder in which fdatasync was measured; null if no folder was given.
	Disk *DataDir `json:"disk"`
	// RoundTrips holds the times to open a TCP connection over loopback, and to each endpoint that
	// the user named.
	RoundTrips []RoundTrip `json:"round_trips"`
}

// GeneratorLimits holds figures of loads against the null server. A figure is null if any round has
// too few samples for it.
type GeneratorLimits struct {
	// ServiceP50NS and ServiceP99NS are from a closed loop with one client. They are the shortest
	// service time that can be measured.
	ServiceP50NS *RoundsSummary `json:"service_p50_ns"`
	ServiceP99NS *RoundsSummary `json:"service_p99_ns"`
	// The next four fields are the same figures in two cases. In the first case, the generator and
	// the null server share one CPU, so neither waits until another CPU wakes up. In the second
	// case, they run on separate CPUs. ServiceP50NS and ServiceP99NS are a mixture of these cases.
	// The four fields are null if the system cannot pin threads or has only one CPU.
	OneProcessorP50NS  *RoundsSummary `json:"one_processor_p50_ns"`
	OneProcessorP99NS  *RoundsSummary `json:"one_processor_p99_ns"`
	TwoProcessorsP50NS *RoundsSummary `json:"two_processors_p50_ns"`
	TwoProcessorsP99NS *RoundsSummary `json:"two_processors_p99_ns"`
	// ClosedPerSecond and CPUPerOpNS are from a closed loop with many clients. They are the
	// operations per second, and the generator's CPU time per operation.
	ClosedPerSecond *RoundsSummary `json:"closed_per_second"`
	CPUPerOpNS      *RoundsSummary `json:"cpu_ns_per_operation"`
	// The next four figures are response times and latenesses in an open loop at OpenRate
	// operations per second. This rate is far below the generator's limit.
	OpenRate      float64        `json:"open_rate"`
	ResponseP50NS *RoundsSummary `json:"response_p50_ns"`
	ResponseP99NS *RoundsSummary `json:"response_p99_ns"`
	LateP50NS     *RoundsSummary `json:"late_p50_ns"`
	LateP99NS     *RoundsSummary `json:"late_p99_ns"`
	// OpenPerSecond is the throughput of an open loop with a rate above the generator's limit.
	OpenPerSecond *RoundsSummary `json:"open_per_second"`
}

// WakeDelay is the delay with which the generator's event loop wakes up when a timer expires and
// nothing else wakes it.
type WakeDelay struct {
	P50NS *RoundsSummary `json:"p50_ns"`
	P99NS *RoundsSummary `json:"p99_ns"`
	Count int            `json:"count"` // over all rounds
}

// RoundTrip is the time that it took to open TCP connections to an address.
type RoundTrip struct {
	Address  string         `json:"to"` // loopback, or HOST:PORT
	LowestNS float64        `json:"lowest_ns"`
	P50NS    *RoundsSummary `json:"p50_ns"`
	Count    int            `json:"count"` // over all rounds
	// Failure is the reason why no connection could be opened, or empty if there are times.
	Failure string `json:"failure,omitempty"`
}

// RoundsSummary summarizes a figure that was measured in n rounds. It consists of the median, the
// lowest and the highest value. If the rounds are independent, the true median is within [Lowest,
// Highest] with probability 1 - 2^(1-n).
type RoundsSummary struct {
	Median  float64 `json:"median"`
	Lowest  float64 `json:"lowest"`
	Highest float64 `json:"highest"`
}

// SummarizeRounds summarizes the values from several rounds. It returns nil if there are no values,
// or if a value is negative, infinite or NaN. With an even number of rounds, the median is the mean
// of the middle two values.
func SummarizeRounds(rounds ...float64) *RoundsSummary {
	n := len(rounds)
	if n == 0 {
		return nil
	}
	sorted := slices.Sorted(slices.Values(rounds))
	if !(sorted[0] >= 0) || math.IsInf(sorted[n-1], 1) { // NaN is sorted first
		return nil
	}
	low, high := sorted[(n-1)/2], sorted[n/2]
	return &RoundsSummary{Median: low + (high-low)/2, Lowest: sorted[0], Highest: sorted[n-1]}
}

// RangeOfRounds returns the lowest and the highest value that any of the figures had in any round.
// ok is false if no figure is known.
func RangeOfRounds(all ...*RoundsSummary) (lowest, highest float64, ok bool) {
	for _, s := range all {
		if s == nil {
			continue
		}
		if !ok {
			lowest, highest, ok = s.Lowest, s.Highest, true
		}
		lowest, highest = min(lowest, s.Lowest), max(highest, s.Highest)
	}
	return lowest, highest, ok
}

// isConsistent reports whether the values are possible and consistent with each other.
func (s *RoundsSummary) isConsistent() bool {
	return s == nil || s.Lowest >= 0 && s.Lowest <= s.Median && s.Median <= s.Highest && !math.IsInf(s.Highest, 1)
}

// allSummaries returns all figures of the calibration; unknown ones are nil.
func (c *Calibration) allSummaries() []*RoundsSummary {
	g := &c.Generator
	all := []*RoundsSummary{g.ServiceP50NS, g.ServiceP99NS, g.OneProcessorP50NS, g.OneProcessorP99NS, g.TwoProcessorsP50NS, g.TwoProcessorsP99NS, g.ClosedPerSecond, g.CPUPerOpNS, g.ResponseP50NS, g.ResponseP99NS,
		g.LateP50NS, g.LateP99NS, g.OpenPerSecond, c.WakeDelays.P50NS, c.WakeDelays.P99NS}
	for i := range c.RoundTrips {
		all = append(all, c.RoundTrips[i].P50NS)
	}
	return all
}

// forMachine returns the calibration if it was measured on machine m, and nil otherwise.
func (c *Calibration) forMachine(m *measure.Machine) *Calibration {
	if c == nil || m == nil || m.Difference(&c.Machine) != "" || c.Outdated == "" && !c.isConsistent() {
		return nil
	}
	return c
}
