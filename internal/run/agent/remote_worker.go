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
	// toLocal converts a time on the other clock to our clock. The time is from a reply that has just
	// arrived. asked is the time at which the reply was requested.
	toLocal(theirs, asked time.Time) time.Time
}

// pretended is the clock that an agent uses in a test instead of the system's clock. The agent's
// worker still uses the system's clock, because a load's clock must continue even if the system's
// clock is set during the load.
type pretended func() time.Time

// Offset implements otherClock.
func (p pretended) Offset() host.Clock {
	ahead := time.Since(p())
	return host.Clock{Ahead: ahead, Set: ahead}
}

func (p pretended) now() time.Time { return p() }

func (p pretended) toLocal(theirs, _ time.Time) time.Time { return theirs.Add(-time.Since(p())) }

// shifted is a worker whose clock differs from its caller's clock. It converts times in both
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

// mostPrepares is the maximum number of attempts to prepare a load if the worker's clock is set
// during the preparation.
const mostPrepares = 3

// Prepare implements load.Worker. A load's clock starts at the time of its preparation and
// continues even if the machine's clock is set later. Prepare therefore tries again if the clock is
// set during the preparation.
func (w shifted) Prepare(ctx context.Context, a *load.Assignment, to load.Reports) (load.Job, error) {
	report, record := to.Mark, to.History
	for range mostPrepares {
		j := shiftedJob{by: w.by, from: w.by.Offset()}
		if record != nil {
			by := shiftedJob{by: w.by, from: j.from}
			to.History = func(zero time.Time, within time.Duration) *history.Recorder {
				return record(zero.Add(-by.clockAhead()), within+by.errorBound(a))
			}
		}
		if report != nil {
			by := shiftedJob{by: w.by, from: j.from} // a copy of j, because j.Job is written concurrently
			to.Mark = func(m load.Mark) {
				m.At = m.At.Add(-by.clockAhead())
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
	return nil, fmt.Errorf("the machine's clock was set while the load was being prepared, in each of %d attempts", mostPrepares)
}

type shiftedJob struct {
	load.Job
	by   otherClock
	from host.Clock // the other clock's offset when the job was prepared
}

// clockAhead returns how far the load's clock is ahead of the controller's. The load's clock drifts
// like the other machine's clock, but does not jump when that clock is set.
func (j shiftedJob) clockAhead() time.Duration {
	now := j.by.Offset()
	return now.Ahead - (now.Set - j.from.Set)
}

// drifts is the maximum rate at which two clocks may drift apart: the largest correction that
// systems apply.
const drifts = 0.001

// errorBound returns the maximum error of a load's times, including the drift until the load has
// ended.
func (j shiftedJob) errorBound(a *load.Assignment) time.Duration {
	lasts := 5*a.Load.Warmup + a.Load.Duration + a.Load.Timeout // the warm-up may be extended, and the load waits for the last responses
	if a.Load.Duration == 0 {
		lasts += time.Hour
	}
	now := j.by.Offset()
	bound := now.Bound
	if !now.At.IsZero() {
		bound = now.ErrorBound(j.by.now())
	}
	return bound + time.Duration(drifts*float64(lasts))
}

// Run implements load.Job.
func (j shiftedJob) Run(ctx context.Context, begin time.Time) (*load.Result, error) {
	if !begin.IsZero() {
		begin = begin.Add(j.clockAhead())
	}
	res, err := j.Job.Run(ctx, begin)
	if res != nil && !res.Opened.IsZero() {
		res.Opened, res.ClockBound = res.Opened.Add(-j.clockAhead()), int64(j.by.Offset().Bound)
	}
	return res, err
}

// wrapped is a worker that adapts each assignment and passes it to another worker. It also adapts
// each error that the other worker returns.
type wrapped struct {
	load.Worker
	adapt func(*load.Assignment) (*load.Assignment, error)
	fail  func(error) error // adapts an error; must return nil for nil
}

// carry wraps a worker on another machine. It reads the local files and environment variables to
// which an assignment refers, and sends their contents with the assignment.
func (r *Remote) carry(w load.Worker) load.Worker {
	adapt := func(a *load.Assignment) (*load.Assignment, error) {
		carried := *a
		var err error
		carried.Access, err = load.CarryAccess(&a.Access)
		return &carried, err
	}
	return wrapped{w, adapt, r.nameError}
}

// nameError adds the agent's name to an error.
func (r *Remote) nameError(err error) error {
	if err == nil || errors.Is(err, load.ErrNeverOpened) || errors.Is(err, context.Canceled) {
		return err
	}
	if lost := r.lost(); lost != nil {
		return lost
	}
	return fmt.Errorf("agent %s: %w", r.target.Name, err)
}

// execute adapts the assignment and calls the function do with it.
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

// checked is a worker that validates assignments from another machine before it executes them.
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
		err = st.Capabilities().CheckOperation(a.Store, kv.Get, level)
	}
	if err != nil {
		return 0, err
	}
	return w.Worker.ReadBack(ctx, a, level, to)
}
