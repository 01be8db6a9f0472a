package record

import (
	"math"
	"slices"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
)

// CalibrationSchema is the one that this package writes.
const CalibrationSchema = "quorumbench/calibration/1"

// Calibration is what a machine can tell apart. The load's figures are of a null server,
// which shares the machine with the generator: no store can be measured to be faster.
type Calibration struct {
	Schema   string          `json:"schema"`
	Measured time.Time       `json:"measured"`
	Tool     Tool            `json:"tool"`
	Machine  measure.Machine `json:"machine"`
	// Outdated says in a run's record why what had been measured is not shown: what of
	// the machine or the program is not as it was. All below is empty then.
	Outdated string `json:"outdated,omitempty"`

	Rounds int    `json:"rounds"`
	Store  string `json:"store"` // whose protocol the null server spoke

	Generator GeneratorLimits `json:"generator"`
	Wakes     WakeError       `json:"wakes"`
	// Disk is the folder in which fdatasync was timed; null without one.
	Disk *DataDir `json:"disk"`
	// RoundTrips are times of TCP connections: over loopback, and to each endpoint
	// that was given.
	RoundTrips []RoundTrip `json:"round_trips"`
}

// GeneratorLimits are the figures of loads against the null server. What the sample of
// a round did not support is null.
type GeneratorLimits struct {
	// Of one client in a closed loop: the shortest service time that can be measured.
	ServiceP50NS *OfRounds `json:"service_p50_ns"`
	ServiceP99NS *OfRounds `json:"service_p99_ns"`
	// The same where generator and null server share one processor, so that neither
	// waits for the other's to wake up, and where they have one each: the two modes of
	// the times above. null where the system does not bind threads, or has no second.
	OneProcessorP50NS  *OfRounds `json:"one_processor_p50_ns"`
	OneProcessorP99NS  *OfRounds `json:"one_processor_p99_ns"`
	TwoProcessorsP50NS *OfRounds `json:"two_processors_p50_ns"`
	TwoProcessorsP99NS *OfRounds `json:"two_processors_p99_ns"`
	// Of many clients in a closed loop: operations a second, and the generator's
	// processor time for each.
	ClosedPerSecond *OfRounds `json:"closed_per_second"`
	CPUPerOpNS      *OfRounds `json:"cpu_ns_per_operation"`
	// Of an open loop at OpenRate operations a second, which is far below what it can
	// do: response time, and how much later than due it sent.
	OpenRate      float64   `json:"open_rate"`
	ResponseP50NS *OfRounds `json:"response_p50_ns"`
	ResponseP99NS *OfRounds `json:"response_p99_ns"`
	LateP50NS     *OfRounds `json:"late_p50_ns"`
	LateP99NS     *OfRounds `json:"late_p99_ns"`
	// Of an open loop that more is due in than it can do: operations a second.
	OpenPerSecond *OfRounds `json:"open_per_second"`
}

// WakeError is how much later than asked for the generator's event loop is awake, when
// nothing but the clock wakes it.
type WakeError struct {
	P50NS *OfRounds `json:"p50_ns"`
	P99NS *OfRounds `json:"p99_ns"`
	Count int       `json:"count"` // of all rounds
}

// RoundTrip is how long TCP connections took to be accepted at an address.
type RoundTrip struct {
	To       string    `json:"to"` // loopback, or HOST:PORT
	LowestNS float64   `json:"lowest_ns"`
	P50NS    *OfRounds `json:"p50_ns"`
	Count    int       `json:"count"` // of all rounds
	// Failure is why there were none; empty where there were.
	Failure string `json:"failure,omitempty"`
}

// OfRounds is a figure of several rounds: their median, and the lowest and the highest.
// Where the rounds are independent, the truth, as the median of ever more rounds, lies
// between those with a chance of 1 - 2^(1-n).
type OfRounds struct {
	Median  float64 `json:"median"`
	Lowest  float64 `json:"lowest"`
	Highest float64 `json:"highest"`
}

// NewOfRounds is of the rounds' figures; nil without any, or with one that is no
// finite number of 0 or more. The median of an even number is the mean of the middle two.
func NewOfRounds(rounds ...float64) *OfRounds {
	n := len(rounds)
	if n == 0 {
		return nil
	}
	sorted := slices.Sorted(slices.Values(rounds))
	if !(sorted[0] >= 0) || math.IsInf(sorted[n-1], 1) { // NaN is sorted first
		return nil
	}
	low, high := sorted[(n-1)/2], sorted[n/2]
	return &OfRounds{Median: low + (high-low)/2, Lowest: sorted[0], Highest: sorted[n-1]}
}

// Reach is from the lowest round of some figures to the highest; ok is false where none is
// known.
func Reach(all ...*OfRounds) (lowest, highest float64, ok bool) {
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

// sound reports whether a spread can be one.
func (s *OfRounds) sound() bool {
	return s == nil || s.Lowest >= 0 && s.Lowest <= s.Median && s.Median <= s.Highest && !math.IsInf(s.Highest, 1)
}

// spreads are all that there are.
func (c *Calibration) spreads() []*OfRounds {
	g := &c.Generator
	all := []*OfRounds{g.ServiceP50NS, g.ServiceP99NS, g.OneProcessorP50NS, g.OneProcessorP99NS, g.TwoProcessorsP50NS, g.TwoProcessorsP99NS, g.ClosedPerSecond, g.CPUPerOpNS, g.ResponseP50NS, g.ResponseP99NS,
		g.LateP50NS, g.LateP99NS, g.OpenPerSecond, c.Wakes.P50NS, c.Wakes.P99NS}
	for i := range c.RoundTrips {
		all = append(all, c.RoundTrips[i].P50NS)
	}
	return all
}

// of is the calibration for a trial's machine; nil where it is of another.
func (c *Calibration) of(m *measure.Machine) *Calibration {
	if c == nil || m == nil || m.Unlike(&c.Machine) != "" || c.Outdated == "" && !c.sound() {
		return nil
	}
	return c
}
