package cli

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/results/report"
	"github.com/quorumbench/quorumbench/internal/run/calibrate"
	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/run/probe"
	"github.com/quorumbench/quorumbench/internal/run/runner"
	"github.com/quorumbench/quorumbench/internal/run/trial"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
)

// machineFlags holds the flags of `check machine`.
type machineFlags struct {
	dir       string
	endpoints []string
	store     string
	rounds    int
	window    time.Duration
	seed      uint64
	format    string
}

// maxCalibrationRounds is the highest value that --rounds accepts.
const maxCalibrationRounds = 100

func (a *commandLine) checkMachineCommand() *cobra.Command {
	f := &machineFlags{dir: ".", store: "etcd", rounds: 5, window: time.Second, seed: scenario.DefaultSeed, format: "text"}
	c := &cobra.Command{
		Use: "machine", Short: "Measure the limits of this machine, its network and the load generator", Args: command.ArgsBetween(0, 0, ""),
		Long: `Measure the limits of this machine, its network and the load generator: the shortest
latencies and the highest rates that the generator measures with a null server, how late
it sends and wakes up, the duration of fdatasync in a folder, and the duration of
connecting over TCP to this machine and to endpoints. This takes about half a minute.

The result is stored in the user's cache folder. Every later report on this machine shows
the result, until the machine, its kernel or the program changes.`,
		Example: `  quorumbench check machine
  quorumbench check machine --dir /var/lib/etcd --endpoints 10.0.0.1:2379,10.0.0.2:2379`,
	}
	r := command.NewFlags(c.Flags())
	r.Text("dir", &f.dir, "DIR", "folder in which to measure the duration of fdatasync")
	command.Value(r, "endpoints", &f.endpoints, "HOST:PORT,...", parseEndpoints, func(all []string) string { return strings.Join(all, ",") },
		"also measure how long it takes to connect to these endpoints over TCP, including the TLS handshake if an endpoint begins with https://")
	r.Text("store", &f.store, "NAME", "store whose protocol the null server speaks")
	r.Int("rounds", &f.rounds, "number of rounds; the result is the median and range of all rounds")
	r.Duration("duration", &f.window, "duration of each of the four loads in a round")
	r.Seed("seed", &f.seed, "seed for all random choices")
	a.AddProgress(r)
	r.Format(&f.format, &a.Wide, "text", "json")
	c.RunE = func(c *cobra.Command, _ []string) error { return a.checkMachine(c.Context(), f) }
	return c
}

// parseEndpoints parses a list of endpoints. Each may start with a scheme.
func parseEndpoints(text string) (all []string, err error) {
	for e := range strings.SplitSeq(text, ",") {
		if e = strings.TrimSuffix(strings.TrimSpace(e), "/"); e == "" {
			continue
		}
		scheme, address, found := strings.Cut(e, "://")
		if !found {
			address = e
		}
		if err := scenario.CheckEndpoint(address); err != nil {
			return nil, err
		}
		if found && scheme != "http" && scheme != "https" {
			return nil, fmt.Errorf("the endpoint %q begins with neither http:// nor https://; write HOST:PORT", e)
		}
		all = append(all, e)
	}
	return all, nil
}

// check returns a usage error for invalid flags.
func (f *machineFlags) check(a *commandLine) error {
	if err := command.CheckStore(f.store, a.Catalog); err != nil {
		return err
	}
	st, err := a.Lookup(f.store)
	if err != nil {
		return command.Usage("--store: %w", err)
	}
	_, nullServed := st.(store.NullServerProvider)
	switch {
	case !nullServed:
		return command.Usage("--store: quorumbench has no null server for %s; name the store whose protocol this store speaks", f.store)
	case f.rounds < 1 || f.rounds > maxCalibrationRounds:
		return command.Usage("--rounds must be from 1 to %d, not %d", maxCalibrationRounds, f.rounds)
	case f.window < 100*time.Millisecond || f.window > time.Minute:
		return command.Usage("--duration must be from 100ms to 1m, not %v", f.window)
	}
	if info, err := os.Stat(f.dir); err != nil || !info.IsDir() {
		return command.Usage("--dir: the folder %s does not exist on this machine; create it, or name another folder", f.dir)
	}
	return nil
}

func (a *commandLine) checkMachine(ctx context.Context, f *machineFlags) error {
	if err := f.check(a); err != nil {
		return err
	}
	d := a.DisplayFor(f.format)
	defer d.Clear()
	ctx, stop := command.Interruptible(ctx, func() { d.Note("stopping") })
	defer stop()
	c, err := a.measureMachine(ctx, f, d)
	d.Clear()
	switch {
	case ctx.Err() != nil:
		return &command.Exit{Code: command.ExitInterrupted, Cause: errors.New("interrupted; no result was stored")}
	case err != nil:
		return err
	}
	if err := a.Report(f.format, report.Calibration(c)); err != nil {
		return err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return fmt.Errorf("cannot store the calibration, so later reports will not show it: %w", err)
	}
	path := record.CalibrationFile(cache, &c.Machine)
	if err := c.Write(path); err != nil {
		return err
	}
	if f.format != "json" {
		a.Printf("\nStored in %s\n", path)
		a.SuggestNext("quorumbench run (the report will show these limits)")
	}
	return nil
}

