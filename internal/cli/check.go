package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/results/analyze/limits"
	"github.com/quorumbench/quorumbench/internal/results/figures"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/results/report"
	"github.com/quorumbench/quorumbench/internal/results/upload"
	"github.com/quorumbench/quorumbench/internal/run/guard"
	"github.com/quorumbench/quorumbench/internal/run/runner"
	"github.com/quorumbench/quorumbench/internal/run/trial"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Exit codes that only `check` uses. etcdctl uses the same codes.
const (
	ExitNotEmpty    = 3 // the cluster already has keys with the prefix
	ExitUnknownLoad = 4 // --load does not name a known load
)

func (a *commandLine) checkCommand() *cobra.Command {
	g := command.Group("check", "Check whether a cluster, disk or machine is fast enough", "perf, datascale, members, disk, hosts or machine",
		a.checkPerfCommand(), a.checkDatascaleCommand(), a.checkMembersCommand(), a.checkDiskCommand(), a.checkHostsCommand(), a.checkMachineCommand())
	g.Example = `  quorumbench check disk /var/lib/etcd
  quorumbench check perf --load m --endpoints 10.0.0.1:2379,10.0.0.2:2379`
	g.Long = `Check whether a running cluster or a disk is fast enough. "check perf" and "check
datascale" are the checks of etcdctl, for every store. A failed check states the reason.
"check hosts" checks machines before a store is installed. "check machine" measures the
limits of this machine and of its load generator. The checks remove everything that they
write.`
	return g
}

// checkFlags holds the flags that all cluster checks share. Some flags set parameters of a preset.
type checkFlags struct {
	command.AttachFlags
	preset  *scenario.Command
	load    string
	conns   int
	seed    uint64
	verbose bool
	format  string
	out     string
	upload  *upload.Destination
	pod     podCheck
	asked   record.CommandLineSettings // recorded with the run
}

// newCheckFlags registers the flags for a check that uses the named preset.
func newCheckFlags(r command.Flags, preset string, wide *bool) *checkFlags {
	c := scenario.NewCommand(preset)
	c.Names["max-in-flight"] = "--clients" // an open loop has no clients
	f := &checkFlags{AttachFlags: command.NewAttachFlags(), preset: c, load: "s", seed: scenario.DefaultSeed, format: "text"}
	r.Text("load", &f.load, "s|m|l|xl", "size of the load: s (small), m (medium), l (large) or xl (extra large)")
	r.Parameter(c, c.Parameter("prefix"), "prefix of every key; no existing key may have this prefix. etcdctl uses the prefixes /etcdctl-check-perf/ and /etcdctl-check-datascale/")
	r.Parameter(c, c.Parameter("overwrite-existing"), c.Parameter("overwrite-existing").Meaning)
	r.Parameter(c, c.Parameter("cleanup-compact"), "compact the history afterwards")
	r.Parameter(c, c.Parameter("cleanup-defragment"), "defragment every member afterwards")
	f.Register(r)
	r.Int("conns", &f.conns, "number of connections; 0 means one per client")
	r.Parameter(c, c.Parameter("timeout"), "timeout of a write, counted from the time at which the write is sent")
	r.Parameter(c, c.Parameter("threads"), "number of event loops in the load generator; 0 chooses automatically")
	r.Seed("seed", &f.seed, "seed for all random choices")
	r.Toggle("verbose", &f.verbose, "print percentiles, and print measurements of the cluster even if the check passes")
	r.Format(&f.format, wide, "text", "json")
	r.Text("out", &f.out, "DIR", "keep the run directory at this path, which must be empty or absent")
	r.Destination(&f.upload)
	return f
}

// findLoad returns the load that --load names. If there is no such load, the command exits with
// status ExitUnknownLoad.
func (f *checkFlags) findLoad(loads map[string]scenario.CheckLoad) (short string, l scenario.CheckLoad, err error) {
	if short, l, err = scenario.FindCheckLoad(f.load, loads); err != nil {
		err = &command.Exit{Code: ExitUnknownLoad, Cause: err}
	}
	return short, l, err
}

// scenario returns the preset's scenario with the changes that the flags request. Unless --conns is
// given, the number of connections equals the number of clients, as in etcdctl.
func (f *checkFlags) scenario(a *commandLine, clients int) (*scenario.Scenario, error) {
	if f.conns < 0 {
		return nil, command.Usage("--conns must be from 0 to %d, not %d", scenario.MaxConnections, f.conns)
	}
	conns := f.conns
	if conns == 0 {
		conns = clients
	}
	f.preset.SetDerived("connections", strconv.Itoa(conns))
	f.preset.SetDerived("clients", strconv.Itoa(clients))
	f.preset.SetDerived("target", f.Target.String())
	return f.Scenario(f.preset, a.Catalog, scenario.CommandOptions{Seed: f.seed, Repeats: 1})
}

