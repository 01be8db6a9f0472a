package trial

import (
	"context"
	"errors"

	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// Run conducts the trial, records its result and returns it. If ctx is canceled, the result covers
// the time before the cancellation. If nothing was measured before the cancellation, Run returns an
// error.
func (t *Trial) Run(ctx context.Context) (*record.Trial, error) {
	members, err := t.findMembers(ctx)
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
		return nil, clean.cleanUpFailed(a, &NotPreparedError{Cause: err})
	}
	if err := t.compactFirst(ctx, members); err != nil {
		return nil, clean.cleanUpFailed(a, err)
	}
	release, err := t.grant(ctx, a, members)
	if err != nil {
		return nil, clean.cleanUpFailed(a, err)
	}
	defer release()
	if err := t.writeEarlier(ctx, a); err != nil {
		return nil, clean.cleanUpFailed(a, err)
	}
	out, err := t.Writer.Trial(t.conditions(members, a), measure.Now())
	if err != nil {
		return nil, clean.cleanUpFailed(a, err)
	}
	result, members, err := t.measureWithRetry(ctx, a, members, out, clean)
	cleanup := clean.run(a)
	if err != nil {
		return nil, abandon(ctx, out, cleanup, err)
	}
	return t.finish(result, out, cleanup, release())
}

// admit returns the load, assigned to the endpoints of its target. It returns an error if the
// cluster does not have enough space for the load or if the load is not permitted.
func (t *Trial) admit(ctx context.Context, m *members) (*load.Assignment, error) {
	a, err := t.assignment(m)
	if err != nil {
		return nil, err
	}
	if err := t.checkSpace(m); err != nil {
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

// abandon completes the record of a trial that has no result. It returns err, joined with any
// further errors.
func abandon(ctx context.Context, out *record.TrialWriter, cleanup *record.Cleanup, err error) error {
	if cleanup != nil {
		err = errors.Join(err, keysLeft(cleanup), out.WriteCleanup(cleanup))
	}
	state := record.Failed
	if errors.Is(err, load.ErrNoWindow) || ctx.Err() != nil {
		state = record.Interrupted
	}
	if closing := out.Abort(state, err.Error()); !errors.Is(err, closing) {
		err = errors.Join(err, closing)
	}
	return err
}

// finish records the result and the clean-up. note is empty, or a note about leases that could not
// be revoked.
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

// NotPreparedError reports that the preload of a trial failed, so that the load did not begin.
type NotPreparedError struct{ Cause error }

func (e *NotPreparedError) Error() string { return e.Cause.Error() }

// Unwrap returns the reason.
func (e *NotPreparedError) Unwrap() error { return e.Cause }