// measureMachine runs all measurements. It begins with the short measurements of round trips. If no
// endpoint can be reached, it returns an error before the longer measurements. d shows the progress.
func (a *commandLine) measureMachine(ctx context.Context, f *machineFlags, d *command.Display) (*record.Calibration, error) {
	began := time.Now()
	say := func(step string) { d.Update(step, time.Since(began), step) }
	c := &record.Calibration{Schema: record.CalibrationSchema, Measured: began.UTC(), Tool: command.Tool(), Machine: probe.Machine(), Rounds: f.rounds, Store: f.store}
	say("round trips")
	trip, err := calibrate.MeasureLoopback(ctx, f.rounds)
	if err != nil {
		return nil, err
	}
	c.RoundTrips = append(c.RoundTrips, trip)
	answered := false
	for _, e := range f.endpoints {
		address, secure := e, (*tls.Config)(nil)
		if scheme, rest, found := strings.Cut(e, "://"); found {
			address = rest
			if scheme == "https" {
				secure = &tls.Config{InsecureSkipVerify: true} // no request is sent on the connection
			}
		}
		trip, failed := calibrate.MeasureEndpoint(ctx, address, secure, connectTimeout, f.rounds)
		if failed != nil {
			trip = record.RoundTrip{Address: address, Failure: failed.Error()}
			err = cmp.Or(err, failed)
		}
		answered = answered || failed == nil
		c.RoundTrips = append(c.RoundTrips, trip)
	}
	if err != nil && !answered {
		return nil, err
	}
	say("wake-ups")
	if c.WakeDelays, err = calibrate.MeasureWakeups(ctx, f.rounds); err != nil {
		return nil, err
	}
	say("fdatasync")
	if c.Disk, err = timeDisk(ctx, f.dir); err != nil {
		return nil, err
	}
	c.Generator, err = a.limits(ctx, f, func(p runner.Progress) {
		if p.Stage != runner.TrialDone && p.Trial > 0 {
			d.Update("loads", time.Since(began), fmt.Sprintf("load %d of %d against a null server: %s", p.Trial, p.Trials, p.Name))
		}
	})
	return c, err
}

// connectTimeout is the timeout of a connection to an endpoint.
const connectTimeout = 5 * time.Second

// timeDisk measures the duration of fdatasync in a folder.
func timeDisk(ctx context.Context, dir string) (*record.DataDir, error) {
	path, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("cannot resolve the path of the folder %s: %w", dir, err)
	}
	all, err := host.NewLocal(nil, nil).Fsync(ctx, []string{path}, probe.FsyncWrites)
	if err != nil {
		return nil, err
	}
	d := &record.DataDir{Path: path}
	trial.RecordSlowest(&d.Durability, all)
	return d, nil
}

// limits measures the limits of the load generator against a null server. It first runs all loads
// of the calibration scenario. Then it repeats the load with one client twice: with client and
// server bound to the same CPU, and with client and server bound to different CPUs.
func (a *commandLine) limits(ctx context.Context, f *machineFlags, progress func(runner.Progress)) (g record.GeneratorLimits, failed error) {
	self, err := command.Self()
	if err != nil {
		return g, err
	}
	logs, err := command.TemporaryFolder(func(s string) { a.PrintNote("%s", s) })
	if err != nil {
		return g, fmt.Errorf("cannot create a folder for the null server's log: %w", err)
	}
	defer func() { _ = logs.Release(context.WithoutCancel(ctx)) }() // the next command removes the rest
	server, err := calibrate.StartNullServer(ctx, self, f.store, logs.Path())
	if err != nil {
		return g, err
	}
	defer server.Stop(context.WithoutCancel(ctx))
	text := scenario.Calibration(f.store, server.Endpoint, f.rounds, f.window)
	s, err := scenario.Parse("calibrate.yaml", text, a.Catalog, scenario.Options{})
	if err != nil {
		return g, err
	}
	s.Reseed(f.seed)
	o := runner.Options{Scenario: s, Lookup: a.Lookup, Self: self, Tool: command.Tool(), Progress: progress}
	if err := runAndRead(ctx, o, func(run *record.Run) (err error) {
		g, err = analyze.LimitsOfGenerator(run)
		return err
	}); err != nil {
		return g, err
	}
	s.Trials = slices.DeleteFunc(s.Trials, func(t scenario.Trial) bool {
		return t.Name != scenario.CalibrationTrials.OneClient || t.Repeat > boundRounds
	})
	for i := range s.Trials {
		s.Trials[i].Repeats = min(f.rounds, boundRounds)
	}
	for _, placement := range []struct {
		sameProcessor bool
		p50, p99      **record.RoundsSummary
	}{{true, &g.OneProcessorP50NS, &g.OneProcessorP99NS}, {false, &g.TwoProcessorsP50NS, &g.TwoProcessorsP99NS}} {
		undo, err := server.Bind(placement.sameProcessor)
		if err != nil {
			continue // this system cannot bind processes to CPUs: these figures stay unknown
		}
		err = runAndRead(ctx, o, func(run *record.Run) (err error) {
			*placement.p50, *placement.p99, err = analyze.OneClientTimes(run)
			return err
		})
		if undo(); err != nil {
			return g, err
		}
	}
	return g, nil
}

// boundRounds is the maximum number of rounds with processes bound to CPUs. A few rounds are
// enough, because latencies vary little when processes are bound.
const boundRounds = 3

// runAndRead executes a run, passes its record to the function `read`, and then deletes the record.
func runAndRead(ctx context.Context, o runner.Options, read func(*record.Run) error) (failed error) {
	remove, err := command.TemporaryOut(&o, func(string) {})
	if err != nil {
		return err
	}
	defer remove(&failed)
	dir, err := runner.Run(ctx, o)
	if err != nil {
		return err
	}
	run, err := record.Open(dir)
	if err != nil {
		return err
	}
	return read(run)
}
