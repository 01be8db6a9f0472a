package cli

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/quorumbench/quorumbench/internal/readable"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/results/report"
	"github.com/quorumbench/quorumbench/internal/run/runner"
)

func (a *app) benchCommand() *cobra.Command {
	g := group("bench", "Measure one operation on a cluster that runs already", "put, get, range, list, delete, cas, txn-put, mixed, txn-mixed, stm, lease-keepalive, watch, watch-get or watch-latency")
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
	c := &cobra.Command{Use: strings.TrimSpace(kind.name + " " + kind.args), Short: kind.short, Args: takes(0, kind.most, kind.takes)}
	if kind.alias != "" {
		c.Aliases = []string{kind.alias}
	}
	f := newBenchFlags(common, kind, c.Flags())
	c.RunE = func(c *cobra.Command, args []string) error { return a.bench(c.Context(), f, args) }
	return a.gated(c, false)
}

func (a *app) bench(ctx context.Context, f *benchFlags, args []string) error {
	s, err := f.scenario(args, a.catalog)
	if err != nil {
		return err
	}
	a.warn(s.Warnings...)
	return a.conduct(ctx, runner.Options{Scenario: s, Out: f.out}, rendering{
		format: f.format, strict: f.strict, single: f.repeats == 1, discard: f.out == "",
		then: func(run *record.Run, dir string) error { return a.afterwards(f, run, dir) },
	})
}

// afterwards is what `bench` does with a record that `run` does not.
func (a *app) afterwards(f *benchFlags, run *record.Run, dir string) error {
	if f.repeats > 1 {
		return nil // etcd's benchmark has no summary of several
	}
	if len(run.Trials) == 0 || run.Trials[0].Opened == nil {
		return nil // what went wrong was told
	}
	t := &run.Trials[0]
	if err := a.classic(f, dir, t); err != nil {
		return err
	}
	if h := t.Hashes; h != nil && h.Failure != "" {
		return fmt.Errorf("the members' data could not be compared: %s", h.Failure)
	}
	return nil
}

// classic prints the summary of etcd's benchmark below ours, and writes the
// perfdash report.
func (a *app) classic(f *benchFlags, dir string, t *record.Trial) error {
	files, err := record.OpenTrial(dir, t.Folder)
	if err != nil {
		return err
	}
	summary := f.summary
	summary.Operations, summary.Created, summary.Events = f.kind.sections.Operations, f.kind.sections.Created, f.kind.sections.Events
	if f.format == "text" {
		if f.manyKeys() && t.KeySpace > 1 {
			summary.Note = fmt.Sprintf("The key space has %s keys; etcd's benchmark overwrites 1 key unless --key-space-size says otherwise.", readable.Count(t.KeySpace))
		}
		if err := summary.Write(a.stdout, t, files); err != nil {
			return err
		}
	}
	if f.perfdash {
		return a.perfdash(f, summary, t, files)
	}
	return nil
}

// manyKeys reports whether the command has more keys than the one of the same
// name in etcd's benchmark would have, because nobody said how many.
func (f *benchFlags) manyKeys() bool {
	return f.set.Lookup("key-space-size") != nil && !f.given("key-space-size") &&
		slices.Contains([]string{"put", "txn-put", "txn-mixed"}, f.kind.name)
}

// artifacts is the folder of perfdash reports, unless $ARTIFACTS names one.
const artifacts = "_artifacts"

func (a *app) perfdash(f *benchFlags, summary report.Classic, t *record.Trial, files *record.Files) error {
	dir := os.Getenv("ARTIFACTS")
	if dir == "" {
		dir = artifacts
		// Where others can write, a link of theirs would choose the folder.
		if info, err := os.Lstat(dir); err == nil && info.Mode()&os.ModeSymlink != 0 {
			return fmt.Errorf("%s is a symbolic link, and the perfdash report is not written through one; name its folder with the variable ARTIFACTS", dir)
		}
	}
	path, err := summary.WritePerfdash(dir, f.kind.name, t, files, time.Now())
	if err == nil {
		a.remark("the perfdash report is in %s", path)
	}
	return err
}
