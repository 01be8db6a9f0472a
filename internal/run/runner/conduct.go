package runner

import (
	"context"
	"errors"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/trial"
)

// Run conducts the scenario's trials and returns the run directory, even if an error ends the run.
// If ctx is canceled, Run records the results so far and returns ctx's error.
func Run(ctx context.Context, o Options) (dir string, err error) {
	if err := FindServers(&o); err != nil {
		return "", err
	}
	r, err := begin(ctx, o)
	if err != nil && ctx.Err() != nil {
		err = interrupted(ctx, err)
	}
	if err != nil {
		return "", err
	}
	err = r.conduct(ctx)
	r.endedTrials = len(r.plan)
	err = joinErrors(err, r.release(context.WithoutCancel(ctx)))
	// The context has no cancellation, so that members have their full time to stop even after
	// Ctrl-C.
	err = r.disconnectHosts(joinErrors(err, r.stopCluster(context.WithoutCancel(ctx))))
	if len(r.connectedHosts) > 0 {
		_ = r.out.SetHosts(r.recordedHosts(true)) // the writer remembers an error
	}
	state, failure := record.Complete, ""
	switch {
	case ctx.Err() != nil:
		state, err = record.Interrupted, interrupted(ctx, err)
	case err != nil:
		state, failure = record.Failed, err.Error()
	}
	if finishing := r.out.Finish(state, failure, measure.Now()); !errors.Is(err, finishing) {
		err = errors.Join(err, finishing)
	}
	return r.out.Dir(), err
}

// interrupted returns the error of a run whose ctx was canceled. If keys may remain in the store,
// the error also says so.
func interrupted(ctx context.Context, err error) error {
	var left *trial.KeysLeftError
	if errors.As(err, &left) {
		return errors.Join(context.Cause(ctx), left)
	}
	return context.Cause(ctx)
}

// begin prepares the run and creates its directory.
func begin(ctx context.Context, o Options) (r *run, err error) {
	r = &run{Options: o, rates: rates{}, began: measure.Now(), host: newHost()}
	defer func() {
		if err != nil {
			err = r.disconnectHosts(err)
		}
	}()
	if o.Resume != nil {
		if r.resumed, err = prepareResume(&r.Options); err != nil {
			return r, err
		}
	}
	if err := r.connectHosts(ctx); err != nil {
		return r, err
	}
	if err := r.checkHosts(ctx); err != nil {
		return r, err
	}
	machines, err := r.describeHosts(ctx)
	if err != nil {
		return r, err
	}
	cleanOrphans(r.began, r.Notify)
	if r.resumed != nil {
		if err := r.resumed.checkMachines(machines); err != nil {
			return r, err
		}
		r.started = o.Resume.Clusters()
		r.out, err = o.Resume.Writer(r.began, machines, r.recordedHosts(false))
		return r.attachObserver(err)
	}
	about := record.Run{
		Name: o.Scenario.Name, Tool: o.Tool, Seed: o.Scenario.Seed, Scenario: string(o.Scenario.Source), CommandLine: o.Asked, Scale: o.Scenario.Scale,
		Planned: len(o.Scenario.Trials), RepeatRule: record.NewRepeatRule(o.Scenario.RepeatRule), Machines: machines, Hosts: r.recordedHosts(false),
		Calibration: o.Calibration,
	}
	if o.Out != "" {
		r.out, err = record.CreateAt(o.Out, r.began, about)
	} else {
		r.out, err = record.Create(o.Root, o.Scenario.Name, r.began, about)
	}
	return r.attachObserver(err)
}

// attachObserver attaches the observer to the record of the run, unless err is set. It returns the
// run and err.
func (r *run) attachObserver(err error) (*run, error) {
	if err == nil {
		r.out.Observe(r.Observer)
	}
	return r, err
}

func (r *run) conduct(ctx context.Context) error {
	switch {
	case r.Next != nil:
		return r.conductPlanned(ctx)
	case r.Scenario.RepeatRule != nil:
		return r.repeatUntilPrecise(ctx)
	}
	r.plan = r.Scenario.Trials
	_, err := r.trials(ctx, r.plan)
	return err
}
