package record

import (
	"math"

	"github.com/quorumbench/quorumbench/internal/measure"
)

// Usage is the resource use of the generator, the members and other programs during the window. It
// also reports the time that the generator added to operations.
type Usage struct {
	// CPUSeconds and MaxRSSBytes do not include lost workers, whose resource use is unknown.
	CPUSeconds  float64  `json:"client_cpu_seconds"`
	CPUPerOp    *float64 `json:"client_cpu_ns_per_operation"` // null without operations, or if a worker was lost
	MaxRSSBytes int64    `json:"client_max_rss_bytes"`
	// SamplingCPUSeconds is the CPU time that was spent on sampling processes and machines, summed
	// over all machines. It is null if it is not known.
	SamplingCPUSeconds *float64 `json:"sampling_cpu_seconds,omitempty"`
	// StoreCPUSeconds and the following fields describe the members' processes during the window.
	// They are null if the members do not run on this machine.
	StoreCPUSeconds  *float64 `json:"store_cpu_seconds"`
	StoreCPUPerOp    *float64 `json:"store_cpu_ns_per_operation"` // also null without operations
	StoreMaxRSSBytes *int64   `json:"store_max_rss_bytes"`        // sum of the peaks of all members' processes

	StoreCosts

	LoopCPUNS      int64    `json:"loop_cpu_ns"`
	LongestPauseNS int64    `json:"longest_pause_ns"`
	RunDelayNS     int64    `json:"run_delay_ns"`
	RunSlices      int64    `json:"run_slices"`
	ThrottledNS    *int64   `json:"throttled_ns"`
	StolenShare    *float64 `json:"cpu_steal_share"`
	// BusyShare and ForeignShare are shares of the machine's CPU time. BusyShare is the share that
	// any program used. ForeignShare is the share that programs other than the generator and the
	// members used. They are null if they are not known.
	BusyShare    *float64 `json:"busy_cpu_share"`
	ForeignShare *float64 `json:"foreign_cpu_share"`
	// WakeDelayNS is the total delay with which the generator's event loops woke up. Overhead
	// reports how much time the generator added to operations. Overhead is null if this time was
	// not sampled.
	WakeDelayNS       int64              `json:"paused_ns"`
	Overhead          *GeneratorOverhead `json:"generator_added"`
	MeanPausedClients float64            `json:"mean_paused_clients"`
}

func (t *Trial) setUsage(o *Observed, m *measure.Totals) {
	t.LoopCPUNS, t.LongestPauseNS, t.RunDelayNS, t.RunSlices = m.LoopCPU, m.LongestPause, m.RunDelay, m.Slices
	t.CPUSeconds, t.MaxRSSBytes = o.CPUSeconds, o.MaxRSSBytes
	t.ThrottledNS, t.StolenShare, t.BusyShare, t.ForeignShare = o.ThrottledNS, o.StolenShare, o.BusyShare, o.ForeignShare
	t.WakeDelayNS, t.MeanPausedClients = m.Paused, m.MeanResting
	t.SamplingCPUSeconds = o.SamplingCPUSeconds
	if !m.HasLostWorker() { // the operations of a lost worker are known, but not its CPU time
		t.CPUPerOp = perOperation(o.CPUSeconds, m.Done)
	}
	t.StoreCosts = t.storeCosts(o, m)
	if s := o.Store; s != nil {
		t.StoreCPUSeconds, t.StoreMaxRSSBytes, t.StoreCPUPerOp = new(s.CPUSeconds), new(s.MaxRSSBytes), perOperation(s.CPUSeconds, m.Done)
	}
}

// perOperation converts CPU seconds to nanoseconds per operation. The parameter `done` is the
// number of operations. If it is 0, the result is nil.
func perOperation(cpuSeconds float64, done uint64) *float64 {
	if done == 0 {
		return nil
	}
	return new(math.Round(1e9 * cpuSeconds / float64(done)))
}
