package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/analyze/compare"
	"github.com/quorumbench/quorumbench/internal/results/figures"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/results/report"
	"github.com/quorumbench/quorumbench/internal/results/upload"
	"github.com/quorumbench/quorumbench/internal/results/verify"
	"github.com/quorumbench/quorumbench/internal/run/runner"
	"github.com/quorumbench/quorumbench/internal/run/trial"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// Rendering holds the settings with which ExecuteRun prints, keeps and uploads the result of a run.
type Rendering struct {
	Format      string // text or json
	Strict      bool
	SingleTrial bool // print the only trial instead of a table
	Quiet       bool // print no result, because AfterResult prints the result
	Discard     bool // record in a temporary folder, which is removed at the end
	// Upload is the destination of the run directory, or nil if the directory is not uploaded.
	Upload *upload.Destination
	// AfterResult prints additional output of the command, after the result of the run and before
	// the list of missed thresholds. It may be nil.
	AfterResult func(run *record.Run, dir string) error
}

// ExecuteRun executes a run, reads its record, prints the result, checks the gate's thresholds and
// uploads the run directory.
func (a *App) ExecuteRun(ctx context.Context, o runner.Options, rendering Rendering) (failed error) {
	defer ReduceMemory()()
	path, err := Self()
	if err != nil {
		return err
	}
	if err := a.Gate.Begin(o.Scenario); err != nil {
		return err
	}
	d := a.Display(a.Screen)
	defer d.Clear()
	ctx, stop := d.Interruptible(ctx, func() { d.Note("stopping cleanly; press Ctrl-C again to stop at once") })
	defer stop()
	if err := Reachable(ctx, rendering.Upload); err != nil {
		return err
	}
	if rendering.Discard {
		remove, err := TemporaryOut(&o, d.Note)
		if err != nil {
			return err
		}
		defer remove(&failed)
	}
	dir, err := a.conduct(ctx, o, rendering, path, d)
	return a.UploadAfterRun(ctx, rendering.Upload, dir, err)
}

// conduct executes, prints and judges a run whose options have been checked. It returns the run
// directory, or an empty string if the run created none.
func (a *App) conduct(ctx context.Context, o runner.Options, rendering Rendering, path string, d *Display) (dir string, failed error) {
	o.Lookup, o.Self, o.Tool, o.Progress, o.Notify, o.VerifyResponses = a.Lookup, path, Tool(), d.show, d.Note, verify.CheckFiles
	o.Calibration = a.Calibrated()
	o.StopReason = func(trials []*record.Trial) record.EndReason {
		r := compare.NewRepeatProgress(record.NewRepeatRule(o.Scenario.RepeatRule), trials)
		d.Line(report.RoundProgress(r))
		return r.Ending()
	}
	var unrecorded []record.Trial
	o.OnUnrecorded = func(t record.Trial) { unrecorded = append(unrecorded, t) }
	lines := a.Gate.reportSeconds(&o, d)
	d.Follow(&o)
	published, err := a.Publish(&o, d.Note)
	if err != nil {
		lines.end(nil, nil, err)
		return "", err
	}
	dir, runErr := runner.Run(ctx, o)
	published.End(d.Note)
	d.Clear()
	if dir == "" {
		err := runError(nil, runErr, rendering.Strict)
		lines.end(nil, nil, err)
		return "", err
	}
	run, err := record.Open(dir)
	if err != nil {
		lines.end(nil, nil, err)
		return dir, errors.Join(runErr, err)
	}
	withUnrecorded(run, unrecorded)
	figures.ReadTrialFiles(run, dir)
	unprinted := a.render(run, dir, rendering)
	var afterErr error
	if rendering.AfterResult != nil {
		afterErr = rendering.AfterResult(run, dir)
	}
	err = runError(run, runErr, rendering.Strict)
	missed, checking := a.CheckMissed(a.Gate, run)
	lines.end(run, missed, err)
	switch {
	case unprinted != nil:
		return dir, errors.Join(runErr, unprinted)
	case err != nil:
		return dir, err
	case afterErr != nil:
		return dir, failIfMissed(afterErr, missed)
	case checking != nil:
		return dir, checking
	}
	return dir, ExitForMissed(missed)
}

