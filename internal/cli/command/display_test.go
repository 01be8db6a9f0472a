package command

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/runner"
	"github.com/quorumbench/quorumbench/internal/testing/program"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// done returns a completed trial.
func done() *record.Trial {
	h := measure.NewHistogram()
	for i := range 10_000 {
		measure.Record(h, int64(i+1)*1000)
	}
	return &record.Trial{
		Counts: record.Counts{PerSecond: 18_432.4, Errors: 1}, Latencies: record.Latencies{ServiceTime: record.Times{Summary: measure.Summarize(h, 0)}},
		Verdict: verdict.Verdict{State: verdict.Valid},
	}
}

// reports returns the progress reports that a run with two trials sends.
func reports() []runner.Progress {
	measuring := runner.Progress{Stage: runner.Measuring, Trial: 1, Trials: 2, Name: "put-leader", PerSecond: 18_000, P99: 4.5e6, Errors: 1,
		Elapsed: 4 * time.Second, FinishedShare: 0.419, TrialRemaining: 4 * time.Second, Remaining: 11600 * time.Millisecond}
	later := measuring
	later.Elapsed += 250 * time.Millisecond
	late := measuring
	late.Elapsed += plainInterval
	return []runner.Progress{
		{Stage: runner.Starting, Trials: 2, Name: "etcd cluster of 3", Remaining: 15 * time.Second, IsMinimum: true},
		{Stage: runner.WarmingUp, Trial: 1, Trials: 2, Name: "put-leader", Elapsed: 3 * time.Second},
		measuring, later, late,
		{Stage: runner.Draining, Trial: 1, Trials: 2, Name: "put-leader", InFlight: 1000, Elapsed: 15 * time.Second},
		{Stage: runner.TrialDone, Trial: 1, Trials: 2, Name: "put-leader", Result: done(), Elapsed: 15 * time.Second},
		{Stage: runner.Stopping, Trial: 2, Trials: 2, Name: "etcd cluster of 3", Elapsed: 20 * time.Second},
	}
}

func TestPlainLines(t *testing.T) {
	var b bytes.Buffer
	d := NewDisplay(&b, nil)
	for _, p := range reports() {
		d.show(p)
	}
	d.Note("stopping")
	d.Clear()
	want := `starting the etcd cluster of 3, at least 15s left in all
[1/2] put-leader: warming up, 0 errors
[1/2] put-leader: measuring, 41 %, 18,000/s, p99 4.50 ms, 1 error, 4s of the load left, 12s left in all
[1/2] put-leader: measuring, 41 %, 18,000/s, p99 4.50 ms, 1 error, 4s of the load left, 12s left in all
[1/2] put-leader: draining, 0 errors, 1,000 in flight
[1/2] put-leader: 18,432/s, service time p50 5.00 ms, p99 9.90 ms, 1 error, valid
stopping the etcd cluster of 3
quorumbench: stopping
`
	if b.String() != want {
		t.Errorf("the output is\n%s\nwant\n%s", b.String(), want)
	}
}

// onTerminal returns a display on a terminal with the given width in columns.
func onTerminal(to io.Writer, width int) *Display {
	return NewDisplay(to, func() int { return width })
}

func TestTerminalKeepsOnlyTheResults(t *testing.T) {
	var b bytes.Buffer
	d := onTerminal(&b, 40)
	for i, p := range reports() {
		d.show(p)
		shown := program.Screen(b.String())
		if i == 2 {
			if last := shown[len(shown)-2]; last != "[1/2] put-leader: measuring, 41 %, 18,0" {
				t.Errorf("while measuring, the last line is %q", last)
			}
		}
	}
	d.Clear()
	got := strings.Join(program.Screen(b.String()), "\n")
	if want := "[1/2] put-leader: 18,432/s, service time p50 5.00 ms, p99 9.90 ms, 1 error, valid\n"; got != want {
		t.Errorf("the terminal shows %q after the run, want %q", got, want)
	}
}

// Text that other writers print to the same terminal stays visible, and the progress line continues
// below it.
func TestTextOfOtherWritersStaysVisible(t *testing.T) {
	var b bytes.Buffer
	d := onTerminal(&b, 40)
	for range 2 {
		d.show(runner.Progress{Stage: runner.Preloading, Trial: 1, Trials: 1, Name: "put"})
		if _, err := io.WriteString(d.eraseBeforeWrite(&b), "{}\n"); err != nil {
			t.Fatal(err)
		}
	}
	d.show(runner.Progress{Stage: runner.Preloading, Trial: 1, Trials: 1, Name: "put"})
	if got, want := strings.Join(program.Screen(b.String()), "\n"), "{}\n{}\nput: preloading\n"; got != want {
		t.Errorf("the terminal shows %q, want %q", got, want)
	}
}

func TestOneTrialHasNoNumber(t *testing.T) {
	p := runner.Progress{Stage: runner.Measuring, Trial: 1, Trials: 1, Name: "put"}
	if got, want := progressLine(p, false), "put: measuring, 0 errors"; got != want {
		t.Errorf("%q, not %q", got, want)
	}
}

func TestProgressBelowOnePercentIsNotShown(t *testing.T) {
	for share, want := range map[float64]string{0: "put: preloading", 0.009: "put: preloading", 0.01: "put: preloading, 1 %"} {
		p := runner.Progress{Stage: runner.Preloading, Trial: 1, Trials: 1, Name: "put", FinishedShare: share}
		if got := progressLine(p, false); got != want {
			t.Errorf("%g: %q, not %q", share, got, want)
		}
	}
}

func TestCutCountsLetters(t *testing.T) {
	for _, test := range []struct {
		width int
		want  string
	}{{0, "p99 52.1 µs"}, {20, "p99 52.1 µs"}, {10, "p99 52.1 µ"}, {3, "p99"}} {
		if got := cut("p99 52.1 µs", test.width); got != test.want {
			t.Errorf("the text cut to %d columns is %q, want %q", test.width, got, test.want)
		}
	}
}

// With --format json, standard error has the notes, but no progress.
func TestJSONDisplayPrintsOnlyNotes(t *testing.T) {
	for format, want := range map[string]string{"text": "step\nquorumbench: stopping\n", "json": "quorumbench: stopping\n"} {
		var out bytes.Buffer
		d := (&App{Stderr: &out, Screen: &out}).DisplayFor(format)
		d.Update("step", 0, "step")
		d.Note("stopping")
		if d.Clear(); out.String() != want {
			t.Errorf("with the format %s, the display printed %q, want %q", format, out.String(), want)
		}
	}
}
