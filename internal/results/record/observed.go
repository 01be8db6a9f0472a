package record

import "time"

// Observed is what a trial saw besides the operations. Times are those of the
// measured window.
type Observed struct {
	State   State
	Failure string    // one sentence, with Failed
	Started time.Time // of the warm-up
	Opened  time.Time // of the window
	// CPUSeconds is the generator's processor time, user and system.
	CPUSeconds  float64
	MaxRSSBytes int64
	// ThrottledNS is how long the generator's control group was held back, and
	// StolenShare the part of the machine's processor time that its host took
	// (0 to 1); null where the system does not say.
	ThrottledNS *int64
	StolenShare *float64
	// BusyShare and ForeignShare are the parts of the machine's processor time
	// (0 to 1) that anything used, and that programs beside the generator and
	// the members used; null where the system does not say.
	BusyShare, ForeignShare *float64
	// RanForLoad is, of the time in which the loops of a closed loop waited for a
	// processor while they had answers to read, the share (0 to 1) in which every
	// processor of their machine ran the members or the generator: at least, and the
	// least of several machines. Null where nobody waited, or nobody knows.
	RanForLoad  *float64
	LostMembers []string // but for those that a fault took and that came back
	TermChanges int
	// Faults are those of the scenario; MeantErrors is how many operations failed of
	// those due while one had its effect, and MeantTermChanges is of TermChanges.
	Faults           []Fault
	MeantErrors      uint64
	MeantTermChanges int
	Hashes           *Hashes  // null unless they were asked for
	Answers          *Answers // null unless they were to be checked
	DataDir          *DataDir
	Replay           *Replay // null unless a recording was replayed
	// WarmupSeconds is how long the warm-up was; nil where that is not known.
	// Steady says whether throughput was steady at its end; nil where nobody
	// waited for it, as in an open loop.
	WarmupSeconds *float64
	Steady        *bool
	// Store is what the members' processes used in the window; nil where they
	// do not run on this machine, or the system does not say.
	Store *StoreUsage
	// DatabaseGrowth is by how many bytes the members' databases together grew on
	// disk in the window; nil where that is not known of each.
	DatabaseGrowth *int64
	// SamplingCPUSeconds is the processor time that sampling processes and machines
	// took in the window, on all machines together; nil where that is not known.
	SamplingCPUSeconds *float64
	// Hosts are those of the scenario that the trial used; nil where all are this machine.
	Hosts []ByHost
	// ClockSet is how the clock of this machine was set; nil where it was not.
	ClockSet *ClockSet
	// Members are the cluster's as far as they are known, and Answered is what
	// TrialWriter.Answered says; nil where nobody looked.
	Members  []Member
	Answered *Answered
}

// StoreUsage is what all processes of a cluster's members used, proxies before
// them included.
type StoreUsage struct {
	CPUSeconds  float64 // processor time, user and system
	MaxRSSBytes int64   // the sum of each process's most resident memory
	// GrowthRSSBytes is by how much their resident memory grew.
	GrowthRSSBytes int64
	// WrittenBytes is what they had the system write to disks; nil where it does
	// not say.
	WrittenBytes *int64
}
