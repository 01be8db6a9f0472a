package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/results/analyze/limits"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/results/report"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/text"
)

func (a *commandLine) checkMembersCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "members", Short: "Find the slow member of a cluster", Args: command.ArgsBetween(0, 0, ""),
		Long: `Find the slow member of a cluster. Reads and writes go to every member in turn at a low
rate. The report shows each member's latencies, its network round trip and, if the store
reports them, the p99 of its fsync and commit.

A member is slow if its p50, its p99 (p90 if there are fewer than 1,000 operations), its
round trip, or its p99 of fsync or commit is more than twice the median of all members, and
exceeds this median by at least 5 ms (2 ms for a round trip). If a member does not respond,
the report names the member, and the other members are measured.

The exit code is 0 if no member is slow, 1 if a member is slow, fails or does not respond,
and 3 if keys with the prefix already exist.`,
		Example: `  quorumbench check members --endpoints 10.0.0.1:2379
  quorumbench check members --store zookeeper --endpoints 10.0.0.1:2181,10.0.0.2:2181 --format json
  quorumbench check members --on kubernetes --image registry.example.com/quorumbench:1`,
	}
	preset := scenario.NewCommand("check-members")
	f := &checkFlags{AttachFlags: command.NewAttachFlags(), preset: preset, seed: scenario.DefaultSeed, format: "text"}
	f.Target = kv.Target{Mode: kv.AllMembers}
	rate, duration := 240.0, 30*time.Second
	r := command.NewFlags(c.Flags())
	f.Register(r)
	r.Number("rate", &rate, "R", "operations per second, for all members together")
	r.Duration("duration", &duration, "duration of the load")
	r.Parameter(preset, preset.Parameter("prefix"), "prefix of every key; no existing key may have this prefix")
	r.Parameter(preset, preset.Parameter("timeout"), "timeout of an operation, counted from the time at which the operation is sent")
	r.Seed("seed", &f.seed, "seed for all random choices")
	a.AddProgress(r)
	a.AddMetrics(r)
	r.Format(&f.format, &a.Wide, "text", "json")
	r.Text("out", &f.out, "DIR", "keep the run directory at this path, which must be empty or absent")
	r.Destination(&f.upload)
	f.pod.register(c, a.Plugin, &f.AttachFlags)
	c.RunE = func(c *cobra.Command, _ []string) error { return a.checkMembers(c.Context(), f, rate, duration) }
	return c
}

// memberConnections is the total number of connections to the members.
const memberConnections = 24

func (a *commandLine) checkMembers(ctx context.Context, f *checkFlags, rate float64, duration time.Duration) error {
	switch {
	case !(rate > 0) || rate > scenario.MaxRate:
		return command.Usage("--rate must be above 0 and at most %d, not %g", scenario.MaxRate, rate)
	case duration < time.Second || duration > scenario.MaxDuration:
		return command.Usage("--duration must be from 1s to %s, not %s", text.FormatDuration(scenario.MaxDuration), text.FormatDuration(duration))
	}
	f.preset.SetDerived("rate", text.FormatNumber(rate))
	f.preset.SetDerived("duration", duration.String())
	s, err := f.scenario(a, memberConnections)
	if err != nil {
		return err
	}
	if f.pod.enabledOn != "" {
		return a.checkInPod(ctx, &f.pod, "members", s)
	}
	b := a.newBar(f.format, duration.Seconds(), " s")
	b.requestNoun = "operations"
	err = a.check(ctx, f, s, b, b.seconds, func(t *record.Trial) error {
		c := limits.CheckMembers(t)
		return checkError(c.Pass, false, a.Report(f.format, report.MembersCheck(&c)))
	})
	if f.format == "text" {
		switch {
		case err == nil:
			a.SuggestNext("quorumbench check perf%s (checks whether the cluster can carry a load)", f.SelectionFlags())
		case isOnlyCode(err, command.ExitFailed):
			a.SuggestNext("quorumbench check disk DIR (run this on the slow member's machine, with its data folder)")
		}
		if err == nil || err.Error() == "" {
			a.SuggestMore(f.out)
		}
	}
	return err
}