// check runs the scenario and passes its single trial to the function `judge`. Without --out, check
// then removes the run directory.
func (a *commandLine) check(ctx context.Context, f *checkFlags, s *scenario.Scenario, b *bar, show func(runner.Progress), judge func(*record.Trial) error) (failed error) {
	path, err := command.Self()
	if err != nil {
		return err
	}
	if err := command.RequireRunDir(f.upload, f.out); err != nil {
		return err
	}
	own := s.Trials[0].Cluster.RunningCluster == nil // the command starts the cluster and stops it
	ctx, stop := b.Interruptible(ctx, func() {
		if own {
			b.Note("stopping; press Ctrl-C again to stop at once")
		} else {
			b.Note("stopping and cleaning up; press Ctrl-C again to stop at once and leave the written keys")
		}
	})
	defer stop()
	if err := command.Reachable(ctx, f.upload); err != nil {
		return err
	}
	o := runner.Options{Scenario: s, Asked: f.asked, Out: f.out, Lookup: a.Lookup, Self: path, Tool: command.Tool(), Calibration: a.Calibrated(), CleanupFlags: a.CleanupFlags, Progress: show, Notify: b.Note}
	if o.Out == "" {
		remove, err := command.TemporaryOut(&o, o.Notify)
		if err != nil {
			return err
		}
		defer remove(&failed)
	}
	b.Follow(&o)
	published, err := a.Publish(&o, o.Notify)
	if err != nil {
		return err
	}
	dir, runErr := runner.Run(ctx, o)
	published.End(o.Notify)
	b.Clear()
	if f.out != "" && dir != "" {
		a.PrintNote("the run directory is %s", dir)
		defer func() { failed = a.UploadAfterRun(ctx, f.upload, dir, failed) }()
	}
	run, err := a.checkedRun(f, dir, runErr)
	if err != nil {
		return err
	}
	t := &run.Trials[0]
	err = endOfCheck(t, own, judge(t), runErr)
	if err != nil && t.State != record.Interrupted && f.out == "" && a.CleanupFlags == "" { // a pod keeps no files
		b.Line("the run directory was not kept; use --out DIR to keep it")
	}
	return err
}

// endOfCheck returns the error that determines the exit code of a check with the trial t. own is
// true if the check has started the cluster, judged is the error of the judgment, and runErr is the
// runner's error.
func endOfCheck(t *record.Trial, own bool, judged, runErr error) error {
	left, canceled := t.Cleanup.Err(), errors.Is(runErr, context.Canceled)
	var remaining *trial.KeysLeftError
	switch {
	case canceled && errors.As(runErr, &remaining):
		left = remaining // includes the command that removes the keys
	case runErr != nil && !canceled:
		left = runErr
	}
	switch {
	case left != nil && (canceled || t.State == record.Interrupted):
		return &command.Exit{Code: command.ExitInterrupted, Cause: fmt.Errorf("interrupted; %w", left)}
	case t.State == record.Interrupted && own:
		return &command.Exit{Code: command.ExitInterrupted, Cause: errors.New("interrupted; the cluster has been stopped")}
	case t.State == record.Interrupted:
		return &command.Exit{Code: command.ExitInterrupted, Cause: errors.New("interrupted; the written keys have been removed")}
	case judged == nil, left != nil && judged.Error() == "": // the exit code of left is ExitFailed
		return left
	case left != nil:
		return fmt.Errorf("%w; %w", judged, left)
	}
	return judged
}

// checkedRun reads the run that a check recorded. It returns an error if the run has no trial, or
// if an error other than that of the clean-up ended the run.
func (a *commandLine) checkedRun(f *checkFlags, dir string, runErr error) (*record.Run, error) {
	var notEmpty *guard.NotEmptyError
	var unread *trial.UnreadError
	var left *trial.KeysLeftError
	canceled := errors.Is(runErr, context.Canceled)
	switch {
	case errors.As(runErr, &notEmpty):
		return nil, &command.Exit{Code: ExitNotEmpty, Cause: notEmpty}
	case errors.As(runErr, &unread):
		return nil, a.unread(f, "before", unread.Reason)
	case runErr != nil && !canceled && !errors.As(runErr, &left):
		return nil, runErr
	}
	run, err := record.Open(dir)
	switch {
	case err != nil:
		return nil, errors.Join(runErr, err)
	case runErr != nil && !canceled && (len(run.Trials) == 0 || run.Trials[0].State != record.Complete):
		return nil, runErr
	case len(run.Trials) == 0 && errors.As(runErr, &left):
		return nil, &command.Exit{Code: command.ExitInterrupted, Cause: fmt.Errorf("interrupted; %w", left)}
	case len(run.Trials) == 0:
		return nil, &command.Exit{Code: command.ExitInterrupted, Cause: errors.New("interrupted before anything was written")}
	}
	figures.ReadTrialFiles(run, dir)
	return run, nil
}

