//go:build linux

// Command verdictbench measures in real time how often the verdict is wrong. It runs each load on a
// null server, first undisturbed and then with a known disturbance of the load generator. It prints
// how often wrong results were not judged valid, and how often correct results were judged valid.
// internal/testing/verdictbench does the same in simulated time, in tests with thousands of trials.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/testing/verdictbench"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// options contains the command-line options.
type options struct {
	trials  int
	window  time.Duration
	binary  string
	seed    uint64
	verbose bool
	kind    string // kind of disturbance; if empty, all kinds
}

func main() {
	if len(os.Args) == 3 && os.Args[1] == spinCommand {
		spin(os.Args[2])
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var o options
	flag.IntVar(&o.trials, "trials", 20, "number of trials for each kind of disturbance")
	flag.DurationVar(&o.window, "window", 3*time.Second, "length of the window of each trial")
	flag.StringVar(&o.binary, "binary", "", "path of the quorumbench binary; if empty, verdictbench builds quorumbench")
	flag.Uint64Var(&o.seed, "seed", 1, "seed of the trials")
	flag.StringVar(&o.kind, "kind", "", "run only this kind of disturbance, such as quota; if empty, run all kinds and also undisturbed trials")
	flag.BoolVar(&o.verbose, "verbose", false, "print every trial, not only trials with wrong verdicts")
	flag.Parse()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "verdictbench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	dir, err := os.MkdirTemp("", "verdictbench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if o.binary == "" {
		o.binary = filepath.Join(dir, "quorumbench")
		if out, err := exec.CommandContext(ctx, "go", "build", "-o", o.binary, "./cmd/quorumbench").CombinedOutput(); err != nil {
			return fmt.Errorf("quorumbench does not build: %w\n%s", err, out)
		}
	}
	b := &bench{options: o}
	table := &verdictbench.Table{}
	kinds := append([]verdictbench.Kind{verdictbench.Quiet}, verdictbench.Kinds()...)
	if o.kind != "" {
		if !slices.Contains(kinds, verdictbench.Kind(o.kind)) {
			return fmt.Errorf("-kind %s: no kind has this name; choose one of %q", o.kind, kinds)
		}
		kinds = []verdictbench.Kind{verdictbench.Kind(o.kind)}
	}
	for _, kind := range kinds {
		if why := b.unsupportedReason(kind); why != "" {
			fmt.Fprintf(os.Stderr, "%s: left out: %s\n", kind, why)
			continue
		}
		for i := range o.trials {
			out, err := b.trial(ctx, kind, o.seed+uint64(i))
			var restless unstableError
			switch {
			case ctx.Err() != nil:
				// Print the results so far even if ctx has ended.
				return errors.Join(table.Write(os.Stdout), ctx.Err())
			case errors.As(err, &restless):
				fmt.Fprintf(os.Stderr, "%s, trial %d: left out: %v\n", kind, i, err)
				continue
			case err != nil:
				return err
			}
			table.Add(&out)
			if o.verbose || out.HasWrongVerdict() {
				fmt.Fprintln(os.Stderr, out.String())
			}
		}
	}
	return table.Write(os.Stdout)
}

// bench runs trials.
type bench struct{ options }

// unstableError means that no two undisturbed runs agree, so the true values are unknown.
type unstableError struct{ difference float64 }

func (e unstableError) Error() string {
	return fmt.Sprintf("other programs disturb this machine: no two undisturbed runs agree, and the closest two differ by %.1f %%", 100*e.difference)
}

// maxUndisturbedDifference is the maximum relative difference at which two undisturbed runs count
// as equal.
const maxUndisturbedDifference = 0.05

// maxUndisturbedRuns is the maximum number of undisturbed runs per trial. verdictbench stops
// earlier if two of them agree.
const maxUndisturbedRuns = 5

// trial runs a load undisturbed and then disturbed. It then repeats the undisturbed run until two
// undisturbed runs agree, because other programs may have disturbed any of these runs.
func (b *bench) trial(ctx context.Context, kind verdictbench.Kind, seed uint64) (verdictbench.Outcome, error) {
	s := randomSubject(kind, seed)
	out := verdictbench.Outcome{Kind: kind, Seed: seed, What: s.text()}
	server, err := startServer(ctx, b.binary, s.script)
	if err != nil {
		return out, err
	}
	defer server.stop()
	first, err := b.load(ctx, server.endpoint, s, disturbance{})
	if err != nil {
		return out, err
	}
	got, err := b.load(ctx, server.endpoint, s, s.disturbance)
	if err != nil {
		return out, err
	}
	undisturbed, closest := []*record.Trial{first}, math.Inf(1)
	for len(undisturbed) < maxUndisturbedRuns {
		again, err := b.load(ctx, server.endpoint, s, disturbance{})
		if err != nil {
			return out, err
		}
		for _, truth := range undisturbed {
			by := largestDifference(truth, again)
			if by <= maxUndisturbedDifference {
				out.Judge(truth, got)
				out.KeepFigures(agreeingFigures(truth, again))
				return out, nil
			}
			closest = min(closest, by)
		}
		undisturbed = append(undisturbed, again)
	}
	return out, unstableError{closest}
}

// largestDifference returns the largest relative difference in throughput, p50 and p99 between two
// runs.
func largestDifference(a, b *record.Trial) (most float64) {
	for _, d := range verdictbench.Deviations(a, b) {
		if slices.Contains([]string{verdict.Throughput, "p50", "p99"}, d.Figure) {
			most = max(most, d.Off, -d.Off)
		}
	}
	return most
}

// agreeingFigures returns the names of the figures in which two undisturbed runs agree. The true
// values of the other figures, often p99.9 and max, are unknown.
func agreeingFigures(a, b *record.Trial) (names []string) {
	for _, d := range verdictbench.Deviations(a, b) {
		if max(d.Off, -d.Off) <= maxUndisturbedDifference {
			names = append(names, d.Figure)
		}
	}
	return names
}

// load runs the generator on its own CPU, with the disturbance d, and returns the result.
func (b *bench) load(ctx context.Context, endpoint string, s subject, d disturbance) (*record.Trial, error) {
	args := append([]string{"bench", "put", "--endpoints", endpoint, "--format", "json", "--key-space-size", "1000",
		"--warmup", "500ms", "--duration", b.window.String()}, s.args...)
	cmd := exec.CommandContext(ctx, b.binary, args...)
	cmd.Dir = os.TempDir()
	var out outputs
	cmd.Stdout, cmd.Stderr = &out.stdout, &out.stderr
	if err := startOn(generatorCPU(), cmd, d.nice); err != nil {
		return nil, err
	}
	undo, err := d.begin(ctx, cmd.Process)
	if err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return nil, err
	}
	err = cmd.Wait()
	undo()
	var t record.Trial
	if e := json.Unmarshal(out.stdout.Bytes(), &t); e != nil {
		return nil, fmt.Errorf("quorumbench printed no valid result: %w (%w)\n%s", e, err, out.stderr.Bytes())
	}
	return &t, nil
}
