package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/results/report"
	"github.com/quorumbench/quorumbench/internal/run/runner"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// rendering is how a run's result is to be shown.
type rendering struct {
	format  string // text or json
	strict  bool
	single  bool // the run's one trial instead of a table
	discard bool // the record is made in a temporary folder, and goes at the end
	// then prints what the command has to say beyond that, before the thresholds
	// that were missed; nil for nothing.
	then func(run *record.Run, dir string) error
}

// conduct carries out a run, reopens its record, prints it and holds it to the
// command's gate.
func (a *app) conduct(ctx context.Context, o runner.Options, as rendering) (err error) {
	path, err := self()
	if err != nil {
		return err
	}
	if err := a.gate.begin(o.Scenario); err != nil {
		return err
	}
	d := newDisplay(a.screen)
	defer d.clear()
	ctx, stop := interruptible(ctx, func() { d.note("stopping; press Ctrl-C again to stop at once") })
	defer stop()
	if as.discard {
		if o.Out, err = os.MkdirTemp("", "quorumbench-bench-"); err != nil {
			return fmt.Errorf("there is no room for the record; name a folder with --out: %w", err)
		}
		defer func() {
			if gone := os.RemoveAll(o.Out); gone != nil && err == nil {
				err = fmt.Errorf("the record in %s cannot be removed: %w", o.Out, gone)
			}
		}()
	}
	o.Lookup, o.Self, o.Tool, o.Progress = a.lookup, path, tool(), d.show
	lines := a.gate.told(&o, d)
	dir, runErr := runner.Run(ctx, o)
	d.clear()
	if dir == "" {
		err := ended(nil, runErr, as.strict)
		lines.end(nil, nil, err)
		return err
	}
	run, err := record.Open(dir)
	if err != nil {
		lines.end(nil, nil, err)
		return errors.Join(runErr, err)
	}
	run.ReadEvents(dir)
	unprinted := a.render(run, dir, as)
	var then error
	if as.then != nil {
		then = as.then(run, dir)
	}
	err = ended(run, runErr, as.strict)
	missed, checking := a.missed(a.gate, run, dir)
	lines.end(run, missed, err)
	switch {
	case unprinted != nil:
		return errors.Join(runErr, unprinted)
	case err != nil:
		return err
	case then != nil:
		return then
	case checking != nil:
		return checking
	case len(missed) > 0:
		return &exit{code: ExitFailed}
	}
	return nil
}

// render prints what the record says: a table or one trial, or one JSON object.
func (a *app) render(run *record.Run, dir string, as rendering) error {
	if as.discard {
		dir = ""
	}
	switch {
	case as.format == "json" && as.single:
		if len(run.Trials) == 0 {
			return nil // there is no result; the error says why
		}
		return report.JSON(a.stdout, &run.Trials[0])
	case as.single && as.format != "json":
		if len(run.Trials) == 0 {
			return nil
		}
		return report.Summary(a.stdout, &run.Trials[0], dir)
	}
	comparisons, wrong := a.gate.comparisons(run)
	if as.format == "json" {
		return errors.Join(report.RunJSON(a.stdout, run, comparisons), wrong)
	}
	if err := report.Text(a.stdout, run, dir); err != nil {
		return err
	}
	for _, c := range comparisons {
		if err := report.Compare(a.stdout, c); err != nil {
			return err
		}
	}
	return wrong
}

// json prints one object.
func (a *app) json(v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("the result cannot be written as JSON: %w", err)
	}
	a.printf("%s\n", b)
	return nil
}

// ended turns what a run came to into an error, which decides the exit code.
// run is nil when nothing was recorded.
func ended(run *record.Run, err error, strict bool) error {
	switch {
	case errors.Is(err, context.Canceled), err == nil && run != nil && run.State == record.Interrupted:
		return &exit{code: ExitInterrupted, cause: errors.New("interrupted")}
	case err != nil:
		return err
	case run == nil:
		return nil
	case run.State == record.Failed:
		return errors.New(run.Failure)
	}
	worst := run.Verdict()
	if worst == verdict.Valid || worst == verdict.Suspect && !strict {
		return nil
	}
	return fmt.Errorf("the verdict is %s%s", worst, blame(run, worst))
}

// blame names the trials with the given verdict, or why the only one has it.
func blame(run *record.Run, worst verdict.State) string {
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
