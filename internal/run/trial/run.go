package trial

import (
	"context"
	"errors"

	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// Run conducts the trial, and records and returns its result. If ctx ends, the result
// covers what was measured until then; if nothing was measured, the error says so.
func (t *Trial) Run(ctx context.Context) (*record.Trial, error) {
	members, err := t.reach(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { members.close() }()
	if t.logs, err = t.followLogs(ctx); err != nil {
		return nil, err
	}
	defer t.logs.close()
	a, err := t.admit(ctx, members)
	if err != nil {
		return nil, err
	}
	clean, err := t.newCleaner(ctx, members)
	if err != nil {
		return nil, err
	}
	defer clean.close()
	if err := t.tryOperations(ctx, a, members); err != nil {
		return nil, err
	}
	t.findLocalMembers(ctx, members)
	t.userNotes = userNotes(ctx, members, &a.Access)
	if members, err = t.preload(ctx, a, members, clean); err != nil {
		return nil, clean.failed(a, &NotPreparedError{Why: err})
	}
	if err := t.compactFirst(ctx, members); err != nil {
		return nil, clean.failed(a, err)
	}
	release, err := t.grant(ctx, a, members)
	if err != nil {
		return nil, clean.failed(a, err)
	}
	defer release()
	if err := t.writeEarlier(ctx, a); err != nil {
		return nil, clean.failed(a, err)
	}
	out, err := t.Writer.Trial(t.conditions(members, a), measure.Now())
	if err != nil {
		return nil, clean.failed(a, err)
	}
	result, members, err := t.measureAnswering(ctx, a, members, out, clean)
	cleanup := clean.run(a)
	if err != nil {
		return nil, abandon(ctx, out, cleanup, err)
	}
	return t.finish(result, out, cleanup, release())
}

// admit returns the load with its target after all checks: there is space for it, and it
// may do what it does.
func (t *Trial) admit(ctx context.Context, m *members) (*load.Assignment, error) {
	a, err := t.assignment(m)
	if err != nil {
		return nil, err
	}
	if err := t.checkRoom(m); err != nil {
		return nil, err
	}
	if err := t.checkRights(ctx, m); err != nil {
		return nil, err
	}
	if err := t.claim(ctx); err != nil {
		return nil, err
	}
	return a, nil
}

// abandon ends the record of a trial without a result, and returns the reason.
func abandon(ctx context.Context, out *record.TrialWriter, cleanup *record.Cleanup, err error) error {
	if cleanup != nil {
		err = errors.Join(err, keysLeft(cleanup), out.CleanedUp(cleanup))
	}
	state := record.Failed
	if errors.Is(err, load.ErrNeverOpened) || ctx.Err() != nil {
		state = record.Interrupted
	}
	if closing := out.Abort(state, err.Error()); !errors.Is(err, closing) {
		err = errors.Join(err, closing)
	}
	return err
}

// finish records the result and the clean-up. note reports leases that were left.
func (t *Trial) finish(result *record.Trial, out *record.TrialWriter, cleanup *record.Cleanup, note string) (*record.Trial, error) {
	if note != "" {
		result.Notes = append(result.Notes, note)
	}
	if result.Cleanup = cleanup; cleanup.Err() != nil {
		result.Notes = append(result.Notes, cleanup.Err().Error())
	}
	if err := out.Finish(*result); err != nil {
		t.Unrecorded = result
		return nil, err
	}
	return result, nil
}

// NotPreparedError reports that the preload of a trial failed. The trial did not begin.
type NotPreparedError struct{ Why error }

func (e *NotPreparedError) Error() string { return e.Why.Error() }

// Unwrap returns the reason.
func (e *NotPreparedError) Unwrap() error { return e.Why }