// failIfMissed returns the error of AfterResult. If a threshold is missed, the error's exit code is
// ExitFailed instead of ExitUndecided.
func failIfMissed(err error, missed []analyze.Missed) error {
	if ExitCode(err) == ExitUndecided && ExitCode(ExitForMissed(missed)) == ExitFailed {
		return &Exit{Code: ExitFailed, Cause: err}
	}
	return err
}

// withUnrecorded adds to a run the trials that were measured but could not be recorded. So their
// results are printed even if the disk is full.
func withUnrecorded(run *record.Run, trials []record.Trial) {
	for _, t := range trials {
		at := slices.IndexFunc(run.Trials, func(of record.Trial) bool { return of.Number == t.Number && of.Repeat == t.Repeat })
		if at < 0 {
			run.Trials = append(run.Trials, t)
			continue
		}
		t.Folder, t.Dir, t.Calibration = run.Trials[at].Folder, run.Trials[at].Dir, run.Trials[at].Calibration
		run.Trials[at] = t
	}
}

// render prints the result of a run: a table, one trial, or one JSON object.
func (a *App) render(run *record.Run, dir string, rendering Rendering) error {
	if rendering.Discard {
		dir = ""
	}
	switch {
	case rendering.Quiet:
		return nil
	case rendering.SingleTrial && len(run.Trials) == 0:
		return nil // there is no result; the error states the reason
	case rendering.SingleTrial:
		return a.Report(rendering.Format, report.Trial(&run.Trials[0], dir))
	}
	return a.Report(rendering.Format, report.Run(run, compare.EvaluateParts(run), dir))
}

// Report writes a finding to standard output in the format that --format selected.
func (a *App) Report(format string, f report.Finding) error {
	switch format {
	case "json":
		return report.JSON(a.Stdout, f)
	case "csv":
		return report.CSV(a.Stdout, f)
	case "markdown":
		return report.Markdown(a.Stdout, f)
	}
	return report.StyledText(a.Stdout, f, a.Wide, a.Stdout.style)
}

// runError returns the error that determines the exit code. The error depends on the record and on
// the runner's error. run is nil if nothing was recorded.
func runError(run *record.Run, err error, strict bool) error {
	var left *trial.KeysLeftError
	switch {
	case errors.Is(err, context.Canceled) && errors.As(err, &left):
		return &Exit{Code: ExitInterrupted, Cause: fmt.Errorf("interrupted; %w", left)}
	case errors.Is(err, context.Canceled) && (run == nil || len(run.Trials) == 0):
		return &Exit{Code: ExitInterrupted, Cause: errors.New("interrupted before anything was measured")}
	case errors.Is(err, context.Canceled), err == nil && run != nil && run.State == record.Interrupted:
		return &Exit{Code: ExitInterrupted, Cause: errors.New("interrupted")}
	case errors.As(err, &left) && run != nil && len(run.Trials) > 0:
		if judged := verdictError(run, strict); judged != nil {
			return fmt.Errorf("%w; %w", judged, err)
		}
		return err
	case err != nil:
		return err
	case run == nil:
		return nil
	case run.State == record.Failed:
		return errors.New(run.Failure)
	}
	return verdictError(run, strict)
}

// verdictError returns an error if the verdict of any trial is invalid, or is suspect and strict is
// set.
func verdictError(run *record.Run, strict bool) error {
	worst := run.Verdict()
	if worst == verdict.Valid || worst == verdict.Suspect && !strict {
		return nil
	}
	return fmt.Errorf("the verdict is %s%s", worst, describeWorst(run, worst))
}

// describeWorst names the trials with the given verdict. If the run has only one trial,
// describeWorst returns the reason for the verdict instead.
func describeWorst(run *record.Run, worst verdict.State) string {
	var names []string
	for i := range run.Trials {
		if run.Trials[i].Verdict.State == worst {
			names = append(names, run.Trials[i].Name)
		}
	}
	if len(run.Trials) == 1 && len(run.Trials[0].Verdict.Reasons) > 0 {
		return ": " + run.Trials[0].Verdict.Reasons[0].Text
	}
	if len(names) == 0 {
		return ""
	}
	return " for " + strings.Join(names, ", ")
}
