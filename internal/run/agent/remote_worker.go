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
	now() time.Time // by our clock
	// toLocal converts a time of the other clock that was requested at asked and has just
	// arrived.
	toLocal(theirs, asked time.Time) time.Time
}

// pretended is the clock of an agent whose clock was replaced, for its worker, which uses
// the system's clock: a load's clock continues from its beginning, whatever the clock is
// set to meanwhile.
type pretended func() time.Time

// Offset implements otherClock.
func (p pretended) Offset() host.Clock {
	ahead := time.Since(p())
	return host.Clock{Ahead: ahead, Set: ahead}
}

func (p pretended) now() time.Time { return p() }

func (p pretended) toLocal(theirs, _ time.Time) time.Time { return theirs.Add(-time.Since(p())) }

// shifted is a worker with another clock than its caller's. It converts times in both
// directions.
type shifted struct {
	load.Worker
	by otherClock
}

// Clock implements load.Worker.
func (w shifted) Clock(ctx context.Context) (time.Time, error) {
	asked := w.by.now()
	at, err := w.Worker.Clock(ctx)
	if err != nil {
		return time.Time{}, err
	}
	return w.by.toLocal(at, asked), nil
}

// mostPrepares is how often a load is prepared again because the worker's clock was set
// meanwhile.
const mostPrepares = 3

