package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/runner"
	"github.com/quorumbench/quorumbench/internal/run/trial"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// The exit codes of `check` beyond those of every command: those of etcdctl.
const (
	ExitNotEmpty    = 3 // there are keys with the prefix
	ExitUnknownLoad = 4
)

func (a *app) checkCommand() *cobra.Command {
	g := command.Group("check", "Check whether a cluster, or a disk, is good enough", "perf, datascale or disk",
		a.checkPerfCommand(), a.checkDatascaleCommand(), a.checkDiskCommand())
	g.Long = `Check whether a running cluster, or a disk, is good enough: the checks of etcdctl
for every store, with the reason when one fails. What they write they remove.`
	return g
}

// checkFlags are what the checks of a cluster share: flags over a preset.
type checkFlags struct {
	command.AttachFlags
	preset     *scenario.Command
	load       string
	prefix     string
	compact    bool
	defragment bool
	conns      int
	timeout    time.Duration
	threads    int
	seed       uint64
	verbose    bool
	format     string
	out        string
	dataDir    string // of `check perf`
}

func newCheckFlags(preset string) checkFlags {
	c := scenario.NewCommand(preset)
	c.Names["max-in-flight"] = "--clients" // of an open loop
	return checkFlags{
		AttachFlags: command.NewAttachFlags(), preset: c, load: "s", prefix: c.Default(c.Parameter("prefix")),
		timeout: scenario.DefaultLoad().Timeout, seed: scenario.DefaultSeed, format: "text",
	}
}

func (f *checkFlags) register(r command.Flags, loads string) {
	r.Text("load", &f.load, "s|m|l|xl", loads)
	r.Text("prefix", &f.prefix, "TEXT", "what every key begins with; no such key may be there")
	r.Toggle("auto-compact", &f.compact, "compact the history when it is done")
	r.Toggle("auto-defrag", &f.defragment, "defragment every member when it is done")
	f.Register(r)
	r.Whole("conns", &f.conns, "connections; 0 is one for each client")
	r.Span("timeout", &f.timeout, "of one write, from when it is sent")
	r.Whole("threads", &f.threads, "event loops of the generator; 0 chooses")
	r.Seed("seed", &f.seed, "everything random comes from it")
	r.Toggle("verbose", &f.verbose, "percentiles, and what was looked at, too")
	r.Choice("format", &f.format, "of the result on standard output", "text", "json")
	r.Text("out", &f.out, "DIR", "keep the run directory here; it must be empty or not there yet")
}

// findLoad finds a load of a table. An unknown one has an exit code of its own.
func (f *checkFlags) findLoad(of map[string]scenario.CheckLoad) (short string, l scenario.CheckLoad, err error) {
	if short, l, err = scenario.FindCheckLoad(f.load, of); err != nil {
		err = &command.Exit{Code: ExitUnknownLoad, Cause: err}
	}
	return short, l, err
}

// scenario is the preset with the flags over it; a load of so many clients has as
// many connections, as the original does, unless another number was asked for.
func (f *checkFlags) scenario(a *app, clients int) (*scenario.Scenario, error) {
	conns := f.conns
	if conns == 0 {
		conns = clients
	}
	for _, of := range []struct{ key, text string }{
		{"prefix", f.prefix}, {"target", f.Target.String()}, {"connections", strconv.Itoa(conns)},
		{"timeout", f.timeout.String()}, {"threads", strconv.Itoa(f.threads)},
		{"cleanup-compact", strconv.FormatBool(f.compact)}, {"cleanup-defragment", strconv.FormatBool(f.defragment)},
	} {
		f.put(of.key, of.text)
	}
	if f.conns < 0 {
		return nil, command.Usage("--conns must be from 0 to %d, not %d", scenario.MaxConnections, f.conns)
	}
	attach, err := f.Attach()
	if err != nil {
		return nil, err
	}
	attach.DataDir = f.dataDir
	if err := f.CheckStore(nil, a.Catalog); err != nil {
		return nil, err
	}
	s, err := f.preset.Scenario(a.Catalog, scenario.Ask{Store: f.Store, Attach: attach, Seed: f.seed, Repeats: 1})
	if err != nil {
		return nil, command.Usage("%w", err)
	}
	return s, nil
}

// put changes the preset by a text that is a value of the parameter.
func (f *checkFlags) put(key, text string) { f.preset.Let(key, text) }

// check runs a check's scenario and hands its one trial on. Without --out its run
// directory is removed.
func (a *app) check(ctx context.Context, f *checkFlags, s *scenario.Scenario, b *bar, show func(runner.Progress), judge func(*record.Trial) error) (err error) {
	path, err := command.Self()
	if err != nil {
		return err
	}
	ctx, stop := command.Interruptible(ctx, func() { b.note("stopping and cleaning up; press Ctrl-C again to stop at once and leave the keys") })
	defer stop()
	o := runner.Options{Scenario: s, Out: f.out, Lookup: a.Lookup, Self: path, Tool: command.Tool(), Progress: show}
	if o.Out == "" {
		if o.Out, err = os.MkdirTemp("", "quorumbench-check-"); err != nil {
			return fmt.Errorf("there is no room for the record; name a folder with --out: %w", err)
		}
		defer func() {
			if gone := os.RemoveAll(o.Out); gone != nil && err == nil {
				err = fmt.Errorf("the record in %s cannot be removed: %w", o.Out, gone)
			}
		}()
	}
	dir, runErr := runner.Run(ctx, o)
	b.clear()
	if f.out != "" && dir != "" {
		a.Remark("the run directory is %s", dir)
	}
	var notEmpty *trial.NotEmptyError
	var unread *trial.UnreadError
	switch {
	case errors.As(runErr, &notEmpty):
		return &command.Exit{Code: ExitNotEmpty, Cause: notEmpty}
	case errors.As(runErr, &unread):
		return a.unread(f, "before", unread.Why)
	case runErr != nil && !errors.Is(runErr, context.Canceled):
		return runErr
	}
	run, err := record.Open(dir)
	switch {
	case err != nil:
		return errors.Join(runErr, err)
	case len(run.Trials) == 0:
		return &command.Exit{Code: command.ExitInterrupted, Cause: errors.New("interrupted before anything was written")}
	}
	run.ReadEvents(dir)
	t := &run.Trials[0]
	err = judge(t)
	switch {
	case t.State == record.Interrupted && t.Cleanup.Err() != nil:
		return &command.Exit{Code: command.ExitInterrupted, Cause: fmt.Errorf("interrupted; %w", t.Cleanup.Err())}
	case t.State == record.Interrupted:
		return &command.Exit{Code: command.ExitInterrupted, Cause: errors.New("interrupted; what was written has been removed")}
	case err == nil:
		err = t.Cleanup.Err()
	}
	if err != nil && f.out == "" {
		b.line("the run directory is not kept; --out DIR keeps it")
	}
	return err
}

// unread says in the original's words that a member's memory is not known.
func (a *app) unread(f *checkFlags, when, why string) error {
	if f.format != "json" {
		a.Printf("FAIL: Could not read process_resident_memory_bytes %s the put operations.\n", when)
	}
	return errors.New(why)
}

// judged is the end of a check whose result was printed, or could not be.
func judged(pass bool, err error) error {
	switch {
	case err != nil:
		return fmt.Errorf("the result cannot be written: %w", err)
	case !pass:
		return &command.Exit{Code: command.ExitFailed}
	}
	return nil
}
