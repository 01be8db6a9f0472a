package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Workers runs one assignment on several workers, each of which runs its own shard. It merges their
// reports into the report that a single worker would have made. Work that must be done only once,
// such as the preload, is done by the first worker.
type Workers []Worker

var _ Worker = Workers(nil)

// NewLocals returns n workers in this process, each with its own loops.
func NewLocals(n int, stores func(name string) (store.Store, error)) Workers {
	w := make(Workers, n)
	for i := range w {
		w[i] = NamedWorker{&Local{Stores: stores}, fmt.Sprintf("w%d", i+1), n - 1}
	}
	return w
}

// workerName returns the name of worker i.
func (w Workers) workerName(i int) string {
	if n, ok := w[i].(NamedWorker); ok {
		return n.Name
	}
	return fmt.Sprintf("%d of %d", i+1, len(w))
}

// runAll calls `call` for all workers concurrently. If any call fails, it returns the error of the
// first worker that failed, with the name of that worker.
func (w Workers) runAll(call func(i int) error) error {
	errs := make([]error, len(w))
	var running sync.WaitGroup
	for i := range w {
		running.Go(func() { errs[i] = call(i) })
	}
	running.Wait()
	for i, err := range errs {
		if err != nil {
			return w.nameError(i, err)
		}
	}
	return nil
}

// nameError adds the name of worker i to an error from that worker.
func (w Workers) nameError(i int, err error) error {
	if len(w) == 1 {
		return err
	}
	return fmt.Errorf("worker %s: %w", w.workerName(i), err)
}

// Clock implements Worker. It returns the latest of the workers' times.
func (w Workers) Clock(ctx context.Context) (time.Time, error) {
	times := make([]time.Time, len(w))
	err := w.runAll(func(i int) (err error) {
		times[i], err = w[i].Clock(ctx)
		return err
	})
	if err != nil {
		return time.Time{}, err
	}
	return slices.MaxFunc(times, time.Time.Compare), nil
}

// Check implements Worker. Each worker checks each endpoint.
func (w Workers) Check(ctx context.Context, a *Assignment) (loops int, err error) {
	if err := w.divisible(a); err != nil {
		return 0, err
	}
	each := make([]int, len(w))
	err = w.runAll(func(i int) (err error) {
		each[i], err = w[i].Check(ctx, a.Divide(i, len(w)))
		return err
	})
	for _, n := range each {
		loops += n
	}
	return loops, err
}

// divisible returns an error if the assignment cannot be divided among the workers.
func (w Workers) divisible(a *Assignment) error {
	if len(w) == 0 {
		return errors.New("no worker is available to generate the load")
	}
	return a.Divide(0, len(w)).checkShard()
}

// Preload implements Worker.
func (w Workers) Preload(ctx context.Context, a *Assignment) (*Preloaded, error) {
	if err := w.divisible(a); err != nil {
		return nil, err
	}
	return w[0].Preload(ctx, a)
}

// WriteVersions implements Worker.
func (w Workers) WriteVersions(ctx context.Context, a *Assignment) (first int64, err error) {
	if err := w.divisible(a); err != nil {
		return 0, err
	}
	return w[0].WriteVersions(ctx, a)
}

// ReadBack implements Worker.
func (w Workers) ReadBack(ctx context.Context, a *Assignment, level kv.Consistency, newRecorder RecorderFactory) (found uint64, err error) {
	if err := w.divisible(a); err != nil {
		return 0, err
	}
	return w[0].ReadBack(ctx, a, level, newRecorder)
}

// Prepare implements Worker.
func (w Workers) Prepare(ctx context.Context, a *Assignment, reports Reports) (Job, error) {
	if err := w.divisible(a); err != nil {
		return nil, err
	}
	j := &jobs{
		workers: w, jobs: make([]Job, len(w)), reports: make([]workerReport, len(w)), stopAll: func() {},
		phaseChanges: phaseChanges{parts: len(w), report: reports.OnPhaseChange}, merger: NewMerger(a, len(w), reports.Second, nil),
	}
	j.merger.SecondsOnly(reports.SecondsOnly)
	reader := reports.Reader
	if reader == nil {
		reader = &measure.Reader{}
	}
	err := w.runAll(func(i int) (err error) {
		t := &j.reports[i]
		t.part.Worker = w.workerName(i)
		j.jobs[i], err = w[i].Prepare(ctx, a.Divide(i, len(w)), Reports{
			Second: func(s *measure.Second) { j.addSecond(i, s) }, SecondsOnly: true, Reader: reader,
			NewRecorder: reports.NewRecorder, OnClusterChange: reports.OnClusterChange, OnPhaseChange: func(m PhaseChange) { j.handlePhaseChange(t, m) },
		})
		return err
	})
	if err != nil {
		j.Close()
		return nil, err
	}
	return j, nil
}

