package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/store"
)

// otherClock is a clock that differs from ours.
type otherClock interface {
	Offset() host.Clock
	now() time.Time // time on our clock
	// toLocal converts a time on the other clock to our clock. The time is from a reply that has
	// just arrived. requestSent is the time at which the reply was requested.
	toLocal(remoteTime, requestSent time.Time) time.Time
}

// testClock is the clock that an agent uses in a test instead of the system's clock. The agent's
// worker still uses the system's clock, because a load's clock must continue even if the system's
// clock is set during the load.
type testClock func() time.Time

// Offset implements otherClock.
func (p testClock) Offset() host.Clock {
	ahead := time.Since(p())
	return host.Clock{Ahead: ahead, JumpSum: ahead}
}

func (p testClock) now() time.Time { return p() }

func (p testClock) toLocal(remoteTime, _ time.Time) time.Time {
	return remoteTime.Add(-time.Since(p()))
}

// clockConverter is a worker whose clock differs from its caller's clock. It converts times in both
// directions.
type clockConverter struct {
	load.Worker
	clock otherClock
}

// Clock implements load.Worker.
func (w clockConverter) Clock(ctx context.Context) (time.Time, error) {
	requestSent := w.clock.now()
	at, err := w.Worker.Clock(ctx)
	if err != nil {
		return time.Time{}, err
	}
	return w.clock.toLocal(at, requestSent), nil
}

// maxPrepares is the maximum number of attempts to prepare a load. An attempt is repeated if the
// worker's clock was changed during the attempt.
const maxPrepares = 3

