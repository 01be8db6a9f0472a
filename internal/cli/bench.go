package cli

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/quorumbench/quorumbench/internal/run/runner"
)

func (a *app) benchCommand() *cobra.Command {
	var commands []*cobra.Command
	for _, kind := range benchKinds() {
		commands = append(commands, a.benchOne(kind))
	}
	g := group("bench", "Measure one operation on a cluster that runs already", "put, get, range, delete or mixed", commands...)
	g.Long = `Measure one operation on a cluster that runs already, and print what came of it.

Without --rate each client sends when it is free (a closed loop); with it,
operations become due on a schedule whatever the store does (an open loop).`
	return g
}

func (a *app) benchOne(kind benchKind) *cobra.Command {
	c := &cobra.Command{Use: kind.name, Short: kind.short, Args: takes(0, 0, "")}
	if kind.name == "range" {
		c.Use = "range KEY [END]"
		c.Args = takes(1, 2, "KEY and perhaps END, the first key after the interval")
	}
	f := newBenchFlags(kind, c.Flags())
	c.RunE = func(c *cobra.Command, args []string) error { return a.bench(c.Context(), f, kind, args) }
	return c
}

func (a *app) bench(ctx context.Context, f *benchFlags, kind benchKind, args []string) (err error) {
	s, err := f.scenario(kind, args, a.catalog)
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
	return a.conduct(ctx, runner.Options{Scenario: s, Out: out}, rendering{
		format: f.format, strict: f.strict, single: true, hideDir: f.out == "",
	})
}