// jobs is the Job of Workers. It consists of one job per worker.
type jobs struct {
	workers      Workers
	jobs         []Job
	reports      []workerReport
	phaseChanges phaseChanges
	merger       *Merger

	mu      sync.Mutex // held while a second is added to the worker's part and to the total
	stopAll func()     // stops all loads
}

// workerReport is what a worker has reported so far.
type workerReport struct {
	part         measure.Part // the worker's seconds; must be read only after its job has ended
	ending       *Ending      // must be read only after its job has ended; nil if the worker was lost
	cutOffReason string       // why the worker was cut off; empty if it was not

	mu     sync.Mutex
	opened time.Time // when the worker's window opened; zero if the window has not opened yet
	ended  bool
}

// addSecond adds a second from worker i. If a worker is so late that too many seconds from the
// other workers wait for it, addSecond cuts that worker off and stops the load. The load then ends
// with the seconds that all workers have reported.
func (j *jobs) addSecond(i int, s *measure.Second) {
	j.mu.Lock()
	defer j.mu.Unlock()
	t := &j.reports[i]
	if t.cutOffReason != "" {
		return // worker i was cut off, and its later seconds are ignored
	}
	t.part.Add(s)
	straggler, late := j.merger.Copy(i, s)
	if !late {
		return
	}
	t = &j.reports[straggler]
	t.cutOffReason = fmt.Sprintf("it reported %d seconds of the window while another worker reported %d, and the memory for the reports that must wait for this worker is full", t.part.Seconds(), j.maxSeconds())
	j.merger.End(straggler)
	j.stopAll()
}

// maxSeconds returns the largest number of seconds that any worker has reported.
func (j *jobs) maxSeconds() (n int) {
	for i := range j.reports {
		n = max(n, j.reports[i].part.Seconds())
	}
	return n
}

// handlePhaseChange handles a phase change from one worker.
func (j *jobs) handlePhaseChange(t *workerReport, m PhaseChange) {
	t.mu.Lock()
	again := t.ended
	t.ended = t.ended || m.Ended
	if m.Phase == measure.Measured && !m.Ended {
		t.opened = m.At
	}
	t.mu.Unlock()
	if !again && j.phaseChanges.addPhaseChange(m) {
		j.phaseChanges.reportPhaseChange(m)
	}
}

// Connect implements Job.
func (j *jobs) Connect(ctx context.Context) error {
	err := j.workers.runAll(func(i int) error { return j.jobs[i].Connect(ctx) })
	if err != nil {
		j.Close()
	}
	return err
}

// All workers begin at the same time. The start time must be far enough in the future that all
// workers receive it in time. The lead time is the time that it took to read the workers' clocks,
// multiplied by startDelayFactor, but at least minStartDelay.
const (
	minStartDelay    = 50 * time.Millisecond
	startDelayFactor = 4
)

