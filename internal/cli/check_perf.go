package cli

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/readable"
	"github.com/quorumbench/quorumbench/internal/run/check"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// perfFlags are those of `check perf`.
type perfFlags struct {
	checkFlags
	clients  int
	rate     float64
	duration time.Duration
	dataDir  string
	set      *pflag.FlagSet
}

func (a *app) checkPerfCommand() *cobra.Command {
	f := &perfFlags{checkFlags: newCheckFlags("/etcdctl-check-perf/")}
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
	r.Span("duration", &f.duration, "how long, instead of the load's 60s")
	r.Text("data-dir", &f.dataDir, "DIR", "a member's data folder on this machine, where fdatasync is measured if the check fails")
	f.set = c.Flags()
	c.RunE = func(c *cobra.Command, _ []string) error { return a.checkPerf(c.Context(), f) }
	return c
}

// model is the load's, or a custom one.
func (f *perfFlags) model(load string) (check.Model, error) {
	m := check.ModelOf(load)
	if command.Given(f.set, "rate") {
		m.Rate = f.rate
	}
	if command.Given(f.set, "clients") {
		m.Clients = f.clients
	}
	if command.Given(f.set, "duration") {
		m.Duration = f.duration
	}
	switch {
	case !(m.Rate > 0) || m.Rate > scenario.MaxRate:
		return m, command.Usage("--rate must be above 0 and at most %d, not %g", scenario.MaxRate, m.Rate)
	case m.Clients < 1 || m.Clients > scenario.MaxClients:
		return m, command.Usage("--clients must be from 1 to %d, not %d", scenario.MaxClients, m.Clients)
	case m.Duration < time.Second || m.Duration > scenario.MaxDuration:
		return m, command.Usage("--duration must be from 1s to %v, not %v", scenario.MaxDuration, m.Duration)
	}
	return m, nil
}

func (a *app) checkPerf(ctx context.Context, f *perfFlags) error {
	c, err := f.resolve(a)
	if err != nil {
		return err
	}
	model, err := f.model(c.load)
	if err != nil {
		return err
	}
	if f.dataDir != "" {
		if info, err := os.Stat(f.dataDir); err != nil || !info.IsDir() {
			return command.Usage("--data-dir: there is no folder %s on this machine", f.dataDir)
		}
	}
	shown := a.newBar(f.format, model.Duration.Seconds(), " s")
	ctx, stop := command.Interruptible(ctx, func() { shown.note("stopping and cleaning up; press Ctrl-C again to stop at once and leave the keys") })
	defer stop()
	p := check.Perf{
		Cluster: c.cluster, Model: model, Prefix: f.prefix, Connections: f.conns, Timeout: f.timeout, Threads: f.threads,
		Seed: f.seed, Compact: f.compact, Defragment: f.defragment, DataDir: f.dataDir, Watch: shown.seconds,
	}
	out, err := p.Run(ctx)
	shown.clear()
	if err != nil {
		return checkFailed(err)
	}
	if f.format == "json" {
		if err := a.JSON(perfFields(&p, c.load, out)); err != nil {
			return err
		}
	} else {
		a.printPerf(out, f.verbose)
	}
	switch {
	case out.Interrupted:
		return interruptedCheck(out.Cleanup)
	case !out.Verdict.Pass:
		return &command.Exit{Code: command.ExitFailed}
	case out.Cleanup.Err != nil:
		return fmt.Errorf("what was written may not have been removed: %w", out.Cleanup.Err)
	}
	return nil
}

func (a *app) printPerf(out *check.Outcome, verbose bool) {
	a.printCleanup(out.Cleanup)
	if out.Interrupted && out.Figures.Seconds == 0 {
		a.Printf("INTERRUPTED before the first second was measured\n")
		return
	}
	if out.Interrupted {
		a.Printf("INTERRUPTED after %.1f s: %.0f writes/s, slowest %fs\n", out.Figures.Seconds, out.Figures.Throughput, out.Figures.Slowest)
		return
	}
	for _, line := range out.Verdict.Lines {
		a.Printf("%s\n", line)
	}
	if n := out.Figures.NotSent; n > 0 {
		a.Printf("%s writes were due and never sent: %d were in flight, and no more are allowed\n", readable.Count(n), out.Figures.Clients)
	}
	if verbose {
		a.printPercentiles("Response time, from when a write was due", out.Response.Percentiles[:])
		a.printPercentiles("Service time, from when it was sent", out.Service.Percentiles[:])
	}
	if !out.Verdict.Pass {
		a.printCauses(out)
	}
	for _, note := range out.Notes {
		a.Printf("%s\n", note)
	}
	if verbose && out.Verdict.Pass {
		_, looked := check.Diagnose(out.Figures)
		a.printList("Seen:", looked)
	}
	if out.Verdict.Pass && out.Cleanup.Err == nil {
		a.Printf("PASS\n")
	} else {
		a.Printf("FAIL\n")
	}
}