// Prepare implements load.Worker. A load's clock starts at the time of its preparation and
// continues even if the machine's clock is changed later. Prepare therefore tries again if the
// clock was changed during the preparation.
func (w clockConverter) Prepare(ctx context.Context, a *load.Assignment, reports load.Reports) (load.Job, error) {
	report, record := reports.OnPhaseChange, reports.NewRecorder
	for range maxPrepares {
		j := convertedJob{clock: w.clock, offset: w.clock.Offset()}
		if record != nil {
			by := convertedJob{clock: w.clock, offset: j.offset}
			reports.NewRecorder = func(zero time.Time, within time.Duration) *history.Recorder {
				return record(zero.Add(-by.clockAhead()), within+by.errorBound(a))
			}
		}
		if report != nil {
			by := convertedJob{clock: w.clock, offset: j.offset} // a copy of j, because j.Job is written concurrently
			reports.OnPhaseChange = func(m load.PhaseChange) {
				m.At = m.At.Add(-by.clockAhead())
				report(m)
			}
		}
		var err error
		if j.Job, err = w.Worker.Prepare(ctx, a, reports); err != nil {
			return nil, err
		}
		if _, err = w.Clock(ctx); err == nil && w.clock.Offset().Jumps == j.offset.Jumps {
			return j, nil
		}
		if j.Close(); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("the machine's clock was set while the load was being prepared, in each of %d attempts", maxPrepares)
}

type convertedJob struct {
	load.Job
	clock  otherClock
	offset host.Clock // the other clock's offset when the job was prepared
}

// clockAhead returns how far the load's clock is ahead of the controller's clock. The load's clock
// drifts like the other machine's clock, but does not jump when that clock is set.
func (j convertedJob) clockAhead() time.Duration {
	now := j.clock.Offset()
	return now.Ahead - (now.JumpSum - j.offset.JumpSum)
}

// maxDriftRate is the maximum rate at which two clocks may drift apart: the largest correction that
// systems apply.
const maxDriftRate = 0.001

// errorBound returns the maximum error of a load's times, including the drift until the load has
// ended.
func (j convertedJob) errorBound(a *load.Assignment) time.Duration {
	maxDuration := 5*a.Load.Warmup + a.Load.Duration + a.Load.Timeout // the warm-up may be extended, and the load waits for the last responses
	if a.Load.Duration == 0 {
		maxDuration += time.Hour
	}
	now := j.clock.Offset()
	bound := now.Bound
	if !now.At.IsZero() {
		bound = now.ErrorBound(j.clock.now())
	}
	return bound + time.Duration(maxDriftRate*float64(maxDuration))
}

// Run implements load.Job.
func (j convertedJob) Run(ctx context.Context, begin time.Time) (*load.Result, error) {
	if !begin.IsZero() {
		begin = begin.Add(j.clockAhead())
	}
	res, err := j.Job.Run(ctx, begin)
	if res != nil && !res.Opened.IsZero() {
		res.Opened, res.ClockBound = res.Opened.Add(-j.clockAhead()), int64(j.clock.Offset().Bound)
	}
	return res, err
}

// adaptedWorker is a worker that adapts each assignment and passes it to another worker. It also
// adapts each error that the other worker returns.
type adaptedWorker struct {
	load.Worker
	adapt      func(*load.Assignment) (*load.Assignment, error)
	adaptError func(error) error // adapts an error; must return nil for nil
}

// wrapWorker wraps a worker on another machine. It reads the local files and environment variables
// to which an assignment refers, and sends their contents with the assignment.
func (r *Remote) wrapWorker(w load.Worker) load.Worker {
	adapt := func(a *load.Assignment) (*load.Assignment, error) {
		carried := *a
		var err error
		carried.Access, err = load.CarryAccess(&a.Access)
		return &carried, err
	}
	return adaptedWorker{w, adapt, r.nameError}
}

// nameError adds the agent's name to an error.
func (r *Remote) nameError(err error) error {
	if err == nil || errors.Is(err, load.ErrNoWindow) || errors.Is(err, context.Canceled) {
		return err
	}
	if lost := r.lost(); lost != nil {
		return lost
	}
	return fmt.Errorf("agent %s: %w", r.target.Name, err)
}

// execute adapts the assignment and calls the function `call` with it.
func execute[T any](w adaptedWorker, a *load.Assignment, call func(*load.Assignment) (T, error)) (result T, err error) {
	if a, err = w.adapt(a); err == nil {
		result, err = call(a)
	}
	return result, w.adaptError(err)
}

// Clock implements load.Worker.
func (w adaptedWorker) Clock(ctx context.Context) (time.Time, error) {
	now, err := w.Worker.Clock(ctx)
	return now, w.adaptError(err)
}

// Check implements load.Worker.
func (w adaptedWorker) Check(ctx context.Context, a *load.Assignment) (int, error) {
	return execute(w, a, func(a *load.Assignment) (int, error) { return w.Worker.Check(ctx, a) })
}

// Preload implements load.Worker.
func (w adaptedWorker) Preload(ctx context.Context, a *load.Assignment) (*load.Preloaded, error) {
	return execute(w, a, func(a *load.Assignment) (*load.Preloaded, error) { return w.Worker.Preload(ctx, a) })
}

// WriteVersions implements load.Worker.
func (w adaptedWorker) WriteVersions(ctx context.Context, a *load.Assignment) (int64, error) {
	return execute(w, a, func(a *load.Assignment) (int64, error) { return w.Worker.WriteVersions(ctx, a) })
}

// ReadBack implements load.Worker.
func (w adaptedWorker) ReadBack(ctx context.Context, a *load.Assignment, level kv.Consistency, callHistory load.RecorderFactory) (uint64, error) {
	return execute(w, a, func(a *load.Assignment) (uint64, error) { return w.Worker.ReadBack(ctx, a, level, callHistory) })
}

// Prepare implements load.Worker.
func (w adaptedWorker) Prepare(ctx context.Context, a *load.Assignment, reports load.Reports) (load.Job, error) {
	job, err := execute(w, a, func(a *load.Assignment) (load.Job, error) { return w.Worker.Prepare(ctx, a, reports) })
	if err != nil {
		return nil, err
	}
	return adaptedJob{job, w.adaptError}, nil
}

type adaptedJob struct {
	load.Job
	adaptError func(error) error
}

// Connect implements load.Job.
func (j adaptedJob) Connect(ctx context.Context) error { return j.adaptError(j.Job.Connect(ctx)) }

// Run implements load.Job.
func (j adaptedJob) Run(ctx context.Context, begin time.Time) (*load.Result, error) {
	res, err := j.Job.Run(ctx, begin)
	return res, j.adaptError(err)
}

// validatingWorker is a worker that validates assignments from another machine before it executes
// them.
type validatingWorker struct {
	adaptedWorker
	stores func(name string) (store.Store, error)
}

func newValidatingWorker(w load.Worker, stores func(name string) (store.Store, error)) validatingWorker {
	validate := func(a *load.Assignment) (*load.Assignment, error) { return a, a.Valid(stores) }
	return validatingWorker{adaptedWorker{w, validate, func(err error) error { return err }}, stores}
}

// ReadBack implements load.Worker.
func (w validatingWorker) ReadBack(ctx context.Context, a *load.Assignment, level kv.Consistency, callHistory load.RecorderFactory) (uint64, error) {
	st, err := w.stores(a.Store)
	if err == nil {
		err = a.Valid(w.stores)
	}
	if err == nil {
		err = st.Capabilities().CheckOperation(a.Store, kv.Get, level)
	}
	if err != nil {
		return 0, err
	}
	return w.Worker.ReadBack(ctx, a, level, callHistory)
}
