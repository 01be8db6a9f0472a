package load

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
)

// Workers are several that do one assignment together, each its shard: what they
// report is merged to what one worker would have reported. The first does what is
// done once, such as the preload.
type Workers []Worker

var _ Worker = Workers(nil)

// together does something with each of several at the same time, and returns the
// first error, with the number of whose it is.
func together[T any](all []T, do func(i int, one T) error) error {
	errs := make([]error, len(all))
	var running sync.WaitGroup
	for i, one := range all {
		running.Go(func() { errs[i] = do(i, one) })
	}
	running.Wait()
	for i, err := range errs {
		if err != nil && len(all) > 1 {
			return fmt.Errorf("worker %d of %d: %w", i+1, len(all), err)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// Clock implements Worker: it is the latest of all.
func (w Workers) Clock(ctx context.Context) (time.Time, error) {
	times := make([]time.Time, len(w))
	err := together(w, func(i int, one Worker) (err error) {
		times[i], err = one.Clock(ctx)
		return err
	})
	if err != nil {
		return time.Time{}, err
	}
	return slices.MaxFunc(times, time.Time.Compare), nil
}

// Check implements Worker: every worker asks every endpoint.
func (w Workers) Check(ctx context.Context, a *Assignment) (loops int, err error) {
	if err := w.divisible(a); err != nil {
		return 0, err
	}
	each := make([]int, len(w))
	err = together(w, func(i int, one Worker) (err error) {
		each[i], err = one.Check(ctx, a.Divide(i, len(w)))
		return err
	})
	for _, n := range each {
		loops += n
	}
	return loops, err
}

func (w Workers) divisible(a *Assignment) error {
	if len(w) == 0 {
		return errors.New("there is no worker to generate load")
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

// Prepare implements Worker.
func (w Workers) Prepare(ctx context.Context, a *Assignment, to Reports) (Job, error) {
	if err := w.divisible(a); err != nil {
		return nil, err
	}
	j := &jobs{workers: w, jobs: make([]Job, len(w)), marks: marks{of: len(w), report: to.Mark}, all: NewGathering(a, len(w), to.Second, nil)}
	err := together(w, func(i int, one Worker) (err error) {
		j.jobs[i], err = one.Prepare(ctx, a.Divide(i, len(w)), Reports{
			Second: func(s *measure.Second) { j.all.Add(i, s.Clone()) }, Changed: to.Changed, Mark: j.mark,
		})
		return err
	})
	if err != nil {
		j.Close()
		return nil, err
	}
	return j, nil
}

// jobs are a job of each worker.
type jobs struct {
	workers Workers
	jobs    []Job
	marks   marks
	all     *Gathering
}

// mark is called by each worker.
func (j *jobs) mark(m Mark) {
	if j.marks.take(m) {
		j.marks.pass(m)
	}
}

// Connect implements Job.
func (j *jobs) Connect(ctx context.Context) error {
	err := together(j.jobs, func(_ int, one Job) error { return one.Connect(ctx) })
	if err != nil {
		j.Close()
	}
	return err
}

// beginIn is how long it may take to send all workers the time to begin.
const beginIn = 50 * time.Millisecond

// Run implements Job. All begin at one time, and when one fails the others stop.
func (j *jobs) Run(ctx context.Context, begin time.Time) (*Result, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if begin.IsZero() && len(j.jobs) > 1 {
		now, err := j.workers.Clock(ctx)
		if err != nil && ctx.Err() == nil {
			j.Close()
			return nil, err
		}
		begin = now.Add(beginIn)
	}
	var never atomic.Bool
	err := together(j.jobs, func(i int, one Job) error {
		res, err := one.Run(ctx, begin)
		j.all.End(i)
		switch {
		case err == nil:
			j.all.Merge(&res.Ending)
		case errors.Is(err, ErrNeverOpened):
			never.Store(true)
			return nil
		default:
			stop()
		}
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case never.Load():
		return nil, ErrNeverOpened
	}
	return j.all.Result()
}

// Progress implements Job: the sum, and the phase of the last.
func (j *jobs) Progress() Progress {
	var all Progress
	order := []string{"connecting", measure.Warmup.String(), measure.Measured.String(), "draining"}
	phase := len(order) - 1
	for _, one := range j.jobs {
		p := one.Progress()
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
	for _, one := range j.jobs {
		one.Epoch(term)
	}
}

// Retarget implements Job.
func (j *jobs) Retarget(endpoints []string) {
	for _, one := range j.jobs {
		one.Retarget(endpoints)
	}
}

// Close implements Job.
func (j *jobs) Close() {
	for _, one := range j.jobs {
		if one != nil {
			one.Close()
		}
	}
}
