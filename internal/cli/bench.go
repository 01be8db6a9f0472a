package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/results/report"
	"github.com/quorumbench/quorumbench/internal/run/runner"
)

func (a *app) benchCommand() *cobra.Command {
	g := group("bench", "Measure one operation on a cluster that runs already", "put, get, range, list, delete, cas, txn-put or mixed")
	g.Long = `Measure one operation on a cluster that runs already, and print what came of it.

Without --rate each client sends when it is free (a closed loop); with it,
operations become due on a schedule whatever the store does (an open loop).

The command lines of etcd's benchmark work here, and so do scripts that read
its summary. One default differs: --key-space-size is the number of operations
instead of 1, with which one key is overwritten for ever.`
	common := newBenchCommon(newFlags(g.PersistentFlags()))
	for _, kind := range benchKinds() {
		g.AddCommand(a.benchOne(common, kind))
	}
	return g
}

func (a *app) benchOne(common *benchCommon, kind benchKind) *cobra.Command {
	c := &cobra.Command{Use: kind.name, Short: kind.short, Args: takes(0, 0, "")}
	if kind.alias != "" {
		c.Aliases = []string{kind.alias}
	}
	if kind.name == "range" {
		c.Use = "range KEY [END]"
		c.Args = takes(1, 2, "KEY and perhaps END, the first key after the interval")
	}
	f := newBenchFlags(common, kind, c.Flags())
	c.RunE = func(c *cobra.Command, args []string) error { return a.bench(c.Context(), f, args) }
	return a.gated(c, false)
}

func (a *app) bench(ctx context.Context, f *benchFlags, args []string) (err error) {
	s, err := f.scenario(args, a.catalog)
	if err != nil {
		return err
	}
	a.warn(s.Warnings...)
	out := f.out
	if out == "" {
		if out, err = os.MkdirTemp("", "quorumbench-bench-"); err != nil {
			return fmt.Errorf("there is no room for the record; name a folder with --out: %w", err)
		}
		defer func() {
			if gone := os.RemoveAll(out); gone != nil && err == nil {
				err = fmt.Errorf("the record in %s cannot be removed: %w", out, gone)
			}
		}()
	}
	began := time.Now()
	err = a.conduct(ctx, runner.Options{Scenario: s, Out: out}, rendering{
		format: f.format, strict: f.strict, single: true, hideDir: f.out == "",
	})
	if also := a.classic(f, out, began); also != nil && err == nil {
		err = also
	}
	return err
}

// classic prints the summary of etcd's benchmark below ours, and writes the
// perfdash report, if there is anything to tell.
func (a *app) classic(f *benchFlags, dir string, began time.Time) error {
	run, err := record.Open(dir)
	if err != nil || run.Started.Before(began) || len(run.Trials) == 0 || run.Trials[0].Opened == nil {
		return nil // what went wrong was told, such as that another run's record is here
	}
	t := &run.Trials[0]
	files, err := record.OpenTrial(dir, t.Folder)
	if err != nil {
		return err
	}
	if f.format == "text" {
		summary := f.summary
		if !f.given("key-space-size") && !f.kind.reads() && t.KeySpace > 1 {
			summary.Note = fmt.Sprintf("The key space has %s keys; etcd's benchmark overwrites 1 key unless --key-space-size says otherwise.", report.Count(t.KeySpace))
		}
		if err := summary.Write(a.stdout, t, files); err != nil {
			return err
		}
	}
	if !f.perfdash {
		return nil
	}
	path, err := report.WritePerfdash(cmp.Or(os.Getenv("ARTIFACTS"), "_artifacts"), f.kind.name, t, files, time.Now())
	if err == nil {
		_, _ = fmt.Fprintf(a.stderr, "quorumbench: the perfdash report is in %s\n", path)
	}
	return err
}
