package cli

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/replay"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/results/upload"
	"github.com/quorumbench/quorumbench/internal/run/runner"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
	"github.com/quorumbench/quorumbench/internal/text"
)

// replayFlags holds the flags of `traffic replay`.
type replayFlags struct {
	command.AttachFlags
	preset *scenario.Command
	speed  float64
	conns  int
	// compactions is set if the recorded compactions are sent, too.
	compactions bool
	format      string
	strict      bool
	out         string
	upload      *upload.Destination
	set         *pflag.FlagSet
}

// replayPrefix is the default prefix of every key.
const replayPrefix = scenario.RunningClusterPrefix + "replay/"

// maxSpeed is the highest value of --speed. The lowest is its reciprocal.
const maxSpeed = 1e6

func (a *commandLine) replayCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "replay FILE",
		Short: "Send a recording again",
		Long: `Send the calls in a recording (quorumbench traffic record) to a running cluster. The
time between the first call and each later call is as recorded (an open loop). The replay
replaces recorded revisions and lease IDs by those of this cluster. A call that depends on
the response to another call waits for that response. Keys and leases that existed when the
recording began are created first.

Every key gets a prefix, so that the replay touches no existing key. All keys are removed
at the end.`,
		Example: `  quorumbench traffic replay monday.qbrec --endpoints 10.0.0.1:2379,10.0.0.2:2379 --speed 2`,
		Args:    command.ArgsBetween(1, 1, "a recording"),
	}
	preset := scenario.NewCommand("put")
	preset.SetDerived("prefix", replayPrefix)
	f := &replayFlags{AttachFlags: command.NewAttachFlags(), preset: preset, speed: 1, format: "text", set: c.Flags()}
	r := command.NewFlags(c.Flags())
	f.Register(r)
	r.Number("speed", &f.speed, "N", "replay speed, as a multiple of the recorded speed")
	r.Int("conns", &f.conns, "number of connections; 0 means the highest number of connections that were open at the same time in the recording")
	r.Toggle("compactions", &f.compactions, "replay compactions, too; a compaction removes the history of all keys in the store")
	r.Parameter(preset, preset.Parameter("prefix"), "prefix that is added to every key; with an empty prefix, the replay writes the recorded keys themselves")
	for _, key := range []string{"timeout", "max-in-flight", "cleanup", "overwrite-existing", "cleanup-compact", "cleanup-defragment"} {
		r.Parameter(preset, preset.Parameter(key), preset.Parameter(key).Meaning)
	}
	r.Text("out", &f.out, "DIR", "keep the run directory at this path, which must be empty or absent")
	r.Destination(&f.upload)
	r.Format(&f.format, &a.Wide, "text", "json")
	r.Toggle("strict", &f.strict, "also exit with status 1 if the verdict is suspect")
	c.RunE = func(c *cobra.Command, args []string) error { return a.replay(c.Context(), f, args[0]) }
	return a.AddGateFlags(c)
}

func (a *commandLine) replay(ctx context.Context, f *replayFlags, path string) error {
	if err := f.check(); err != nil {
		return err
	}
	st, err := a.replayer(f, path)
	if err != nil {
		return err
	}
	s, err := f.scenario(a)
	if err != nil {
		return err
	}
	load := &s.Trials[0].Load
	plan, err := replay.Read(path, st, replay.Options{Speed: f.speed, Prefix: load.Prefix, Salt: uint64(time.Now().UnixNano()), Connections: f.conns, MaxInFlight: load.MaxInFlight, Compactions: f.compactions})
	if err != nil {
		return err
	}
	if plan.Problem != "" {
		a.Warn(plan.Problem)
	}
	a.Warn(s.Warnings...)
	f.describe(&s.Trials[0], plan, path)
	s.Name = "replay"
	err = a.ExecuteRun(ctx, runner.Options{
		Scenario: s, Out: f.out, Script: plan, Replayed: func() *record.Replay { return newReplayRecord(f, plan, path) },
	}, command.Rendering{Format: f.format, Strict: f.strict, SingleTrial: true, Discard: f.out == "", Upload: f.upload})
	switch {
	case err != nil || f.format != "text":
	case f.out == "":
		a.SuggestNext("%s (keeps the run directory for the commands \"report\" and \"compare\")", a.RepeatCommand("--out", "DIR"))
	default:
		a.SuggestNext("quorumbench report %s --format html --out PAGE (draws charts)", text.ShellQuote(f.out))
	}
	return err
}

