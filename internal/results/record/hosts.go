package record

import (
	"math"
	"time"

	"github.com/quorumbench/quorumbench/internal/verdict"
)

// Clock is the offset of a host's clock from that of the process that conducted the run:
// for a host of the run, from when it was reached until it was released; for a host of a
// trial, over the window. Times in the record are corrected by it.
type Clock struct {
	Before ClockReading `json:"before"`
	After  ClockReading `json:"after"`
	// WidestBoundNS is the greatest bound in that time. Jumps is how often one of the two
	// clocks was set, and SetNS by how much in total; for a trial, since its beginning.
	WidestBoundNS int64 `json:"widest_bound_ns"`
	Jumps         int   `json:"jumps"`
	SetNS         int64 `json:"set_ns"`
}

// ClockReading is the offset at a time; the true offset is within BoundNS of AheadNS.
type ClockReading struct {
	At      time.Time `json:"at"`
	AheadNS int64     `json:"ahead_ns"`
	BoundNS int64     `json:"bound_ns"`
}

// ByHost reports on a host of the scenario with members or workers of the trial, in the
// window.
type ByHost struct {
	Name string `json:"name"`
	// Lost is one sentence, which names the host's members: why the host was lost before
	// the end of the load. Absent if it was not lost.
	Lost    string `json:"lost,omitempty"`
	Machine string `json:"machine"` // the name of its row in machines.csv
	CPUs    int    `json:"cpus"`
	Members bool   `json:"members"` // it has members
	Load    bool   `json:"load"`    // it generated load
	// Clock is absent if the host has the clock of the process that conducted the run.
	Clock *Clock `json:"clock,omitempty"`
	// Shares of the machine's CPU time: used by anything, withheld by its hypervisor (CPU
	// steal), and used by programs other than the members and quorumbench; null if not
	// known.
	BusyShare    *float64 `json:"busy_cpu_share"`
	StolenShare  *float64 `json:"cpu_steal_share"`
	ForeignShare *float64 `json:"foreign_cpu_share"`
	// ThrottledSeconds is how long CPU limits held back the control group of the process
	// that generated load there; null without such a process, or if not known.
	ThrottledSeconds *float64 `json:"throttled_seconds"`
	// SamplingCPUSeconds is the CPU time of sampling the host; null if not known.
	SamplingCPUSeconds *float64 `json:"sampling_cpu_seconds"`
}

// ClockSet reports how the clock of the machine that conducted the run was set during a
// trial. Times in the record follow the clock as it was when the process began.
type ClockSet struct {
	Times int   `json:"times"` // as observed once per second
	SetNS int64 `json:"set_ns"`
	// Members reports whether members of the cluster run on that machine, and may depend on
	// its clock.
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
