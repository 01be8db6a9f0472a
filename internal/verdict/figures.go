package verdict

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
)

// Figures holds all inputs of the rules: the totals that the load generator measured, the
// conditions of the load, and observations of the cluster and the machines. Times are in
// nanoseconds. An unknown figure is 0. A rule that needs an unknown figure reports nothing.
type Figures struct {
	// Measured holds the totals of the window. Warmup holds those of the warm-up, or is nil if they
	// are unknown. Merged contains all cells of Measured, merged into one.
	Measured, Warmup *measure.Totals
	Merged           *measure.Cell
	// DoneEachSecond lists, for each second of the window, how many operations succeeded in it.
	DoneEachSecond []uint64
	OpenLoop       bool
	Interrupted    bool // the window was interrupted

	// Headline summarizes the times that the report prints first, including those of failed
	// operations. If it is empty, the rules assume that reports print all figures. These times are
	// response times if HeadlineIsResponse is set, and service times otherwise. For a closed loop,
	// HeadlineIsResponse is set only if operations waited for a connection.
	Headline           measure.Summary
	HeadlineIsResponse bool

	Load
	Generator

	// Workers lists the workers that generated the load. The list is empty if a single worker
	// generated the load and was not lost.
	Workers []Worker

	// Hosts lists the hosts that ran members or generated load. The list is empty unless the
	// scenario names machines with separate clocks. If it is not empty, R10 and R23 judge each
	// machine separately.
	Hosts []measure.Host
	// ControllerClock reports the changes to the clock of the controller's machine. It may be nil.
	ControllerClock *ClockChanges

	Cluster
	Faults
	// Durability describes whether the members' writes survive a power loss. It is nil if unknown.
	Durability *measure.Durability
}

// Load holds the parameters of the load.
type Load struct {
	Clients     int // closed loop
	Connections int
	MaxInFlight int // open loop: the limit
	// ConnectionWaitNS is the mean time that an operation of a closed loop waited for its
	// connection.
	ConnectionWaitNS float64
	HasWrites        bool // some operations write
	HasDeletes       bool // some operations remove keys
	Preloaded        bool // every key existed before the window
	ValueSize        int  // bytes
	AllowVolatile    bool // the scenario allows writes that do not survive a power loss
	// WatchesGivenKey is set if all watchers watch one given key. Events of writes before the load
	// then have no times.
	WatchesGivenKey bool
}

// Generator contains what Measured does not contain about the load generator and its machine.
type Generator struct {
	Loops       int // event loops
	Added       Added
	ThrottledNS int64 // time during which the quota paused the generator's control group
	// Fractions of the machine's CPU time: used by any program, withheld by the hypervisor, and
	// used by programs other than the generator and the members.
	BusyShare, StolenShare, ForeignShare float64
	Machine                              *measure.Machine // nil if unknown
	// MembersBusy is an upper bound for the fraction of the CPU time that the members used.
	// OperationCPUNS is the members' CPU time per operation.
	MembersBusy, OperationCPUNS float64
	// ForeignKnown is set if ForeignShare is known.
	ForeignKnown bool
	// MembersOnMachine is set if members run on the generator's machine.
	MembersOnMachine bool
}

// Cluster holds facts about the members and about their responses.
type Cluster struct {
	// Disagreement describes how the members' hashes differ. Incomparable states why a requested
	// comparison of the hashes was not possible. Both may be empty.
	Disagreement string
	Incomparable string
	// BrokenGuarantees lists the number of violations of each kind. Unverified states why responses
	// could not be verified. Both may be empty.
	BrokenGuarantees string
	Unverified       string
	// HistoryShare is the history's fraction of all bytes that were written to the members' disk in
	// the window. HistoryShare is 0 if the history is on another disk or the fraction is unknown.
	HistoryShare float64
	LostMembers  []string // names of members that ended or stopped responding
	TermChanges  int      // elections in the window
}

// Faults describes the injected faults.
type Faults struct {
	// Injected counts the injected faults. ErrorsInFaults states how many of the errors that
	// Figures.failed counts occurred during a fault. FaultFailures describes the faults that were
	// not injected as requested, in one sentence each. LostMembers and TermChanges exclude the
	// effects of faults.
	Injected       int
	ErrorsInFaults uint64
	FaultFailures  []string
}

// phases returns the totals of the window and, if they are known, those of the warm-up.
func (f *Figures) phases() []*measure.Totals {
	if f.Warmup == nil {
		return []*measure.Totals{f.Measured}
	}
	return []*measure.Totals{f.Measured, f.Warmup}
}

// failed returns the number of operations due in the window that ended with an error. It
// adds up the outcomes instead of using Totals.Failed, so that R2 can compare the two.
func (f *Figures) failed() uint64 { return f.Measured.Tally.Failed() }

// errorKindsText returns words that list the errors by kind, most frequent first, for example ": 20
// timeout, 12 connection_lost". It returns an empty string if there are none.
func (f *Figures) errorKindsText() string {
	count := func(o kv.Outcome) uint64 { return f.Measured.Outcomes[o] }
	var kinds []kv.Outcome
	for o := kv.NotSent; o < kv.NumOutcomes; o++ {
		if count(o) > 0 {
			kinds = append(kinds, o)
		}
	}
	slices.SortFunc(kinds, func(a, b kv.Outcome) int {
		return cmp.Or(cmp.Compare(count(b), count(a)), cmp.Compare(a.String(), b.String()))
	})
	words, separator := "", ": "
	for _, o := range kinds {
		words, separator = words+fmt.Sprintf("%s%d %v", separator, count(o), o), ", "
	}
	return words
}

// errorShare returns the fraction of the due operations that failed while no fault was active.
func (f *Figures) errorShare() float64 {
	return float64(f.failed()-f.ErrorsInFaults) / float64(f.Measured.Due)
}

// quantile returns percentile p of the times that Headline summarizes, in nanoseconds, or 0 if that
// percentile is unknown.
func (f *Figures) quantile(p float64) float64 {
	h := f.Merged.Service
	if f.HeadlineIsResponse {
		h = f.Merged.Response
	}
	return measure.Percentile(h, f.failed(), p).NS
}

// losesWrites reports whether the load writes, and is known to lose acknowledged writes in a power
// loss.
func (f *Figures) losesWrites() bool {
	return f.HasWrites && f.Durability != nil && (f.Durability.Volatile || !f.Durability.Synced)
}

// limitEffect limits an effect to the figures that the trial has. It removes the effect on
// percentiles that are printed as a dash or as failed, and on a throughput of 0.
func (f *Figures) limitEffect(e Effect) Effect {
	nothing := f.Measured.Succeeded() == 0 && f.Measured.Seconds > 0
	if nothing {
		e.Throughput = 0
	}
	if f.Headline.Count == 0 && !nothing {
		return e
	}
	known := timesFromSummary(&f.Headline)
	for i := range e.Times {
		if known[i] <= 0 {
			e.Times[i] = 0
		}
	}
	return e
}

// generatorEffect returns how far the generator may have moved the printed figures. The sample
// contains all late operations, unless too many operations were late. generatorEffect ignores this
// exception: if the slowest operation is not in the sample, generatorEffect assumes that the
// generator did not delay that operation.
func (f *Figures) generatorEffect() Effect {
	e, top := f.Added.Effect(f.OpenLoop), timeIndex("max")
	if f.Headline.Max.NS > 1.01*f.Added.Sampled.Max.NS {
		e.Times[top] = min(e.Times[top], e.Times[top-1])
	}
	return e
}
