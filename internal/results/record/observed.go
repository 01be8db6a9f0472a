package record

import "time"

// Observed holds what was observed in a trial in addition to the operations, for the
// measurement window.
type Observed struct {
	State   State
	Failure string    // one sentence if State is Failed
	Started time.Time // of the warm-up
	Opened  time.Time // of the window
	// CPUSeconds is the generator's CPU time, user and system.
	CPUSeconds  float64
	MaxRSSBytes int64
	// ThrottledNS is how long CPU limits held back the generator's control group, and
	// StolenShare the CPU steal of the machine (0 to 1); null if the system does not report
	// it.
	ThrottledNS *int64
	StolenShare *float64
	// BusyShare and ForeignShare are shares (0 to 1) of the machine's CPU time: used by
	// anything, and used by programs other than the generator and the members; null if the
	// system does not report it.
	BusyShare, ForeignShare *float64
	// RanForLoad is the share (0 to 1) of a closed loop's run queue wait, with responses
	// ready to be read, in which every CPU of the machine ran the members or the generator.
	// It is a lower bound, and the lowest of several machines; null if no loop waited or it
	// is not known.
	RanForLoad  *float64
	LostMembers []string // without members that a fault stopped and that came back
	TermChanges int
	// Faults are the scenario's faults. ErrorsInFaults counts failed operations of those due
	// during a fault's effect; TermChangesInFaults counts such leader changes among
	// TermChanges.
	Faults              []Fault
	ErrorsInFaults      uint64
	TermChangesInFaults int
	Hashes              *Hashes  // nil unless requested
	Answers             *Answers // nil unless verification was requested
	DataDir             *DataDir
	Replay              *Replay // nil unless a recording was replayed
	// WarmupSeconds is the length of the warm-up; nil if it is not known. Steady reports
	// whether throughput was steady at its end; nil if the warm-up did not wait for it, as
	// in an open loop.
	WarmupSeconds *float64
	Steady        *bool
	// Store is the resource use of the members' processes in the window; nil if they do not
	// run on this machine or the system does not report it.
	Store *StoreUsage
	// DatabaseGrowth is the growth of the members' databases on disk in the window, summed,
	// in bytes; nil if it is not known for each member.
	DatabaseGrowth *int64
	// SamplingCPUSeconds is the CPU time of sampling processes and machines in the window,
	// summed over all machines; nil if it is not known.
	SamplingCPUSeconds *float64
	// Hosts are the hosts of the scenario that the trial used; nil if all are this machine.
	Hosts []ByHost
	// ClockSet reports how the clock of this machine was set; nil if it was not.
	ClockSet *ClockSet
	// Members are the cluster's known members. Answered is the result of
	// TrialWriter.Answered; nil if nothing was recorded.
	Members  []Member
	Answered *Answered
}

// StoreUsage is the resource use of all processes of a cluster's members, including proxies
// in front of them.
type StoreUsage struct {
	CPUSeconds  float64 // CPU time, user and system
	MaxRSSBytes int64   // sum of the processes' peak resident memory
	// GrowthRSSBytes is the growth of their resident memory.
	GrowthRSSBytes int64
	// WrittenBytes is how much they wrote to disk; nil if the system does not report it.
	WrittenBytes *int64
}
