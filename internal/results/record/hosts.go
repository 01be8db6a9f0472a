package record

import (
	"math"
	"time"

	"github.com/quorumbench/quorumbench/internal/verdict"
)

// Clock is how far a host's clock was ahead of the one of the process that conducted
// the run, from one time to another: of a host of the run, from when it was reached
// until it was left, and of a trial's, over the window. Times in the record are
// corrected by it.
type Clock struct {
	Before ClockReading `json:"before"`
	After  ClockReading `json:"after"`
	// WidestBoundNS is the greatest bound between. JumpsN is how often one of the clocks
	// was set, and SetNS by how much in all: of a trial, since it began.
	WidestBoundNS int64 `json:"widest_bound_ns"`
	Jumps         int   `json:"jumps"`
	SetNS         int64 `json:"set_ns"`
}

// ClockReading is that at a time: the truth is at most BoundNS away from AheadNS.
type ClockReading struct {
	At      time.Time `json:"at"`
	AheadNS int64     `json:"ahead_ns"`
	BoundNS int64     `json:"bound_ns"`
}

// ByHost is what one of the scenario's hosts was in the window of a trial that has
// members or workers there.
type ByHost struct {
	Name string `json:"name"`
	// Lost is why it was lost before the load's end, with the members that it has, in
	// one sentence; absent if it was not.
	Lost    string `json:"lost,omitempty"`
	Machine string `json:"machine"` // the name of its row in machines.csv
	CPUs    int    `json:"cpus"`
	Members bool   `json:"members"` // it has some
	Load    bool   `json:"load"`    // some of it came from there
	// Clock is absent where it is the one of the process that conducted the run.
	Clock *Clock `json:"clock,omitempty"`
	// Shares of all processor time of the machine: used by anything, taken away by its
	// host, and used by other programs than the members and ours; null where not known.
	BusyShare    *float64 `json:"busy_cpu_share"`
	StolenShare  *float64 `json:"stolen_cpu_share"`
	ForeignShare *float64 `json:"foreign_cpu_share"`
	// ThrottledSeconds is how long limits held back the control group of the process
	// that generated load there; null where none did, or that is not known.
	ThrottledSeconds *float64 `json:"throttled_seconds"`
	// SamplingCPUSeconds is what it took there to sample all this; null likewise.
	SamplingCPUSeconds *float64 `json:"sampling_cpu_seconds"`
}

// ClockSet is how the clock of the machine that conducted a run was set during a trial.
// Times in the record are by the clock as it was when that process began.
type ClockSet struct {
	Times int   `json:"times"` // as often as it was seen, once a second
	SetNS int64 `json:"set_ns"`
	// Members says that some of the cluster's are on that machine, and may have gone by
	// its clock.
	Members bool `json:"members"`
}

// figures is what the verdict looks at.
func (c *ClockSet) figures() verdict.OwnClock {
	if c == nil {
		return verdict.OwnClock{}
	}
	return verdict.OwnClock{Times: c.Times, SetNS: math.Abs(float64(c.SetNS)), Members: c.Members}
}

// hosts is what the verdict looks at.
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
