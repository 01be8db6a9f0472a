// Package bench implements the command bench, which measures one operation on a running cluster. It
// accepts the command lines of etcd's benchmark and can print that tool's summary. Each subcommand
// is a preset of package scenario plus flags.
package bench

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/runner"
	"github.com/quorumbench/quorumbench/internal/text"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// Command returns the command bench.
func Command(a *command.App) *cobra.Command {
	g := command.Group("bench", "Measure one operation on a running cluster", listed(kinds()))
	g.Long = `Measure one operation on a running cluster, and print the result.

Without --rate, each client sends its next operation when it is free (a closed loop).
With --rate, operations become due on a schedule, no matter how fast the store is (an
open loop).

bench accepts the command lines of etcd's benchmark, and --format etcd prints the summary
of that tool. One default differs: --key-space-size is the number of operations. In etcd's
benchmark it is 1, so that every operation writes the same key.`
	g.Example = `  quorumbench bench put --endpoints 10.0.0.1:2379,10.0.0.2:2379 --clients 100 --conns 10
  quorumbench bench get --store zookeeper --endpoints 10.0.0.1:2181 --rate 1000 --duration 1m`
	common := newCommon(command.NewFlags(g.PersistentFlags()), &a.Wide)
	for _, kind := range kinds() {
		g.AddCommand(newSubcommand(a, common, kind))
	}
	command.GroupCommands(g,
		command.HelpGroup{Title: "Write", Names: "put delete cas txn-put"},
		command.HelpGroup{Title: "Read", Names: "get exists range list"},
		command.HelpGroup{Title: "Write and read", Names: "mixed txn-mixed stm"},
		command.HelpGroup{Title: "Watches and leases", Names: "watch watch-latency watch-get lease-keepalive"},
	)
	return g
}

// listed joins the names of the commands into a list for a sentence: "a, b or c".
func listed(all []kind) string {
	names := make([]string, len(all))
	for i, k := range all {
		names[i] = k.name
	}
	return text.OrList(names)
}

// indented returns example command lines in the format that help uses.
func indented(lines []string) string {
	return "  quorumbench bench " + strings.Join(lines, "\n  quorumbench bench ")
}

// newSubcommand returns the subcommand for a kind.
func newSubcommand(a *command.App, common *common, kind kind) *cobra.Command {
	c := &cobra.Command{Use: strings.TrimSpace(kind.name + " " + kind.args), Short: kind.short, Example: indented(examples[kind.name]), Args: command.ArgsBetween(0, kind.maxArgs, kind.argsDescription)}
	if kind.alias != "" {
		c.Aliases = []string{kind.alias}
	}
	f := newOptions(common, kind, c.Flags())
	c.RunE = func(c *cobra.Command, args []string) error { return measure(c.Context(), a, f, args) }
	return a.AddGateFlags(c)
}

func measure(ctx context.Context, a *command.App, f *options, args []string) error {
	if err := command.RequireRunDir(f.upload, f.out); err != nil {
		return err
	}
	s, err := f.scenario(args, a.Catalog)
	if err != nil {
		return err
	}
	a.Warn(s.Warnings...)
	var done *record.Run
	err = a.ExecuteRun(ctx, runner.Options{Scenario: s, Out: f.out}, command.Rendering{
		Format: f.format, Strict: f.strict, SingleTrial: f.repeats == 1, Quiet: f.format == "etcd", Discard: f.out == "", Upload: f.upload,
		AfterResult: func(run *record.Run, dir string) error {
			done = run
			return printExtras(a, f, run, dir)
		},
	})
	switch {
	case err == nil && f.format == "text":
		f.next(a, done)
	case err == nil && f.format == "etcd" && done.Verdict() != verdict.Valid:
		a.PrintNote("the verdict is %s; --format text shows the reasons", done.Verdict())
	}
	return err
}

// next prints a suggestion for the next command.
func (f *options) next(a *command.App, run *record.Run) {
	switch suspect := run.Verdict() == verdict.Suspect; {
	case suspect && f.repeats == 1 && f.singleOnly() == "":
		a.SuggestNext("%s (repeats show how far the suspect figures vary)", a.RepeatCommand("--repeats", "5"))
	case suspect:
		a.SuggestNext("repeat the measurement on a quieter machine, or with the load generator on another machine")
	case f.out == "":
		a.SuggestNext("%s (keeps the run directory for the commands \"report\" and \"compare\")", a.RepeatCommand("--out", "DIR"))
	default:
		a.SuggestNext("quorumbench report %s --format html --out PAGE (draws charts)", text.ShellQuote(f.out))
	}
	a.SuggestMore(f.out)
}
