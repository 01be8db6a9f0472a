package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/trial"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// judged returns a run that has one trial for each verdict.
func judged(states ...verdict.State) *record.Run {
	r := &record.Run{State: record.Complete}
	for i, s := range states {
		t := record.Trial{Verdict: verdict.Verdict{State: s}}
		t.Name = fmt.Sprintf("t%d", i+1)
		if s != verdict.Valid {
			t.Verdict.Reasons = []verdict.Reason{{Rule: 5, Text: "it stood still"}}
		}
		r.Trials = append(r.Trials, t)
	}
	return r
}

func TestEnded(t *testing.T) {
	interrupted := judged(verdict.Suspect)
	interrupted.State = record.Interrupted
	failed := judged(verdict.Valid)
	failed.State, failed.Failure = record.Failed, "the disk is full"
	for _, test := range []struct {
		name   string
		run    *record.Run
		err    error
		strict bool
		code   int
		text   string
	}{
		{"valid", judged(verdict.Valid), nil, true, ExitSuccess, ""},
		{"suspect", judged(verdict.Valid, verdict.Suspect), nil, false, ExitSuccess, ""},
		{"suspect and strict", judged(verdict.Valid, verdict.Suspect), nil, true, ExitFailed, "the verdict is suspect for t2"},
		{"invalid", judged(verdict.Invalid, verdict.Suspect, verdict.Invalid), nil, false, ExitFailed, "the verdict is invalid for t1, t3"},
		{"one invalid", judged(verdict.Invalid), nil, false, ExitFailed, "the verdict is invalid: it stood still"},
		{"no trial", judged(), nil, false, ExitFailed, "the verdict is invalid"},
		{"error", judged(verdict.Valid), errors.New("it broke"), false, ExitFailed, "it broke"},
		{"error before the record", nil, errors.New("it broke"), false, ExitFailed, "it broke"},
		{"wrong file", nil, Usage("bad"), false, ExitUsage, "bad"},
		{"failed", failed, nil, false, ExitFailed, "the disk is full"},
		{"interrupted", interrupted, fmt.Errorf("x: %w", context.Canceled), false, ExitInterrupted, "interrupted"},
		{"interrupted without an error", interrupted, nil, false, ExitInterrupted, "interrupted"},
		{"interrupted with keys left", interrupted, errors.Join(context.Canceled, &trial.KeysLeftError{Cause: errors.New("keys are left")}), false, ExitInterrupted, "interrupted; keys are left"},
		{"interrupted before the record", nil, context.Canceled, false, ExitInterrupted, "interrupted before anything was measured"},
		{"interrupted before the first trial", judged(), context.Canceled, false, ExitInterrupted, "interrupted before anything was measured"},
	} {
		err := runError(test.run, test.err, test.strict)
		if got := ExitCode(err); got != test.code {
			t.Errorf("%s: exit code %d, not %d", test.name, got, test.code)
		}
		if test.text != "" && err.Error() != test.text {
			t.Errorf("%s: %q, not %q", test.name, err, test.text)
		}
	}
}

// A missed threshold takes precedence over data that could not be compared.
func TestMissedThresholdTakesPrecedence(t *testing.T) {
	undecided := &Exit{Code: ExitUndecided, Cause: errors.New("cannot compare")}
	for _, test := range []struct {
		name   string
		err    error
		missed []analyze.Missed
		code   int
	}{
		{"no threshold is missed", undecided, nil, ExitUndecided},
		{"a threshold cannot be judged", undecided, []analyze.Missed{{Undecided: true}}, ExitUndecided},
		{"a threshold is missed", undecided, []analyze.Missed{{Undecided: true}, {}}, ExitFailed},
		{"another error", &Exit{Code: ExitUsage, Cause: errors.New("cannot compare")}, []analyze.Missed{{}}, ExitUsage},
	} {
		if err := failIfMissed(test.err, test.missed); ExitCode(err) != test.code || err.Error() != "cannot compare" {
			t.Errorf("%s: the error is %q with exit code %d, want the unchanged text and exit code %d", test.name, err, ExitCode(err), test.code)
		}
	}
}

func TestRenderWithoutTrialsPrintsNothingForOne(t *testing.T) {
	for _, format := range []string{"text", "json"} {
		var b bytes.Buffer
		a := &App{Stdout: NewOutput(&b)}
		if err := a.render(judged(), "dir", Rendering{Format: format, SingleTrial: true}); err != nil || b.Len() > 0 {
			t.Errorf("%s: the error is %v and the output %q, want neither", format, err, b.String())
		}
	}
}

func TestRenderTheRunAsOneObject(t *testing.T) {
	var b bytes.Buffer
	a := &App{Stdout: NewOutput(&b), Gate: &Gate{}}
	if err := a.render(judged(verdict.Valid), "dir", Rendering{Format: "json"}); err != nil {
		t.Fatal(err)
	}
	var object struct{ State string }
	if err := json.Unmarshal(b.Bytes(), &object); err != nil || object.State != "complete" {
		t.Errorf("the object's state is %q, %v", object.State, err)
	}
}
