package measure

import "time"

// Clock describes by how much a host's clock is ahead of the controller's clock. If the host
// belongs to a run, the description covers the time from when the host was reached until it was
// released. If it belongs to a trial, the description covers the window. The times in the record
// are already corrected by this offset.
type Clock struct {
	Before ClockReading `json:"before"`
	After  ClockReading `json:"after"`
	// WidestBoundNS is the largest BoundNS in this time. Jumps is the number of times that either
	// of the two clocks was set. ClockChangeNS is the sum of these changes. In a trial, Jumps and
	// ClockChangeNS are counted from the start of the trial.
	WidestBoundNS int64 `json:"widest_bound_ns"`
	Jumps         int   `json:"jumps"`
	ClockChangeNS int64 `json:"set_ns"`
}

// ClockReading is a measurement of the offset at one time. The true offset differs from AheadNS by
// at most BoundNS.
type ClockReading struct {
	At      time.Time `json:"at"`
	AheadNS int64     `json:"ahead_ns"`
	BoundNS int64     `json:"bound_ns"`
}

// Host reports on a host of the scenario during the window. Members or workers of the trial ran
// on this host.
type Host struct {
	Name string `json:"name"`
	// Lost is absent unless the host was lost before the end of the load. It is a sentence that
	// states the reason and lists the members on the host.
	Lost          string `json:"lost,omitempty"`
	Machine       string `json:"machine"` // name of the row in machines.csv that describes the host's machine
	CPUs          int    `json:"cpus"`
	HasMembers    bool   `json:"members"` // reports whether members of the trial ran on the host
	GeneratesLoad bool   `json:"load"`    // the host generated load
	// Clock is absent if the host uses the controller's clock.
	Clock *Clock `json:"clock,omitempty"`
	// The next three are shares of the machine's CPU time. BusyShare is the share that any program
	// used. StolenShare is the share that the hypervisor withheld (CPU steal). ForeignShare is the
	// share that programs other than the members and quorumbench used. They are null if not known.
	BusyShare    *float64 `json:"busy_cpu_share"`
	StolenShare  *float64 `json:"cpu_steal_share"`
	ForeignShare *float64 `json:"foreign_cpu_share"`
	// ThrottledSeconds is the time for which CPU limits stopped the control group of the process
	// that generated load on this host. It is null if no such process ran, or if the time is not
	// known.
	ThrottledSeconds *float64 `json:"throttled_seconds"`
	// SamplingCPUSeconds is the CPU time that was spent on sampling on this host; null if it is not
	// known.
	SamplingCPUSeconds *float64 `json:"sampling_cpu_seconds"`
}