// Prepare implements load.Worker. A load's clock continues from the time of its preparation
// even if the machine's clock is set later, so this time must be certain.
func (w shifted) Prepare(ctx context.Context, a *load.Assignment, to load.Reports) (load.Job, error) {
	report, record := to.Mark, to.History
	for range mostPrepares {
		j := shiftedJob{by: w.by, from: w.by.Offset()}
		if record != nil {
			by := shiftedJob{by: w.by, from: j.from}
			to.History = func(zero time.Time, within time.Duration) *history.Recorder {
				return record(zero.Add(-by.ahead()), within+by.within(a))
			}
		}
		if report != nil {
			by := shiftedJob{by: w.by, from: j.from} // j.Job is written concurrently
			to.Mark = func(m load.Mark) {
				m.At = m.At.Add(-by.ahead())
				report(m)
			}
		}
		var err error
		if j.Job, err = w.Worker.Prepare(ctx, a, to); err != nil {
			return nil, err
		}
		if _, err = w.Clock(ctx); err == nil && w.by.Offset().Jumps == j.from.Jumps {
			return j, nil
		}
		if j.Close(); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("its clock was set while the load was prepared, %d times", mostPrepares)
}

type shiftedJob struct {
	load.Job
	by   otherClock
	from host.Clock // when the job was prepared
}

// ahead returns how far the load's clock is ahead: it drifts with the other clock and
// ignores that it was set.
func (j shiftedJob) ahead() time.Duration {
	now := j.by.Offset()
	return now.Ahead - (now.Set - j.from.Set)
}

// drifts bounds the rate at which two clocks may drift apart: the greatest correction that
// systems apply.
const drifts = 0.001

// within bounds the error of a load's times until the load has ended.
func (j shiftedJob) within(a *load.Assignment) time.Duration {
	lasts := 5*a.Load.Warmup + a.Load.Duration + a.Load.Timeout // a warm-up can be extended, and responses are awaited
	if a.Load.Duration == 0 {
		lasts += time.Hour
	}
	now := j.by.Offset()
	bound := now.Bound
	if !now.At.IsZero() {
		bound = now.Within(j.by.now())
	}
	return bound + time.Duration(drifts*float64(lasts))
}

// Run implements load.Job.
func (j shiftedJob) Run(ctx context.Context, begin time.Time) (*load.Result, error) {
	if !begin.IsZero() {
		begin = begin.Add(j.ahead())
	}
	res, err := j.Job.Run(ctx, begin)
	if res != nil && !res.Opened.IsZero() {
		res.Opened, res.ClockBound = res.Opened.Add(-j.ahead()), int64(j.by.Offset().Bound)
	}
	return res, err
}

// wrapped is a worker that adapts each assignment before another worker executes it, and
// each error that this returns.
type wrapped struct {
	load.Worker
	adapt func(*load.Assignment) (*load.Assignment, error)
	fail  func(error) error // returns nil for nil
}

// carry returns a worker for one on another machine: it reads the files and variables to
// which an assignment refers here, and sends their contents.
func (r *Remote) carry(w load.Worker) load.Worker {
	adapt := func(a *load.Assignment) (*load.Assignment, error) {
		carried := *a
		var err error
		carried.Access, err = load.Carry(&a.Access)
		return &carried, err
	}
	return wrapped{w, adapt, r.nameError}
}

// nameError names the agent in an error.
func (r *Remote) nameError(err error) error {
	if err == nil || errors.Is(err, load.ErrNeverOpened) || errors.Is(err, context.Canceled) {
		return err
	}
	if lost := r.lost(); lost != nil {
		return lost
	}
	return fmt.Errorf("agent %s: %w", r.target.Name, err)
}

// execute calls do with the adapted assignment.
func execute[T any](w wrapped, a *load.Assignment, do func(*load.Assignment) (T, error)) (result T, err error) {
	if a, err = w.adapt(a); err == nil {
		result, err = do(a)
	}
	return result, w.fail(err)
}

// Clock implements load.Worker.
func (w wrapped) Clock(ctx context.Context) (time.Time, error) {
	now, err := w.Worker.Clock(ctx)
	return now, w.fail(err)
}

// Check implements load.Worker.
func (w wrapped) Check(ctx context.Context, a *load.Assignment) (int, error) {
	return execute(w, a, func(a *load.Assignment) (int, error) { return w.Worker.Check(ctx, a) })
}

// Preload implements load.Worker.
func (w wrapped) Preload(ctx context.Context, a *load.Assignment) (*load.Preloaded, error) {
	return execute(w, a, func(a *load.Assignment) (*load.Preloaded, error) { return w.Worker.Preload(ctx, a) })
}

// WriteVersions implements load.Worker.
func (w wrapped) WriteVersions(ctx context.Context, a *load.Assignment) (int64, error) {
	return execute(w, a, func(a *load.Assignment) (int64, error) { return w.Worker.WriteVersions(ctx, a) })
}

// ReadBack implements load.Worker.
func (w wrapped) ReadBack(ctx context.Context, a *load.Assignment, level kv.Consistency, to load.History) (uint64, error) {
	return execute(w, a, func(a *load.Assignment) (uint64, error) { return w.Worker.ReadBack(ctx, a, level, to) })
}

// Prepare implements load.Worker.
func (w wrapped) Prepare(ctx context.Context, a *load.Assignment, to load.Reports) (load.Job, error) {
	job, err := execute(w, a, func(a *load.Assignment) (load.Job, error) { return w.Worker.Prepare(ctx, a, to) })
	if err != nil {
		return nil, err
	}
	return wrappedJob{job, w.fail}, nil
}

type wrappedJob struct {
	load.Job
	fail func(error) error
}

// Connect implements load.Job.
func (j wrappedJob) Connect(ctx context.Context) error { return j.fail(j.Job.Connect(ctx)) }

// Run implements load.Job.
func (j wrappedJob) Run(ctx context.Context, begin time.Time) (*load.Result, error) {
	res, err := j.Job.Run(ctx, begin)
	return res, j.fail(err)
}

// checked is a worker that validates whole assignments from another machine before it
// executes them.
type checked struct {
	wrapped
	stores func(name string) (store.Store, error)
}

func newChecked(w load.Worker, stores func(name string) (store.Store, error)) checked {
	validate := func(a *load.Assignment) (*load.Assignment, error) { return a, a.Valid(stores) }
	return checked{wrapped{w, validate, func(err error) error { return err }}, stores}
}

// ReadBack implements load.Worker.
func (w checked) ReadBack(ctx context.Context, a *load.Assignment, level kv.Consistency, to load.History) (uint64, error) {
	st, err := w.stores(a.Store)
	if err == nil {
		err = a.Valid(w.stores)
	}
	if err == nil {
		err = st.Capabilities().Operation(a.Store, kv.Get, level)
	}
	if err != nil {
		return 0, err
	}
	return w.Worker.ReadBack(ctx, a, level, to)
}