func (f *replayFlags) check() error {
	if err := command.RequireRunDir(f.upload, f.out); err != nil {
		return err
	}
	switch {
	case !(f.speed >= 1/maxSpeed && f.speed <= maxSpeed):
		return command.Usage("--speed must be from %g to %g, not %g", 1/maxSpeed, maxSpeed, f.speed)
	case f.conns < 0 || f.conns > scenario.MaxConnections:
		return command.Usage("--conns must be from 0 to %d, not %d", scenario.MaxConnections, f.conns)
	}
	return nil
}

// replayer returns the store that the recording was made with.
func (a *commandLine) replayer(f *replayFlags, path string) (store.Replayer, error) {
	h, err := call.ReadRecordingHeader(path)
	if err != nil {
		return nil, withoutRecording(path, err)
	}
	if !f.set.Changed("store") {
		f.Store = h.Store
	}
	if f.Store != h.Store {
		return nil, command.Usage("--store: %s was recorded from %s, and the recorded calls cannot be sent to %s; omit --store", path, h.Store, f.Store)
	}
	st, err := a.Lookup(f.Store)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	again, ok := st.(store.Replayer)
	if !ok {
		return nil, fmt.Errorf("recordings from %s cannot be replayed", st.Name())
	}
	return again, nil
}

// scenario returns a scenario with one trial on the cluster that the flags select. The load is
// incomplete until the recording has been read and the method `describe` is called.
func (f *replayFlags) scenario(a *commandLine) (*scenario.Scenario, error) {
	f.preset.SetDerived("target", f.Target.String())
	f.preset.SetDerived("rate", "1")
	return f.Scenario(f.preset, a.Catalog, scenario.CommandOptions{Seed: scenario.DefaultSeed, Repeats: 1})
}

// describe sets the trial's load from the recording: operations, mean rate, keys, sizes and
// connections.
func (f *replayFlags) describe(t *scenario.Trial, p *replay.Plan, path string) {
	l := &t.Load
	t.Name = "replay"
	l.Arrival, l.Total, l.Duration, l.Warmup, l.Preload, l.Threads = scenario.Recorded, p.Calls(), 0, 0, p.PreloadCount() > 0, 1
	l.Rate = scenario.Rate{PerSecond: float64(p.Calls()) / (float64(p.Length()) / 1e9)}
	l.KeySpace, l.KeySize, l.ValueSize = p.Keys, max(p.KeyBytes, 8), p.ValueBytes
	if l.Connections = f.conns; f.conns == 0 {
		l.Connections = min(p.Connections, scenario.MaxConnections)
	}
	l.Clients, l.Mix, l.ClusterWide = l.Connections, nil, f.compactions
	for kind, n := range p.CountByKind() {
		l.Mix = append(l.Mix, scenario.Operation{Kind: kind.Kind, Consistency: kind.Level, Weight: float64(n)})
	}
	slices.SortFunc(l.Mix, func(a, b scenario.Operation) int {
		return cmp.Or(cmp.Compare(b.Weight, a.Weight), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Consistency, b.Consistency))
	})
	t.Notes = append(t.Notes, fmt.Sprintf("The load replays %s (%s to %s, recorded at %s) at %s times the recorded speed. The keys are the recorded keys; the sizes are mean values.",
		filepath.Base(path), text.Plural(p.Calls(), "call"), p.Header.Store, p.Header.Started.UTC().Format(time.RFC3339), text.FormatNumber(f.speed)))
	if slices.ContainsFunc(l.Mix, func(o scenario.Operation) bool { return o.Kind == kv.CAS }) {
		t.Notes = append(t.Notes, "The operation cas stands for all recorded transactions with conditions.")
	}
	if slices.ContainsFunc(l.Mix, func(o scenario.Operation) bool { return o.Kind == kv.KeepAlive }) {
		t.Notes = append(t.Notes, "The operation keepalive stands for all requests for leases, sessions, watchers and compactions.")
	}
}

// newReplayRecord returns the part of the record that describes the replay.
func newReplayRecord(f *replayFlags, p *replay.Plan, path string) *record.Replay {
	o := p.Outcome()
	return &record.Replay{
		Recording: filepath.Base(path), Speed: f.speed, Calls: p.Calls(), NotReplayed: p.Omitted, Gaps: p.Gaps, Prepared: p.PreloadCount(),
		WaitedForAnother: o.Waited, Guarded: o.Guarded, HeldInRecording: o.HeldInRecording, HeldInBoth: o.HeldInBoth, HeldOnlyInReplay: o.HeldOnlyInReplay,
		Watchers: o.Watchers, RecordedEvents: o.RecordedEvents, ReplayedEvents: o.ReplayedEvents,
		InterArrival: record.GapErrorsOf(o.GapErrors),
	}
}
