package record

import (
	"math"
	"slices"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// ByWorker holds the results that one worker measured in its window, if several workers generated
// the load.
type ByWorker struct {
	Name    string `json:"name"`
	Machine string `json:"machine,omitempty"` // name of the worker's machine
	// Lost is a sentence with the reason why the worker was lost before the end of the load. It is
	// absent if the worker was not lost. The figures of a lost worker are those of its last report.
	Lost  string `json:"lost,omitempty"`
	Loops int    `json:"loops"`
	// StartDelayNS is the time from the start of the first worker's window to the start of this
	// worker's window. Seconds is the length of this worker's window.
	StartDelayNS int64 `json:"start_delay_ns"`
	// ClockBoundNS is the maximum error of the worker's clock after the clock was corrected. It is
	// 0 if the worker uses the controller's clock.
	ClockBoundNS int64   `json:"clock_bound_ns"`
	Seconds      float64 `json:"seconds"`
	Connections  int     `json:"connections"` // 0 in an open loop
	Clients      int     `json:"clients"`     // 0 in an open loop
	// Operations is the number of the worker's operations that were due in the window and
	// completed, and Errors is the number that failed. PerSecond is the number of operations that
	// were done in the worker's window, divided by Seconds.
	Operations uint64  `json:"operations"`
	Errors     uint64  `json:"errors"`
	PerSecond  float64 `json:"operations_per_second"`

	ResponseTime Times  `json:"response_time_ns"`
	Lateness     *Times `json:"lateness_ns"` // null in a closed loop
	// MedianDifference is the relative difference between the worker's median response time and the
	// median of the other workers. The medians are compared second by second, for operations of the
	// same kind at the same member. MedianDifference is null if no operations can be compared.
	MedianDifference *float64 `json:"median_difference"`

	LongestPauseNS int64    `json:"longest_pause_ns"`
	PausedNS       int64    `json:"paused_ns"`
	LoopCPUNS      int64    `json:"loop_cpu_ns"`
	RunDelayNS     int64    `json:"run_delay_ns"`
	CPUSeconds     *float64 `json:"cpu_seconds"`  // CPU time of the worker's process; null if other workers use the same process
	ThrottledNS    *int64   `json:"throttled_ns"` // null if other workers use the same process or the system does not report it
}

// byWorker returns the results of each worker, or nil if there are none.
func byWorker(parts []measure.Part) []ByWorker {
	if len(parts) == 0 {
		return nil
	}
	all := make([]ByWorker, len(parts))
	apart := measure.MedianDistances(parts)
	for i := range parts {
		p := &parts[i]
		b := &all[i]
		response := p.Response.Histogram() // merge one at a time, because the histograms of a hundred workers take a hundred megabytes
		*b = ByWorker{
			Name: p.Worker, Machine: p.Machine, Lost: p.Lost, Loops: p.Loops, StartDelayNS: p.StartDelay, ClockBoundNS: p.ClockError, Seconds: float64(p.Length) / 1e9,
			Connections: len(p.Connections), Operations: p.Succeeded, Errors: p.Due - p.Succeeded,
			ResponseTime:   Times{measure.Summarize(response, p.Due-p.Succeeded)},
			LongestPauseNS: p.LongestPause, PausedNS: p.Paused, LoopCPUNS: p.LoopCPU, RunDelayNS: p.RunDelay,
			CPUSeconds: p.CPUSeconds, ThrottledNS: p.ThrottledNS,
		}
		for k := range p.Connections {
			b.Clients += len(p.Connections[k].Completed)
		}
		if b.Seconds > 0 {
			b.PerSecond = float64(p.Done) / b.Seconds
		}
		if late := p.Lateness.Histogram(); late != nil {
			b.Lateness = &Times{measure.Summarize(late, 0)}
		}
		if n := len(apart[i]); n > 0 {
			sum := 0.0
			for _, x := range apart[i] {
				sum += x
			}
			b.MedianDifference = new(math.Expm1(sum / float64(n)))
		}
	}
	return all
}

// WorkerTiming reports how far apart the workers started their windows, and when their results were
// merged.
type WorkerTiming struct {
	// StartSpreadNS is the time from the start of the first worker's window until half of the
	// workers had started their windows. StartLatestNS is the time from the same start until all
	// workers had started their windows.
	StartSpreadNS *int64 `json:"start_spread_ns,omitempty"`
	StartLatestNS *int64 `json:"start_latest_ns,omitempty"`
	// MergedAfterNS is the time from the end of the window until all results were merged.
	MergedAfterNS *int64 `json:"merged_after_ns,omitempty"`
}

func newWorkerTiming(workers []ByWorker, m *measure.Totals) (t WorkerTiming) {
	if len(workers) == 0 {
		return t
	}
	began := make([]int64, len(workers))
	for i := range workers {
		began[i] = workers[i].StartDelayNS
	}
	slices.Sort(began)
	t.StartSpreadNS, t.StartLatestNS = new(began[(len(began)-1)/2]), new(began[len(began)-1])
	if m.MergedAfter > 0 {
		t.MergedAfterNS = new(m.MergedAfter)
	}
	return t
}

// LastToBegin returns the worker that was the last to start its window. It returns nil if ByWorker
// is empty.
func (t *Trial) LastToBegin() (last *ByWorker) {
	for i := range t.ByWorker {
		if b := &t.ByWorker[i]; last == nil || b.StartDelayNS > last.StartDelayNS {
			last = b
		}
	}
	return last
}

// judgedWorkers returns the facts about the workers that the verdict needs. ranForLoad is the value
// of Observed.RanForLoad.
func (t *Trial) judgedWorkers(parts []measure.Part, ranForLoad *float64) []verdict.Worker {
	all, apart := make([]verdict.Worker, len(parts)), measure.MedianDistances(parts)
	for i := range parts {
		p := &parts[i]
		d := measure.Disturbance{Sampled: p.Sampled.Histogram(), Undisturbed: p.Undisturbed.Histogram(), Idle: p.Idle, RunWait: p.RunWait}
		waits := newQueueWaits(ranForLoad, measure.OrZero(p.ThrottledNS), p.RunDelay, p.Loops, float64(p.Length)/1e9)
		all[i] = verdict.Worker{Part: p, MedianDistances: apart[i], Added: overheadOf(&d, p.Response.Histogram(), t.ConnectionWaitNS, waits).figures()}
	}
	return all
}
