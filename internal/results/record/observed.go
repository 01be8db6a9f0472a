package record

import "time"

// Observed holds what was observed during the measurement window of a trial, except the operations.
type Observed struct {
	State   State
	Failure string    // one sentence if State is Failed
	Started time.Time // start of the warm-up
	Opened  time.Time // start of the window
	// CPUSeconds is the generator's CPU time, user and system.
	CPUSeconds  float64
	MaxRSSBytes int64
	// ThrottledNS is the time for which CPU limits stopped the generator's control group.
	// StolenShare is the CPU steal of the machine (0 to 1). They are null if the system does not
	// report them.
	ThrottledNS *int64
	StolenShare *float64
	// BusyShare and ForeignShare are shares (0 to 1) of the machine's CPU time: the share that any
	// program used, and the share that programs other than the generator and the members used. They
	// are null if the system does not report them.
	BusyShare, ForeignShare *float64
	// RanForLoad is about the time in which the event loops of a closed loop had responses to read,
	// but waited in the run queue. It is the share (0 to 1) of that time in which every CPU of the
	// machine ran the members or the generator. It is a lower bound, and the lowest value of
	// several machines. It is null if no event loop waited or the share is not known.
	RanForLoad  *float64
	LostMembers []string // without members that a fault stopped and that came back
	TermChanges int
	// Faults are the scenario's faults. ErrorsInFaults counts operations that failed and were due
	// during a fault's effect. TermChangesInFaults counts the TermChanges that happened during a
	// fault's effect.
	Faults              []Fault
	ErrorsInFaults      uint64
	TermChangesInFaults int
	Hashes              *Hashes  // nil unless requested
	Answers             *Answers // nil unless verification was requested
	DataDir             *DataDir
	Replay              *Replay // nil unless a recording was replayed
	// WarmupSeconds is the length of the warm-up; nil if it is not known. Steady reports whether
	// throughput was steady at the end of the warm-up. It is nil if the warm-up did not wait for
	// that, for example in an open loop.
	WarmupSeconds *float64
	Steady        *bool
	// Store is the resource use of the members' processes during the window; nil if they do not run
	// on this machine or the system does not report it.
	Store *StoreUsage
	// DatabaseGrowth is the growth of the members' databases on disk during the window, in bytes,
	// summed over all members; nil if it is not known for every member.
	DatabaseGrowth *int64
	// SamplingCPUSeconds is the CPU time that sampling processes and machines used during the
	// window, summed over all machines; nil if it is not known.
	SamplingCPUSeconds *float64
	// Hosts are the hosts of the scenario that the trial used; nil if all of them are this machine.
	Hosts []ByHost
	// ClockSet reports how the clock of this machine was set; nil if it was not.
	ClockSet *ClockSet
	// Members are the known members of the cluster. Answered is the result of TrialWriter.Answered;
	// nil if nothing was recorded.
	Members  []Member
	Answered *Answered
}

// StoreUsage is the resource use of all processes of a cluster's members, including proxies
// in front of them.
type StoreUsage struct {
	CPUSeconds  float64 // CPU time, user and system
	MaxRSSBytes int64   // sum of the processes' peak resident memory
	// GrowthRSSBytes is the growth of the processes' resident memory.
	GrowthRSSBytes int64
	// WrittenBytes is the number of bytes that the processes wrote to disk; nil if the system does
	// not report it.
	WrittenBytes *int64
}
