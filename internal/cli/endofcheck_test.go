package cli

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/trial"
	"github.com/quorumbench/quorumbench/internal/testing/runs"
)

// keysLeft is the error of a run whose last clean-up failed.
var keysLeft = &trial.KeysLeftError{Cause: errors.New("keys are left")}

func TestEndOfCheck(t *testing.T) {
	interrupted := errors.Join(context.Canceled, keysLeft)
	unread := &command.Exit{Code: command.ExitUndecided, Cause: errors.New("no memory was read")}
	for _, test := range []struct {
		name           string
		state          record.State
		own            bool
		cleanup        string
		judged, runErr error
		code           int
		want           string
	}{
		{name: "passed", state: record.Complete},
		{name: "failed", state: record.Complete, judged: checkError(false, false, nil), code: command.ExitFailed},
		{name: "passed with keys left", state: record.Complete, runErr: keysLeft, code: command.ExitFailed, want: "keys are left"},
		{name: "failed with keys left", state: record.Complete, judged: checkError(false, false, nil), runErr: keysLeft, code: command.ExitFailed, want: "keys are left"},
		{name: "unread with keys left", state: record.Complete, judged: unread, runErr: keysLeft, code: command.ExitUndecided, want: "no memory was read; keys are left"},
		{name: "passed with a failed clean-up", state: record.Complete, cleanup: "it timed out", code: command.ExitFailed,
			want: "some keys that the load wrote may still exist: it timed out"},
		{name: "interrupted", state: record.Interrupted, runErr: context.Canceled, code: command.ExitInterrupted, want: "interrupted; the written keys have been removed"},
		{name: "interrupted with keys left", state: record.Interrupted, runErr: interrupted, code: command.ExitInterrupted, want: "interrupted; keys are left"},
		{name: "interrupted clean-up", state: record.Complete, runErr: interrupted, code: command.ExitInterrupted, want: "interrupted; keys are left"},
		{name: "interrupted with an own cluster", state: record.Interrupted, own: true, runErr: context.Canceled, code: command.ExitInterrupted, want: "interrupted; the cluster has been stopped"},
	} {
		measured := &record.Trial{}
		measured.State, measured.Cleanup = test.state, &record.Cleanup{Failure: test.cleanup}
		err := endOfCheck(measured, test.own, test.judged, test.runErr)
		if text := fmt.Sprint(err); command.ExitCode(err) != test.code || err != nil && text != test.want {
			t.Errorf("%s: the error is %q with exit code %d, want %q with exit code %d", test.name, text, command.ExitCode(err), test.want, test.code)
		}
	}
}

// If only the clean-up failed, the check still reads its record, so that it can print the result.
func TestCheckIsJudgedAlthoughItsCleanupFailed(t *testing.T) {
	a, f := &commandLine{&command.App{}}, &checkFlags{format: "text"}
	dir := runs.Run{Name: "check", Warmup: 1, Seconds: 2, PerSecond: 100, Seed: 1}.Record(t, t.TempDir())
	if run, err := a.checkedRun(f, dir, keysLeft); err != nil || len(run.Trials) != 1 {
		t.Errorf("with keys left, reading the record returned %v, want one trial", err)
	}
	if _, err := a.checkedRun(f, dir, errors.New("it broke")); err == nil || err.Error() != "it broke" {
		t.Errorf("for a broken run, the error is %v, want the runner's error", err)
	}
	empty := runs.Run{Name: "check", Warmup: 1, Seconds: 2, PerSecond: 100, Seed: 1}.Start(t, t.TempDir()).Finish()
	if _, err := a.checkedRun(f, empty, keysLeft); !errors.Is(err, keysLeft) {
		t.Errorf("without a trial, the error is %v, want the runner's error", err)
	}
}