// Run implements Job. All workers begin at the same time. If a worker is lost, the others stop. The
// result then contains the seconds up to the loss and the name of the lost worker.
func (j *jobs) Run(ctx context.Context, begin time.Time) (*Result, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	j.mu.Lock()
	j.stopAll = stop
	j.mu.Unlock()
	if begin.IsZero() && len(j.jobs) > 1 {
		asked := measure.Now()
		now, err := j.workers.Clock(ctx)
		if err != nil && ctx.Err() == nil {
			j.Close()
			return nil, err
		}
		begin = now.Add(max(minStartDelay, startDelayFactor*time.Since(asked)))
	}
	var hasUnopenedWorker atomic.Bool
	lost := j.workers.runAll(func(i int) error {
		t := &j.reports[i]
		res, err := j.jobs[i].Run(ctx, begin)
		j.merger.End(i)
		if behind := j.cutOffReason(i); behind != "" {
			err = errors.New(behind)
		}
		switch {
		case err == nil:
			t.ending = &res.Ending
			return nil
		case errors.Is(err, ErrNoWindow):
			hasUnopenedWorker.Store(true)
			return nil
		}
		t.part.Lost = text.Line(err.Error(), text.MaxServerText)
		stop()
		j.handlePhaseChange(t, PhaseChange{Phase: measure.Measured, Ended: true, At: measure.Now()})
		return err
	})
	for i := range j.reports {
		t := &j.reports[i]
		if t.ending == nil && !t.opened.IsZero() {
			t.ending = &Ending{Loops: 1, Opened: t.opened, Length: int64(t.part.Seconds()) * int64(time.Second), Interrupted: true}
		}
		if t.ending == nil {
			hasUnopenedWorker.Store(true)
			continue
		}
		j.merger.Merge(t.ending)
	}
	switch {
	case hasUnopenedWorker.Load() && lost != nil:
		return nil, lost
	case hasUnopenedWorker.Load():
		return nil, ErrNoWindow
	}
	res, err := j.merger.Result()
	if err == nil && res.Measured != nil {
		res.Measured.Parts = j.parts(res.Opened)
		res.Measured.MergedAfter = max(int64(time.Since(res.Opened))-res.Length, 1)
	}
	return res, err
}

// cutOffReason returns why worker i was cut off, or an empty string if it was not.
func (j *jobs) cutOffReason(i int) string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.reports[i].cutOffReason
}

// parts returns each worker's part of the result. It must be called after all workers have ended.
// opened is the time at which the first of the workers opened its window.
func (j *jobs) parts(opened time.Time) []measure.Part {
	parts := make([]measure.Part, len(j.reports))
	processes := map[process]int{}
	for i := range j.reports {
		for k := range j.reports[i].ending.Used {
			processes[j.reports[i].ending.Used[k].process()]++
		}
	}
	for i := range j.reports {
		e := j.reports[i].ending
		p := &parts[i]
		*p = j.reports[i].part
		p.Loops, p.Length, p.Window, p.Connections = e.Loops, e.Length, e.Window, e.Connections
		p.StartDelay, p.ClockError = int64(e.Opened.Sub(opened))+e.OpenedLate, e.ClockBound
		for k := range e.Used {
			u := &e.Used[k]
			p.LoopCPU, p.RunDelay, p.Machine = p.LoopCPU+u.LoopCPU, p.RunDelay+u.RunDelay, u.Machine
			if processes[u.process()] == 1 {
				p.CPUSeconds, p.ThrottledNS = addTo(p.CPUSeconds, &u.CPUSeconds), addTo(p.ThrottledNS, u.ThrottledNS)
			}
		}
	}
	return parts
}

// addTo returns the sum of *sum and *x. If one of the pointers is nil, which means that its value
// is unknown, addTo returns the other pointer.
func addTo[T int64 | float64](sum, x *T) *T {
	if sum == nil || x == nil {
		return cmp.Or(sum, x)
	}
	return new(*sum + *x)
}

// Progress implements Job. It returns the sums of all counts, and the phase of the slowest worker.
func (j *jobs) Progress() Progress {
	var all Progress
	order := []string{"connecting", measure.Warmup.String(), measure.Measured.String(), "draining"}
	phase := len(order) - 1
	for _, job := range j.jobs {
		p := job.Progress()
		all.Done += p.Done
		all.Failed += p.Failed
		all.Events += p.Events
		all.InFlight += p.InFlight
		phase = min(phase, max(slices.Index(order, p.Phase), 0))
	}
	all.Phase = order[phase]
	return all
}

// Epoch implements Job.
func (j *jobs) Epoch(term uint64) {
	for _, job := range j.jobs {
		job.Epoch(term)
	}
}

// Retarget implements Job.
func (j *jobs) Retarget(endpoints []string) {
	for _, job := range j.jobs {
		job.Retarget(endpoints)
	}
}

// Close implements Job.
func (j *jobs) Close() {
	for _, job := range j.jobs {
		if job != nil {
			job.Close()
		}
	}
}