// unread prints etcdctl's message for a member whose memory could not be read. The parameter `when`
// completes the message. unread returns an error with the text `why`.
func (a *commandLine) unread(f *checkFlags, when, why string) error {
	if f.format != "json" {
		a.Printf("FAIL: Could not read process_resident_memory_bytes %s the put operations.\n", when)
	}
	return &command.Exit{Code: command.ExitUndecided, Cause: errors.New(why)}
}

// checkError returns the error that determines the exit code of a check. err is the error from
// printing the result. If undecided is true, the check has neither passed nor failed.
func checkError(pass, undecided bool, err error) error {
	switch {
	case err != nil:
		return fmt.Errorf("cannot write the result: %w", err)
	case undecided:
		return &command.Exit{Code: command.ExitUndecided}
	case !pass:
		return &command.Exit{Code: command.ExitFailed}
	}
	return nil
}

// perfFlags holds the flags of `check perf`.
type perfFlags struct {
	*checkFlags
	clients  int
	rate     float64
	duration time.Duration
	set      *pflag.FlagSet
}

func (a *commandLine) checkPerfCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "perf", Short: "Check whether a cluster can carry a load and, if not, report which component is too slow", Args: command.ArgsBetween(0, 0, ""),
		Long: `Check whether a cluster can carry a load for 60 seconds: puts with keys of 256 bytes and
values of 1,024 bytes, due at a constant rate. The check fails if the throughput is at most
90% of the rate, the slowest write takes more than 0.5 s, the standard deviation is above
0.1 s, or there is any error. It then names the component that is too slow.

  load  writes/s  clients
  s          150       50
  m        1,000      200
  l        8,000      500
  xl      15,000    1,000

The exit code is 0 if the check passes, 1 if it fails, 3 if keys with the prefix already
exist, 4 if --load is unknown, and 6 if disturbances can explain every exceeded limit.

With --on kubernetes, the command finds the etcd of the control plane, describes the pod and
the load, asks, checks etcd from the pod, and removes the pod.`,
		Example: `  quorumbench check perf --load m --endpoints 10.0.0.1:2379,10.0.0.2:2379
  quorumbench check perf --rate 500 --clients 20 --duration 5m --verbose
  quorumbench check perf --on kubernetes --image registry.example.com/quorumbench:1`,
	}
	r := command.NewFlags(c.Flags())
	f := &perfFlags{checkFlags: newCheckFlags(r, "check-perf", &a.Wide), duration: time.Minute, set: c.Flags()}
	r.Int("clients", &f.clients, "maximum number of writes in flight; replaces the load's number of clients")
	r.Number("rate", &f.rate, "R", "writes per second; replaces the load's rate")
	r.Duration("duration", &f.duration, "duration of the load")
	r.Text("data-dir", &f.Cluster.DataDir, "DIR", "data folder of a member on this machine; the duration of fdatasync is measured there after the load")
	a.AddProgress(r)
	a.AddMetrics(r)
	f.pod.register(c, a.Plugin, &f.AttachFlags)
	c.RunE = func(c *cobra.Command, _ []string) error { return a.checkPerf(c.Context(), f) }
	return c
}

// fill returns the load l with the changes that the flags request, and sets the preset's
// parameters.
func (f *perfFlags) fill(l scenario.CheckLoad) (scenario.CheckLoad, error) {
	if f.set.Changed("rate") {
		l.Rate = f.rate
	}
	if f.set.Changed("clients") {
		l.Clients = f.clients
	}
	switch {
	case !(l.Rate > 0) || l.Rate > scenario.MaxRate:
		return l, command.Usage("--rate must be above 0 and at most %d, not %g", scenario.MaxRate, l.Rate)
	case l.Clients < 1 || l.Clients > scenario.MaxClients:
		return l, command.Usage("--clients must be from 1 to %d, not %d", scenario.MaxClients, l.Clients)
	case f.duration < time.Second || f.duration > scenario.MaxDuration:
		return l, command.Usage("--duration must be from 1s to %s, not %s", text.FormatDuration(scenario.MaxDuration), text.FormatDuration(f.duration))
	}
	if f.Cluster.DataDir != "" {
		if info, err := os.Stat(f.Cluster.DataDir); err != nil || !info.IsDir() {
			return l, command.Usage("--data-dir: the folder %s does not exist on this machine; give a member's data folder, or remove the flag", f.Cluster.DataDir)
		}
	}
	f.preset.SetDerived("rate", text.FormatNumber(l.Rate))
	f.preset.SetDerived("max-in-flight", strconv.Itoa(l.Clients))
	f.preset.SetDerived("duration", f.duration.String())
	return l, nil
}

