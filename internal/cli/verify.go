package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/results/report"
	"github.com/quorumbench/quorumbench/internal/results/verify"
	"github.com/quorumbench/quorumbench/internal/text"
)

func (a *commandLine) verifyCommand() *cobra.Command {
	c := &cobra.Command{
		Use:     "verify RUN",
		Short:   "Verify the responses in a run that recorded its operations",
		Example: `  quorumbench verify runs/20261122T222014Z-quick`,
		Long: `Verify the responses in the history of a run directory (from run --verify or
bench --verify). If the run was interrupted or killed, the recorded part is verified. The
record does not change.

The exit code is 1 if there is a violation. Otherwise, it is 6 if the run has no history, or if
a trial has no response that could be verified. Otherwise, it is 0.`,
		Args: command.ArgsBetween(1, 1, "a run directory"),
	}
	c.RunE = func(c *cobra.Command, args []string) error { return a.verify(c.Context(), args[0]) }
	return c
}

func (a *commandLine) verify(ctx context.Context, dir string) error {
	run, err := record.Open(dir)
	if err != nil {
		return err
	}
	d := a.Display(a.Screen)
	defer d.Clear()
	ctx, stop := command.Interruptible(ctx, func() { d.Note("stopping cleanly; press Ctrl-C again to stop at once") })
	defer stop()
	verified, wrong, unverified := 0, 0, 0
	for i := range run.Trials {
		t := &run.Trials[i]
		if t.Folder == "." || filepath.Base(t.Folder) != t.Folder || !filepath.IsLocal(t.Folder) {
			continue // no run creates such a folder; the record lists it as a problem
		}
		paths, err := history.Files(filepath.Join(dir, t.Folder))
		if err != nil {
			return err
		}
		if len(paths) == 0 {
			continue
		}
		began, name := time.Now(), analyze.Label(t)
		result, err := verify.CheckFiles(ctx, paths, func(reading int, operations uint64) {
			d.Update(fmt.Sprint(i, reading), time.Since(began), fmt.Sprintf("%s: verifying, %s in pass %d", name, text.Plural(operations, "operation"), reading))
		})
		switch {
		case errors.Is(err, context.Canceled):
			return &command.Exit{Code: command.ExitInterrupted, Cause: errors.New("interrupted")}
		case err != nil:
			return fmt.Errorf("%s: %w", name, err)
		}
		d.Clear()
		if result.Bytes, err = history.Size(paths); err != nil {
			return err
		}
		a.Printf("%s\n", name)
		for _, line := range report.VerificationLines(result.WithMemberNames(membersOf(run, t))) {
			a.Printf("  %s\n", line)
		}
		verified++
		switch {
		case len(result.WrongByKind) > 0:
			wrong++
		case result.VerifiedOperations == 0:
			unverified++
		}
	}
	switch {
	case verified == 0:
		return &command.Exit{Code: command.ExitUndecided, Cause: fmt.Errorf("%s has no history of operations, because the run did not verify responses; run it again with --verify", dir)}
	case wrong > 0:
		return fmt.Errorf("the store gave wrong responses in %s", text.Plural(uint64(wrong), "trial"))
	case unverified > 0:
		return &command.Exit{Code: command.ExitUndecided, Cause: fmt.Errorf("no response in %s could be verified, for the reasons above; repeat the run and let it end", text.Plural(uint64(unverified), "trial"))}
	}
	return nil
}

// membersOf returns the members of a trial's cluster that are in the record.
func membersOf(run *record.Run, t *record.Trial) (all []record.Member) {
	for i := range run.Clusters {
		if run.Clusters[i].ID == t.Cluster {
			all = append(all, run.Clusters[i].Members...)
		}
	}
	for i := range t.ByMember {
		m := &t.ByMember[i]
		all = append(all, record.Member{ID: m.ID, Name: m.Name, Endpoint: m.Endpoint})
	}
	return all
}
