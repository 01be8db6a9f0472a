package cli

import (
	"context"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/results/report"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// perfFlags are those of `check perf`.
type perfFlags struct {
	checkFlags
	clients  int
	rate     float64
	duration time.Duration
	set      *pflag.FlagSet
}

func (a *app) checkPerfCommand() *cobra.Command {
	f := &perfFlags{checkFlags: newCheckFlags("check-perf"), duration: time.Minute}
	c := &cobra.Command{
		Use: "perf", Short: "Check whether a cluster takes a load in time, and say what is too slow if not", Args: command.Takes(0, 0, ""),
		Long: `Check whether a cluster takes a load in time: puts of 256 + 1,024 bytes that become
due on one schedule for all clients, for 60 seconds. It fails at 90% of the rate or
less, a slowest write above 0.5 s, a standard deviation above 0.1 s, or any error,
and then says what is too slow.

  load  writes/s  clients
  s          150       50
  m        1,000      200
  l        8,000      500
  xl      15,000    1,000

The exit code is 0 when it passes, 1 when it fails, 3 when there are keys with the
prefix, 4 for an unknown load.`,
		Example: `  quorumbench check perf --load m --endpoints 10.0.0.1:2379,10.0.0.2:2379
  quorumbench check perf --rate 500 --clients 20 --duration 5m --verbose`,
	}
	r := command.NewFlags(c.Flags())
	f.register(r, "the load: s(mall), m(edium), l(arge) or xl (xLarge)")
	r.Whole("clients", &f.clients, "the most writes in flight, instead of the load's")
	r.Number("rate", &f.rate, "R", "writes a second, instead of the load's")
	r.Span("duration", &f.duration, "how long")
	r.Text("data-dir", &f.dataDir, "DIR", "a member's data folder on this machine, where fdatasync is measured after the load")
	f.set = c.Flags()
	c.RunE = func(c *cobra.Command, _ []string) error { return a.checkPerf(c.Context(), f) }
	return c
}

// fill says what the load is: one of the table, or a custom one.
func (f *perfFlags) fill(l scenario.CheckLoad) (scenario.CheckLoad, error) {
	if command.Given(f.set, "rate") {
		l.Rate = f.rate
	}
	if command.Given(f.set, "clients") {
		l.Clients = f.clients
	}
	switch {
	case !(l.Rate > 0) || l.Rate > scenario.MaxRate:
		return l, command.Usage("--rate must be above 0 and at most %d, not %g", scenario.MaxRate, l.Rate)
	case l.Clients < 1 || l.Clients > scenario.MaxClients:
		return l, command.Usage("--clients must be from 1 to %d, not %d", scenario.MaxClients, l.Clients)
	case f.duration < time.Second || f.duration > scenario.MaxDuration:
		return l, command.Usage("--duration must be from 1s to %v, not %v", scenario.MaxDuration, f.duration)
	}
	if f.dataDir != "" {
		if info, err := os.Stat(f.dataDir); err != nil || !info.IsDir() {
			return l, command.Usage("--data-dir: there is no folder %s on this machine", f.dataDir)
		}
	}
	f.put("rate", strconv.FormatFloat(l.Rate, 'g', -1, 64))
	f.put("max-in-flight", strconv.Itoa(l.Clients))
	f.put("clients", strconv.Itoa(l.Clients))
	f.put("duration", f.duration.String())
	return l, nil
}

func (a *app) checkPerf(ctx context.Context, f *perfFlags) error {
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
	b := a.newBar(f.format, f.duration.Seconds(), " s")
	return a.check(ctx, &f.checkFlags, s, b, b.seconds, func(t *record.Trial) error {
		c := analyze.CheckPerf(t)
		if f.format == "json" {
			err = report.PerfCheckJSON(a.Stdout, &c, load)
		} else {
			err = report.PerfCheck(a.Stdout, &c, f.verbose)
		}
		return judged(c.Pass, err)
	})
}
