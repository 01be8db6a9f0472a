package record

import (
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// Observed holds everything that was observed in the measurement window of a trial, except for the
// operations.
type Observed struct {
	State   State
	Failure string    // one sentence if State is Failed
	Started time.Time // start of the warm-up
	Opened  time.Time // start of the window
	// CPUSeconds is the generator's CPU time, user and system.
	CPUSeconds  float64
	MaxRSSBytes int64
	// ThrottledNS is the time for which CPU limits stopped the generator's control group.
	// StolenShare is the CPU steal of the machine, from 0 to 1. Each is nil if the system does not
	// report it.
	ThrottledNS *int64
	StolenShare *float64
	// BusyShare and ForeignShare are shares of the machine's CPU time, from 0 to 1. BusyShare is
	// the share that any program used. ForeignShare is the share that programs other than the
	// generator and the members used. Each is nil if the system does not report it.
	BusyShare, ForeignShare *float64
	// RanForLoad refers to the time in which the event loops of a closed loop had responses to
	// read, but waited in the run queue. It is the share of this time, from 0 to 1, in which every
	// CPU of the machine ran the members or the generator. The value is a lower bound. If there are
	// several machines, it is the lowest of their values. It is nil if no event loop waited or if
	// the share is not known.
	RanForLoad  *float64
	LostMembers []string // excludes members that a fault stopped and that came back
	TermChanges int
	// Faults holds the scenario's faults. ErrorsInFaults is the number of operations that failed
	// and became due while a fault had an effect. TermChangesInFaults is the part of TermChanges
	// that happened while a fault had an effect.
	Faults              []Fault
	ErrorsInFaults      uint64
	TermChangesInFaults int
	Hashes              *Hashes       // nil unless requested
	Verification        *Verification // nil unless verification was requested
	DataDir             *DataDir
	Replay              *Replay // nil unless a recording was replayed
	// WarmupSeconds is the length of the warm-up, or nil if it is not known. Steady reports whether
	// throughput was steady at the end of the warm-up. Steady is nil if the warm-up did not wait
	// for a steady throughput, for example in an open loop.
	WarmupSeconds *float64
	Steady        *bool
	// Store is the resource use of the members' processes during the window. It is nil if they do
	// not run on this machine, or if the system does not report their resource use.
	Store *StoreUsage
	// DatabaseGrowth is the number of bytes by which the members' databases on disk grew during the
	// window, summed over all members. It is nil if the growth of any member's database is not
	// known.
	DatabaseGrowth *int64
	// SamplingCPUSeconds is the CPU time that was spent during the window on sampling processes and
	// machines, summed over all machines. It is nil if it is not known.
	SamplingCPUSeconds *float64
	// Hosts holds the hosts of the scenario that the trial used. It is nil if all of them are this
	// machine.
	Hosts []measure.Host
	// ClockChanges reports how this machine's clock was set. It is nil if the clock was not set.
	ClockChanges *verdict.ClockChanges
	// Members holds the known members of the cluster. DoneCounts is the result of
	// TrialWriter.DoneCounts, or nil if nothing was recorded.
	Members    []Member
	DoneCounts *DoneCounts
}

// StoreUsage is the resource use of all processes that belong to a cluster's members, including
// proxies in front of the members.
type StoreUsage struct {
	CPUSeconds  float64 // CPU time, user and system
	MaxRSSBytes int64   // sum of the processes' peak resident memory
	// GrowthRSSBytes is the number of bytes by which the processes' resident memory grew.
	GrowthRSSBytes int64
	// WrittenBytes is the number of bytes that the processes wrote to disk, or nil if the system
	// does not report it.
	WrittenBytes *int64
}
