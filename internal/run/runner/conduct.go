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
	return newRun(o).execute(ctx)
}

func newRun(o Options) *run {
	return &run{Options: o, rates: rates{}, began: measure.Now(), host: newHost()}
}

// execute executes the run and returns the run directory, even if an error ends the run.
func (r *run) execute(ctx context.Context) (dir string, err error) {
	err = r.begin(ctx)
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
func (r *run) begin(ctx context.Context) (err error) {
	defer func() {
		if err != nil {
			err = r.disconnectHosts(err)
		}
	}()
	if r.Resume != nil {
		if r.resumed, err = prepareResume(&r.Options); err != nil {
			return err
		}
	}
	if err := r.connectHosts(ctx); err != nil {
		return err
	}
	if err := r.checkHosts(ctx); err != nil {
		return err
	}
	machines, err := r.describeHosts(ctx)
	if err != nil {
		return err
	}
	cleanOrphans(r.began, r.Notify)
	if r.resumed != nil {
		if err := r.resumed.checkMachines(machines); err != nil {
			return err
		}
		r.started = r.Resume.Clusters()
	}
	if r.out, err = r.openRecord(machines); err != nil {
		return err
	}
	r.out.Observe(r.Observer)
	return nil
}

// openRecord creates the run directory, or opens it if the run is resumed.
func (r *run) openRecord(machines []measure.Machine) (*record.Writer, error) {
	if r.resumed != nil {
		return r.Resume.Writer(r.began, machines, r.recordedHosts(false))
	}
	about := record.Run{
		Name: r.Scenario.Name, Tool: r.Tool, Seed: r.Scenario.Seed, Scenario: string(r.Scenario.Source), CommandLine: r.Asked, Scale: r.Scenario.Scale,
		Planned: len(r.Scenario.Trials), RepeatRule: record.NewRepeatRule(r.Scenario.RepeatRule), Machines: machines, Hosts: r.recordedHosts(false),
		Calibration: r.Calibration,
	}
	if r.Out != "" {
		return record.CreateAt(r.Out, r.began, about)
	}
	return record.Create(r.Root, r.Scenario.Name, r.began, about)
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
