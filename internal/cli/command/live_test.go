package command

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/runner"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/testing/program"
	"github.com/quorumbench/quorumbench/internal/text"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// second returns a one-second interval with n operations that took from 1 µs to n µs, and with some
// failed operations.
func second(phase measure.Phase, index, n, failed int) *measure.Second {
	cell := &measure.Cell{Response: measure.NewHistogram()}
	for i := range n {
		measure.Record(cell.Response, int64(i+1)*1000)
	}
	s := &measure.Second{Phase: phase, Index: index, Length: 1e9, InFlight: 3}
	s.Cells, s.Done, s.Due = []*measure.Cell{cell}, uint64(n), uint64(n+failed)
	s.Outcomes[kv.OK], s.Outcomes[kv.TimedOut] = uint64(n), uint64(failed)
	return s
}

func sample(at time.Duration, name string, cpu, written float64) *record.MachineRow {
	r := record.NewMachineRow(noon.Add(at), name)
	r.PID, r.User, r.System, r.WriteBytes, r.RSS = 7, cpu, 0, written, 64<<20
	return r
}

// plain returns lines without tones.
func plain(lines []viewLine) (all []string) {
	for _, l := range lines {
		all = append(all, l.paint(text.Style{}))
	}
	return all
}

func TestLiveViewShowsSecondWindowProcessesAndEvents(t *testing.T) {
	l := newLive()
	open := &scenario.Trial{Name: "put", Repeat: 1}
	open.Load.Arrival = scenario.Constant
	if got := plain(l.lines(100)); got != nil {
		t.Errorf("before the first one-second interval, the view shows %q", got)
	}
	l.addSamples([]*record.MachineRow{sample(0, "m1", 1, 0), record.NewMachineRow(noon, "disk sda")})
	l.addSecond(open, second(measure.Warmup, 0, 50_000, 0))
	l.addSecond(open, second(measure.Measured, 0, 2000, 0))
	l.addSecond(open, second(measure.Measured, 1, 4000, 20))
	l.addSamples([]*record.MachineRow{sample(2*time.Second, "m1", 2, 4<<20)})
	for i := range 3 {
		l.addEvent(record.Event{Time: noon.Add(time.Duration(i) * time.Second), Kind: "slow_fsync", Member: "m1", Text: "m1 synced slowly"})
	}
	l.addEvent(record.Event{Time: noon, Kind: "election", Member: "m2", Text: "m2 was elected leader"})
	want := []string{
		"  last second  4,000/s of 4,020/s due  p99 3.98 ms  p50 2.01 ms  p99.9 failed  20 errors  3 in flight",
		"  window       3,000/s  p99 3.96 ms  p50 1.51 ms  p99.9 failed  20 errors",
		"  throughput   █▁▂  max 50,000/s",
		"  p99          █▁▂  max 49.5 ms",
		"  m1           CPU 50 %, writes 2.00 MiB/s, RSS 64.0 MiB",
		"  events       4",
		"    12:00:02 m1 synced slowly, 3 times so far",
		"    12:00:00 m2 was elected leader",
	}
	if got := plain(l.lines(100)); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("the view is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	l.addSecond(&scenario.Trial{Name: "get", Repeat: 1}, second(measure.Warmup, 0, 10, 0))
	got := strings.Join(plain(l.lines(100)), "\n")
	if strings.Contains(got, "m1") || strings.Contains(got, "errors") || strings.Contains(got, "due") || !strings.Contains(got, "  p50 ") {
		t.Errorf("the view of the next trial begins with\n%s", got)
	}
}

func TestLiveViewOfALongTrialKeepsTwoMinutes(t *testing.T) {
	l := newLive()
	trial := &scenario.Trial{Name: "put"}
	for i := range 3 * maxStripColumns {
		l.addSecond(trial, second(measure.Measured, i, 10+i, 0))
		l.addEvent(record.Event{Kind: fmt.Sprint(i)})
	}
	if len(l.now.second.rates) != maxStripColumns || len(l.now.phased.tails) != maxStripColumns || len(l.now.events) != liveEvents || l.now.count != 3*maxStripColumns {
		t.Errorf("the view keeps %d rates, %d times and %d of %d events", len(l.now.second.rates), len(l.now.phased.tails), len(l.now.events), l.now.count)
	}
	for _, width := range []int{40, 80, 300} {
		for _, line := range plain(l.lines(width))[2:4] {
			if n := utf8.RuneCountInString(line); n >= width {
				t.Errorf("on a terminal of %d columns, a strip has %d columns: %q", width, n, line)
			}
		}
	}
}

// A display replaces all lines of the view, even after its terminal became narrower, and leaves
// only the results.
func TestLiveViewIsReplacedAfterAResize(t *testing.T) {
	var b bytes.Buffer
	width := 100
	d := NewDisplay(&b, func() int { return width })
	d.live, d.height = newLive(), func() int { return 30 }
	measuring := runner.Progress{Stage: runner.Measuring, Trial: 1, Trials: 1, Name: "put", PerSecond: 10, FinishedShare: 0.5}
	d.live.addSecond(&scenario.Trial{Name: "put"}, second(measure.Measured, 0, 4000, 0))
	d.show(measuring)
	shown := program.Screen(b.String())
	if len(shown) != 6 || shown[0] != "put: measuring, 50 %, 0 errors" {
		t.Fatalf("the terminal shows %q", shown)
	}
	b.Reset()
	width = 60
	d.show(measuring)
	rows := 0
	for _, line := range shown[:5] {
		rows += max((utf8.RuneCountInString(line)+width-1)/width, 1)
	}
	if want := fmt.Sprintf("\x1b[%dA\x1b[J", rows); rows <= 5 || !strings.HasPrefix(b.String(), want) {
		t.Errorf("on a narrower terminal, the display erases with %q, want %q", b.String()[:8], want)
	}
	for _, line := range program.Screen(strings.TrimPrefix(b.String(), fmt.Sprintf("\x1b[%dA\x1b[J", rows))) {
		if utf8.RuneCountInString(line) >= width {
			t.Errorf("the line %q does not fit %d columns", line, width)
		}
	}
	d.show(runner.Progress{Stage: runner.TrialDone, Trial: 1, Trials: 1, Name: "put", Result: done()})
	d.height = func() int { return liveHeight - 1 }
	d.live.addSecond(&scenario.Trial{Name: "put"}, second(measure.Measured, 0, 4000, 0))
	b.Reset()
	d.show(measuring)
	if shown := program.Screen(b.String()); len(shown) != 2 {
		t.Errorf("on a terminal with few lines, the display shows %q", shown)
	}
	d.Clear()
	if shown := program.Screen(b.String()); strings.Join(shown, "") != "" {
		t.Errorf("after Clear, the terminal shows %q", shown)
	}
}

func TestProgressFlagChoosesTheDisplay(t *testing.T) {
	for value, want := range map[string]string{
		progressLines: "put: measuring, 0 errors\nquorumbench: note\n", progressLive: "put: measuring, 0 errors\nquorumbench: note\n",
		progressNone: "quorumbench: note\n",
	} {
		var b bytes.Buffer
		d := (&App{Progress: value}).Display(&b) // b is not a terminal
		d.show(runner.Progress{Stage: runner.Measuring, Trial: 1, Trials: 1, Name: "put"})
		d.Note("note")
		if b.String() != want {
			t.Errorf("--progress %s prints %q, not %q", value, b.String(), want)
		}
	}
}