func (a *commandLine) checkPerf(ctx context.Context, f *perfFlags) error {
	load, l, err := f.findLoad(scenario.PerfLoads)
	if err != nil {
		return err
	}
	if l, err = f.fill(l); err != nil {
		return err
	}
	s, err := f.scenario(a, l.Clients)
	if err != nil {
		return err
	}
	if f.pod.enabledOn != "" {
		return a.checkInPod(ctx, &f.pod, "perf", s)
	}
	b := a.newBar(f.format, f.duration.Seconds(), " s")
	err = a.check(ctx, f.checkFlags, s, b, b.seconds, func(t *record.Trial) error {
		c := limits.CheckPerf(t)
		return checkError(c.Pass, c.UndecidedReason != "", a.Report(f.format, report.PerfCheck(&c, load, f.verbose)))
	})
	if f.format == "text" {
		switch {
		case err == nil:
			a.SuggestNext("quorumbench capacity --objective 'p99<100ms'%s (finds the highest rate that the cluster can carry)", f.SelectionFlags())
		case isOnlyCode(err, command.ExitFailed):
			a.SuggestNext("quorumbench check disk DIR (run this on each member's machine, with its data folder)")
		case isOnlyCode(err, command.ExitUndecided):
			a.SuggestNext("repeat the check on a quieter machine")
		}
		if err == nil || err.Error() == "" {
			a.SuggestMore(f.out)
		}
	}
	return err
}

// isOnlyCode reports whether err sets the given exit code and has no message.
func isOnlyCode(err error, code int) bool { return command.ExitCode(err) == code && err.Error() == "" }

func (a *commandLine) checkDatascaleCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "datascale", Short: "Measure the memory, disk space and time that each member needs for keys", Args: command.ArgsBetween(0, 0, ""),
		Example: `  quorumbench check datascale --load m --endpoints 10.0.0.1:2379,10.0.0.2:2379`,
		Long: `Measure what each member needs for keys of 512 bytes with values of 512 bytes: its memory
and database size before and after the writes, the bytes per key, and the duration of the
writes.

  load       keys  clients
  s        10,000       50
  m       100,000      200
  l     1,000,000      500
  xl    3,000,000    1,000

The exit code is 0 if the check completed, 1 if a write failed, 3 if keys with the prefix
already exist, 4 if --load is unknown, and 6 if the memory could not be read.`,
	}
	r := command.NewFlags(c.Flags())
	f := newCheckFlags(r, "check-datascale", &a.Wide)
	a.AddProgress(r)
	a.AddMetrics(r)
	f.pod.register(c, a.Plugin, &f.AttachFlags)
	c.RunE = func(c *cobra.Command, _ []string) error { return a.checkDatascale(c.Context(), f) }
	return c
}

func (a *commandLine) checkDatascale(ctx context.Context, f *checkFlags) error {
	load, l, err := f.findLoad(scenario.ScaleLoads)
	if err != nil {
		return err
	}
	f.preset.SetDerived("total", strconv.FormatUint(l.Keys, 10))
	s, err := f.scenario(a, l.Clients)
	if err != nil {
		return err
	}
	if f.pod.enabledOn != "" {
		return a.checkInPod(ctx, &f.pod, "datascale", s)
	}
	b := a.newBar(f.format, float64(l.Keys), " keys")
	began := f.format == "json"
	begin := func() {
		if !began {
			began = true
			a.Printf("Start data scale check for work load [%d key-value pairs, %d bytes per key-value, %d concurrent clients].\n",
				l.Keys, s.Trials[0].Load.KeySize+s.Trials[0].Load.ValueSize, l.Clients)
		}
	}
	show := func(p runner.Progress) {
		if p.Stage == runner.Measuring || p.Stage == runner.Draining {
			begin()
		}
		b.show(p, float64(p.Succeeded))
	}
	err = a.check(ctx, f, s, b, show, func(t *record.Trial) error {
		if t.Opened != nil {
			begin() // the load ended before its first progress report
		}
		c := limits.CheckScale(t)
		first := limits.MemberCost{UnreadReason: "no member was queried"}
		if len(c.Members) > 0 {
			first = c.Members[0]
		}
		if t.State != record.Interrupted && !first.Memory.Known {
			return a.unread(f, "after", first.UnreadReason)
		}
		return checkError(c.Pass, false, a.Report(f.format, report.ScaleCheck(&c, load, f.verbose)))
	})
	if err == nil && f.format == "text" {
		a.SuggestNext("quorumbench check perf%s (checks whether the cluster can carry a load)", f.SelectionFlags())
		a.SuggestMore(f.out)
	}
	return err
}
