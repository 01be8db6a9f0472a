package command

import (
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/runner"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Members are shown with their roles and with the operations to which they replied.
func TestLiveViewShowsMembers(t *testing.T) {
	l := newLive()
	l.setMembers([]record.MemberState{{Name: "m1", ID: 7, Role: kv.Leader}, {Name: "m2", ID: 8, Role: kv.Follower}, {Name: "m3", ID: 9, Lost: true}})
	trial := &scenario.Trial{Name: "put"}
	l.addSamples([]*record.MachineRow{sample(0, "m1", 1, 0)})
	for i, n := range []int{1000, 3000} {
		s := second(measure.Measured, i, n, 0)
		s.Cells[0].Member = 7
		l.addSecond(trial, s)
		l.addSamples([]*record.MachineRow{sample(time.Duration(i+1)*time.Second, "m1", 1+0.5*float64(i*i+i), 0)})
	}
	latest := "  m1           leader, CPU 100 %, 3,000/s, RSS 64.0 MiB\n  m2           follower\n  m3           lost"
	if got := strings.Join(plain(l.lines(100)), "\n"); !strings.HasSuffix(got, latest) {
		t.Errorf("the view is\n%s\nwant\n%s", got, latest)
	}
	l.press(averageKey)
	got := strings.Join(plain(l.lines(100)), "\n")
	for _, part := range []string{"  mean rate    ▅█  max 2,000/s\n", "  p99 so far   ", "  m1           leader, CPU 50 %, 2,000/s, RSS"} {
		if !strings.Contains(got, part) {
			t.Errorf("the view with averages is\n%s\nwhich lacks %q", got, part)
		}
	}
}

// The view shows the final figures of ended trials, and keeps showing the same trial when another
// trial ends.
func TestLiveViewShowsEndedTrials(t *testing.T) {
	l := newLive()
	for i, name := range []string{"one", "two", "three"} {
		l.addSecond(&scenario.Trial{Name: name}, second(measure.Measured, 0, 1000*(i+1), 0))
		if name == "three" {
			l.press(earlierKey)
		}
		if name != "three" {
			l.handleProgress(runner.Progress{Stage: runner.TrialDone, Trial: i + 1, Trials: 3, Name: name, Result: done()})
		}
	}
	head := func() string { return plain(l.lines(100))[0] }
	if want := "  ended: [2/3] two: 18,432/s, service time p50 5.00 ms, p99 9.90 ms, 1 error, valid"; head() != want {
		t.Errorf("the first line is %q, want %q", head(), want)
	}
	l.handleProgress(runner.Progress{Stage: runner.TrialDone, Trial: 3, Trials: 3, Name: "three", Result: done()})
	if !strings.Contains(head(), "[2/3] two") {
		t.Errorf("after the next trial, the first line is %q", head())
	}
	for range 5 {
		l.press(earlierKey)
	}
	if !strings.Contains(head(), "[1/3] one") {
		t.Errorf("the first line of the earliest trial is %q", head())
	}
	for range 5 {
		l.press(laterKey)
	}
	if got := l.lines(100); got != nil {
		t.Errorf("before the next trial begins, the view shows %q", plain(got))
	}
	for range 2 * liveTrials {
		l.addSecond(&scenario.Trial{Name: "more"}, second(measure.Measured, 0, 10, 0))
		l.handleProgress(runner.Progress{Stage: runner.TrialDone, Result: done()})
	}
	if len(l.ended) != liveTrials {
		t.Errorf("the view keeps %d ended trials", len(l.ended))
	}
}

// Colours do not change the width of a line, and text from outside the program cannot add control
// sequences.
func TestViewLinesFit(t *testing.T) {
	line := viewLine{{text.Plain, "a\x1b[2J "}, {text.Bad, "12 errors"}, {text.Plain, " µs"}}
	for width, want := range map[int]string{
		40: `a\x1b[2J ` + "\x1b[31m12 errors\x1b[0m µs", 11: `a\x1b[2J ` + "\x1b[31m12\x1b[0m", 3: `a\x`, 0: "",
	} {
		if got := line.fit(width); got.paint(text.Style{Colour: true}) != want || got.width() > width {
			t.Errorf("the line fitted to %d columns is %q, want %q", width, got.paint(text.Style{Colour: true}), want)
		}
	}
}

func TestFooterFitsTheNarrowestTerminal(t *testing.T) {
	l := newLive()
	for _, average := range []bool{false, true} {
		l.average = average
		for _, paused := range []bool{false, true} {
			if footer := l.footer(paused); footer.width() >= liveWidth {
				t.Errorf("the footer has %d columns: %q", footer.width(), footer)
			}
		}
	}
}

// Events that the view highlights are not displaced by more frequent events.
func TestLiveViewKeepsAccentedEvents(t *testing.T) {
	l := newLive()
	l.addSecond(&scenario.Trial{Name: "put"}, second(measure.Measured, 0, 10, 0))
	l.addEvent(record.Event{Time: noon, Kind: record.FaultBegan, Member: "m1", Text: "m1 was killed"})
	for _, member := range []string{"m1", "m2", "m3", "m4", "m5", "m6"} {
		l.addEvent(record.Event{Time: noon, Kind: "slow_apply", Member: member, Text: member + " was slow"})
	}
	got := strings.Join(plain(l.lines(100)), "\n")
	if want := "  events       7\n    12:00:00 m1 was killed\n    12:00:00 m4 was slow\n    12:00:00 m5 was slow\n    12:00:00 m6 was slow"; !strings.HasSuffix(got, want) {
		t.Errorf("the view is\n%s\nwant\n%s", got, want)
	}
}
