package cli

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// resumeFlags lists the flags that cannot be combined with --resume, because their values are in
// the record.
var resumeFlags = []string{
	"dry-run", "validate", "out", "runs-dir", "data-dir", "seed", "scale", "verify", "store", "exec",
	"until-precision", "at-most", "until-metric", "on",
}

// preparedRun is a run to execute: a new run, or a recorded run that is resumed.
type preparedRun struct {
	scenario *scenario.Scenario
	asked    record.CommandLineSettings
	resume   *record.Resumption // nil for a new run
}

// loadResumedRun reads a recorded run for --resume, and locks the run directory.
func (a *commandLine) loadResumedRun(f *runFlags, args []string) (_ *preparedRun, err error) {
	for _, flag := range resumeFlags {
		if f.isGiven(flag) {
			return nil, command.Usage("--resume continues the run with its original options; remove --%s", flag)
		}
	}
	t := &preparedRun{}
	if t.resume, err = record.Resume(f.resume); err != nil {
		return nil, command.Usage("--resume: %w", err)
	}
	defer func() {
		if err != nil {
			t.resume.Close()
		}
	}()
	run := t.resume.Run
	t.asked = run.CommandLine
	o, err := recordedOptions(run, f.set)
	if err != nil {
		return nil, err
	}
	if len(args) == 0 {
		t.scenario, err = scenario.Parse(run.Name+".yaml", []byte(run.Scenario), a.Catalog, o)
	} else {
		t.scenario, err = a.load(args, o)
	}
	if err != nil {
		return nil, &command.Exit{Code: command.ExitUsage, Cause: err}
	}
	t.scenario.Reseed(run.Seed)
	hidden := func(spec scenario.Trial) bool {
		return spec.Cluster.RunningCluster != nil && strings.HasSuffix(spec.Cluster.RunningCluster.User, ":***")
	}
	if len(args) == 0 && slices.ContainsFunc(t.scenario.Trials, hidden) {
		return nil, command.Usage("--resume: the record does not contain the password that is in the scenario file; name this file, too: run FILE --resume %s", f.resume)
	}
	return t, nil
}

// recordedOptions returns the options with which a run was started. From the assignments in `set`,
// it takes only a password, because records contain no passwords.
func recordedOptions(run *record.Run, set []scenario.Assignment) (scenario.Options, error) {
	o := scenario.Options{Scale: run.Scale, Store: run.CommandLine.Store, Version: run.CommandLine.Version, Exec: run.CommandLine.Exec}
	if u := run.RepeatRule; u != nil {
		o.RepeatRule = scenario.RepeatRule{Precision: u.Precision, TimeLimit: time.Duration(u.AtMostNS), Metrics: u.Metrics}
	}
	for _, text := range run.CommandLine.Set {
		if text == "user" {
			i := slices.IndexFunc(set, func(s scenario.Assignment) bool { return s.Key == text })
			if i < 0 {
				return o, command.Usage("--resume: the record does not contain the password with which the run was started; give it again with --set user=NAME:PASSWORD")
			}
			o.Assignments, set = append(o.Assignments, set[i]), slices.Delete(set, i, i+1)
			continue
		}
		s, err := scenario.ParseAssignment(text)
		if err != nil {
			return o, command.Usage("--resume: the record is damaged: %w", err)
		}
		o.Assignments = append(o.Assignments, s)
	}
	if len(set) > 0 {
		return o, command.Usage("--resume continues the run with its original options; remove --set %s", set[0].Redacted(load.Applications()))
	}
	return o, nil
}

// loadNewRun reads the scenario and the options for a new run.
func (a *commandLine) loadNewRun(f *runFlags, args []string) (*preparedRun, error) {
	options, err := f.options()
	if err != nil {
		return nil, err
	}
	if options.Store != "" {
		if err := command.CheckStore(options.Store, a.Catalog); err != nil {
			return nil, err
		}
	}
	s, err := a.load(args, options)
	if err != nil {
		return nil, &command.Exit{Code: command.ExitUsage, Cause: err}
	}
	if f.isGiven("seed") {
		s.Reseed(f.seed)
	}
	t := &preparedRun{scenario: s, asked: commandLineSettings(&options)}
	if f.dataDir != "" {
		if t.asked.DataDir, err = filepath.Abs(f.dataDir); err != nil {
			return nil, fmt.Errorf("--data-dir: %w", err)
		}
	}
	return t, nil
}

// commandLineSettings returns the settings that a run records of its options, without passwords.
func commandLineSettings(o *scenario.Options) record.CommandLineSettings {
	s := record.CommandLineSettings{Store: o.Store, Version: o.Version, Exec: o.Exec}
	for _, one := range o.Assignments {
		s.Set = append(s.Set, one.Redacted(load.Applications()))
	}
	return s
}
