package record

import (
	"math"
	"time"

	"github.com/quorumbench/quorumbench/internal/verdict"
)

// Clock is the offset between a host's clock and the clock of the controller. For a host of the
// run, it covers the time from when the host was reached until it was released. For a host of a
// trial, it covers the window. Times in the record are corrected by the offset.
type Clock struct {
	Before ClockReading `json:"before"`
	After  ClockReading `json:"after"`
	// WidestBoundNS is the largest BoundNS in that time. Jumps is the number of times that one of
	// the two clocks was set, and SetNS the total time by which they were set. In a trial, these
	// two count from the start of the trial.
	WidestBoundNS int64 `json:"widest_bound_ns"`
	Jumps         int   `json:"jumps"`
	SetNS         int64 `json:"set_ns"`
}

// ClockReading is the offset at one time. The true offset differs from AheadNS by at most BoundNS.
type ClockReading struct {
	At      time.Time `json:"at"`
	AheadNS int64     `json:"ahead_ns"`
	BoundNS int64     `json:"bound_ns"`
}

// ByHost reports on a host of the scenario during the window. Members or workers of the trial ran
// on the host.
type ByHost struct {
	Name string `json:"name"`
	// Lost is a sentence that explains why the host was lost before the end of the load, and lists
	// the host's members. It is absent if the host was not lost.
	Lost    string `json:"lost,omitempty"`
	Machine string `json:"machine"` // the name of the machine's row in machines.csv
	CPUs    int    `json:"cpus"`
	Members bool   `json:"members"` // members of the trial ran on the host
	Load    bool   `json:"load"`    // the host generated load
	// Clock is absent if the host uses the controller's clock.
	Clock *Clock `json:"clock,omitempty"`
	// The next three are shares of the machine's CPU time: the share that was used by any program,
	// the share that the hypervisor withheld (CPU steal), and the share that programs other than
	// the members and quorumbench used. They are null if not known.
	BusyShare    *float64 `json:"busy_cpu_share"`
	StolenShare  *float64 `json:"cpu_steal_share"`
	ForeignShare *float64 `json:"foreign_cpu_share"`
	// ThrottledSeconds is the time for which CPU limits stopped the control group of the process
	// that generated load on this host. It is null without such a process, or if not known.
	ThrottledSeconds *float64 `json:"throttled_seconds"`
	// SamplingCPUSeconds is the CPU time that sampling used on the host; null if not known.
	SamplingCPUSeconds *float64 `json:"sampling_cpu_seconds"`
}

// ClockSet reports how the controller's clock was set during a trial. Times in the record follow
// the clock as it was when the process started.
type ClockSet struct {
	Times int   `json:"times"` // number of times that the clock was set, as observed once per second
	SetNS int64 `json:"set_ns"`
	// Members reports whether members of the cluster run on the controller's machine, and so may
	// depend on its clock.
	Members bool `json:"members"`
}

// figures returns the input for the verdict.
func (c *ClockSet) figures() verdict.OwnClock {
	if c == nil {
		return verdict.OwnClock{}
	}
	return verdict.OwnClock{Times: c.Times, SetNS: math.Abs(float64(c.SetNS)), Members: c.Members}
}

// hosts returns the input for the verdict.
func (t *Trial) hosts() (all []verdict.Host) {
	for i := range t.ByHost {
		h := &t.ByHost[i]
		one := verdict.Host{
			Name: h.Name, Lost: h.Lost, Machine: h.Machine, Processors: h.CPUs, Members: h.Members, Load: h.Load,
			StolenShare: orZero(h.StolenShare), BusyShare: orZero(h.BusyShare), ForeignShare: orZero(h.ForeignShare),
		}
		if c := h.Clock; c != nil {
			one.BoundNS, one.Jumps, one.SetNS = float64(max(c.WidestBoundNS, 0)), c.Jumps, math.Abs(float64(c.SetNS))
		}
		all = append(all, one)
	}
	return all
}