func (a *app) printCauses(out *check.Outcome) {
	if len(out.Causes) == 0 {
		a.printList("Nothing that was looked at says what is too slow:", out.Looked)
		return
	}
	a.Printf("What is too slow:\n")
	for _, c := range out.Causes {
		a.Printf("  %s: %s\n", c.What, c.Text)
	}
	a.printList("Looked at:", out.Looked)
}

func (a *app) printList(head string, lines []string) {
	a.Printf("%s\n", head)
	for _, line := range lines {
		a.Printf("  %s\n", line)
	}
}

// perfJSON is what --format json prints.
type perfJSON struct {
	Check       string             `json:"check"`
	Load        string             `json:"load"`
	Store       string             `json:"store"`
	Version     string             `json:"version"`
	Members     int                `json:"members"`
	Target      string             `json:"target"`
	Rate        float64            `json:"rate"`
	Clients     int                `json:"clients"`
	Connections int                `json:"connections"`
	Duration    float64            `json:"duration_seconds"`
	Seed        uint64             `json:"seed"`
	State       string             `json:"state"` // pass, fail or interrupted
	Lines       []string           `json:"lines"`
	Seconds     float64            `json:"seconds"`
	Due         uint64             `json:"due"`
	NotSent     uint64             `json:"not_sent"`
	Throughput  float64            `json:"writes_per_second"`
	Slowest     float64            `json:"slowest_seconds"`
	Stddev      float64            `json:"stddev_seconds"`
	Response    map[string]float64 `json:"response_seconds"` // percentiles that are known
	Service     map[string]float64 `json:"service_seconds"`
	Errors      []failureJSON      `json:"errors"`
	Causes      []causeJSON        `json:"causes"`
	Looked      []string           `json:"looked_at,omitempty"`
	Notes       []string           `json:"notes,omitempty"`
	Cleanup     cleanupJSON        `json:"cleanup"`
}

type causeJSON struct {
	What   string  `json:"what"`
	Member string  `json:"member,omitempty"`
	Text   string  `json:"text"`
	Figure float64 `json:"figure,omitempty"`
	Unit   string  `json:"unit,omitempty"`
	Limit  float64 `json:"limit,omitempty"`
}

func perfFields(p *check.Perf, load string, out *check.Outcome) perfJSON {
	f := &out.Figures
	j := perfJSON{
		Check: "perf", Load: load, Store: p.Cluster.Store.Name(), Version: out.Version, Members: out.Members,
		Target: p.Cluster.Target.String(), Rate: p.Model.Rate, Clients: p.Model.Clients, Connections: out.Connections,
		Duration: p.Model.Duration.Seconds(), Seed: p.Seed, State: "fail", Lines: out.Verdict.Lines,
		Seconds: f.Seconds, Due: f.Due, NotSent: f.NotSent, Throughput: f.Throughput, Slowest: f.Slowest, Stddev: f.Stddev,
		Response: percentileFields(out.Response.Percentiles[:]), Service: percentileFields(out.Service.Percentiles[:]),
		Errors: failureFields(out.ByError), Causes: []causeJSON{}, Looked: out.Looked, Notes: out.Notes, Cleanup: cleanupFields(out.Cleanup),
	}
	switch {
	case out.Interrupted:
		j.State, j.Lines = "interrupted", nil
	case out.Verdict.Pass && out.Cleanup.Err == nil:
		j.State = "pass"
	}
	for _, c := range out.Causes {
		j.Causes = append(j.Causes, causeJSON(c))
	}
	return j
}
