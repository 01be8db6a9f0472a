package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/quorumbench/quorumbench/internal/run/load"
	"github.com/quorumbench/quorumbench/internal/store"
)

// shifted is a worker whose clock is ahead of the one that its caller knows: times
// are the caller's, in both directions.
type shifted struct {
	load.Worker
	ahead func() time.Duration
}

// Clock implements load.Worker.
func (w shifted) Clock(ctx context.Context) (time.Time, error) {
	at, err := w.Worker.Clock(ctx)
	return at.Add(-w.ahead()), err
}

// Prepare implements load.Worker.
func (w shifted) Prepare(ctx context.Context, a *load.Assignment, to load.Reports) (load.Job, error) {
	ahead := w.ahead() // a load counts on from its beginning, whatever its clock is set to meanwhile
	if report := to.Mark; report != nil {
		to.Mark = func(m load.Mark) {
			m.At = m.At.Add(-ahead)
			report(m)
		}
	}
	job, err := w.Worker.Prepare(ctx, a, to)
	if err != nil {
		return nil, err
	}
	return shiftedJob{job, ahead}, nil
}

type shiftedJob struct {
	load.Job
	ahead time.Duration
}

// Run implements load.Job.
func (j shiftedJob) Run(ctx context.Context, begin time.Time) (*load.Result, error) {
	if !begin.IsZero() {
		begin = begin.Add(j.ahead)
	}
	res, err := j.Job.Run(ctx, begin)
	if res != nil && !res.Opened.IsZero() {
		res.Opened = res.Opened.Add(-j.ahead)
	}
	return res, err
}

// carrying is a worker on another machine: what an assignment refers to, files and
// variables, is read here, and crosses as it is.
type carrying struct{ load.Worker }

// Check implements load.Worker.
func (w carrying) Check(ctx context.Context, a *load.Assignment) (int, error) {
	return carried(a, func(a *load.Assignment) (int, error) { return w.Worker.Check(ctx, a) })
}

// Preload implements load.Worker.
func (w carrying) Preload(ctx context.Context, a *load.Assignment) (*load.Preloaded, error) {
	return carried(a, func(a *load.Assignment) (*load.Preloaded, error) { return w.Worker.Preload(ctx, a) })
}

// WriteVersions implements load.Worker.
func (w carrying) WriteVersions(ctx context.Context, a *load.Assignment) (int64, error) {
	return carried(a, func(a *load.Assignment) (int64, error) { return w.Worker.WriteVersions(ctx, a) })
}

// Prepare implements load.Worker.
func (w carrying) Prepare(ctx context.Context, a *load.Assignment, to load.Reports) (load.Job, error) {
	return carried(a, func(a *load.Assignment) (load.Job, error) { return w.Worker.Prepare(ctx, a, to) })
}

func carried[T any](a *load.Assignment, do func(*load.Assignment) (T, error)) (none T, err error) {
	one := *a
	if one.Access, err = load.Carry(&a.Access); err != nil {
		return none, err
	}
	return do(&one)
}

// checked is a worker whose assignments come from another machine: each is looked
// at as a whole before it is carried out.
type checked struct {
	load.Worker
	stores func(name string) (store.Store, error)
}

// Check implements load.Worker.
func (w checked) Check(ctx context.Context, a *load.Assignment) (int, error) {
	if err := a.Valid(w.stores); err != nil {
		return 0, err
	}
	return w.Worker.Check(ctx, a)
}

// Preload implements load.Worker.
func (w checked) Preload(ctx context.Context, a *load.Assignment) (*load.Preloaded, error) {
	if err := a.Valid(w.stores); err != nil {
		return nil, err
	}
	return w.Worker.Preload(ctx, a)
}

// WriteVersions implements load.Worker.
func (w checked) WriteVersions(ctx context.Context, a *load.Assignment) (int64, error) {
	if err := a.Valid(w.stores); err != nil {
		return 0, err
	}
	return w.Worker.WriteVersions(ctx, a)
}

// Prepare implements load.Worker.
func (w checked) Prepare(ctx context.Context, a *load.Assignment, to load.Reports) (load.Job, error) {
	if err := a.Valid(w.stores); err != nil {
		return nil, err
	}
	return w.Worker.Prepare(ctx, a, to)
}

// named is the worker of an agent, which its errors name.
type named struct {
	load.Worker
	r *Remote
}

// of names the agent in an error.
func (w named) of(err error) error {
	if err == nil || errors.Is(err, load.ErrNeverOpened) || errors.Is(err, context.Canceled) {
		return err
	}
	if lost := w.r.lost(); lost != nil {
		return lost
	}
	return fmt.Errorf("agent %s: %w", w.r.target.Name, err)
}

// Clock implements load.Worker.
func (w named) Clock(ctx context.Context) (time.Time, error) {
	at, err := w.Worker.Clock(ctx)
	return at, w.of(err)
}

// Check implements load.Worker.
func (w named) Check(ctx context.Context, a *load.Assignment) (int, error) {
	loops, err := w.Worker.Check(ctx, a)
	return loops, w.of(err)
}

// Preload implements load.Worker.
func (w named) Preload(ctx context.Context, a *load.Assignment) (*load.Preloaded, error) {
	p, err := w.Worker.Preload(ctx, a)
	return p, w.of(err)
}

// WriteVersions implements load.Worker.
func (w named) WriteVersions(ctx context.Context, a *load.Assignment) (int64, error) {
	first, err := w.Worker.WriteVersions(ctx, a)
	return first, w.of(err)
}

// Prepare implements load.Worker.
func (w named) Prepare(ctx context.Context, a *load.Assignment, to load.Reports) (load.Job, error) {
	job, err := w.Worker.Prepare(ctx, a, to)
	if err != nil {
		return nil, w.of(err)
	}
	return namedJob{job, w}, nil
}

type namedJob struct {
	load.Job
	w named
}

// Connect implements load.Job.
func (j namedJob) Connect(ctx context.Context) error { return j.w.of(j.Job.Connect(ctx)) }

// Run implements load.Job.
func (j namedJob) Run(ctx context.Context, begin time.Time) (*load.Result, error) {
	res, err := j.Job.Run(ctx, begin)
	return res, j.w.of(err)
}
