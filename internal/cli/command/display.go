package command

import (
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8/cwriter"

	"github.com/quorumbench/quorumbench/internal/text"

	"github.com/quorumbench/quorumbench/internal/run/runner"
)

// How often what goes on says so where there is no terminal: a run seldom, once it
// takes long.
const (
	plainEvery = 10 * time.Second
	longEvery  = time.Minute
	long       = 2 * time.Minute
)

// Display shows how a run goes: on a terminal one line that changes in place,
// below the lines of the trials that ended; elsewhere plain lines.
type Display struct {
	mu    sync.Mutex
	to    *cwriter.Writer
	width func() int // of the terminal in columns; 0: it is none
	shown bool       // a line that changes stands there
	// Without a terminal: the step that the last line is of, and when that was
	// said and had begun.
	step        string
	said, since time.Duration
}

// NewDisplay returns a display on what is perhaps a terminal. width returns its
// columns, 0 for none; nil asks the terminal itself.
func NewDisplay(to io.Writer, width func() int) *Display {
	d := &Display{to: cwriter.New(to), width: width}
	if width == nil {
		d.width = d.terminalWidth
	}
	return d
}

// terminalWidth asks again each time, because windows change.
func (d *Display) terminalWidth() int {
	if !d.to.IsTerminal() || os.Getenv("TERM") == "dumb" {
		return 0
	}
	if w, _, err := d.to.GetTermSize(); err == nil && w > 0 {
		return w
	}
	return 80
}

// show takes the next report of how the run goes.
func (d *Display) show(p runner.Progress) {
	if p.Stage == runner.TrialDone {
		d.Line(doneLine(p))
		return
	}
	d.update(fmt.Sprint(p.Stage, p.Trial), p.Elapsed, progressLine(p), longEvery)
}

// Update shows how a step goes, so long after the beginning of all: in the line
// that changes; where there is no terminal in a line for each step and every ten
// seconds.
func (d *Display) Update(step string, elapsed time.Duration, text string) {
	d.update(step, elapsed, text, plainEvery)
}

func (d *Display) update(step string, elapsed time.Duration, text string, late time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if width := d.width(); width > 0 {
		d.change(cut(shown(text), width-1))
		return
	}
	every := plainEvery
	if elapsed-d.since >= long {
		every = late
	}
	switch {
	case step != d.step:
		d.since = elapsed
	case elapsed-d.said < every:
		return
	}
	d.step, d.said = step, elapsed
	d.line(text)
}

// Note prints a line between.
func (d *Display) Note(text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.erase()
	d.line("quorumbench: " + text)
}

// Line prints a line of its own.
func (d *Display) Line(text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.erase()
	d.line(text)
}

// Clear takes the line that changes away, so that others can write.
func (d *Display) Clear() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.erase()
}

// change writes the line that changes in place of the one before.
func (d *Display) change(text string) {
	d.print(text, 1)
	d.shown = true
}

// between returns a writer for others' lines that may come while the line that
// changes stands on the same terminal: it takes that line away before.
func (d *Display) between(to io.Writer) io.Writer { return between{d, to} }

type between struct {
	d  *Display
	to io.Writer
}

// Write implements io.Writer.
func (b between) Write(p []byte) (int, error) {
	b.d.mu.Lock()
	defer b.d.mu.Unlock()
	b.d.erase()
	return b.to.Write(p)
}

func (d *Display) erase() {
	if d.shown {
		_ = d.to.Flush(0)
		d.shown = false
	}
}

func (d *Display) line(text string) { d.print(shown(text), 0) }

// shown is a text that may have foreign parts as a line.
func shown(words string) string { return text.Line(words, text.OfOutput) }

// print writes a line as it is; the last so many lines are taken away by what is
// written next. It ignores errors: a run does not end because nobody looks at it.
func (d *Display) print(text string, changing int) {
	_, _ = d.to.WriteString(text + "\n")
	_ = d.to.Flush(changing)
}

// cut keeps a line within the terminal's width, where it can be erased.
func cut(line string, width int) string {
	letters := []rune(line)
	if width < 1 || len(letters) <= width {
		return line
	}
	return string(letters[:width])
}

// head is which trial of how many, as in [2/7] put-leader.
func head(p runner.Progress) string {
	if p.Trial == 0 || p.Trials < 2 {
		return p.Name
	}
	return fmt.Sprintf("[%d/%d] %s", p.Trial, p.Trials, p.Name)
}

// progressLine is what runs, how it goes and how long it still takes.
func progressLine(p runner.Progress) string {
	parts := []string{head(p) + ": " + string(p.Stage)}
	if p.Stage == runner.Starting || p.Stage == runner.Stopping {
		parts[0] = fmt.Sprintf("%s the %s", p.Stage, p.Name)
	}
	if percent := math.Floor(100 * p.Share); percent > 0 {
		parts = append(parts, fmt.Sprintf("%.0f %%", percent))
	}
	if p.PerSecond > 0 {
		parts = append(parts, text.PerSecond(p.PerSecond))
	}
	if p.P99 > 0 {
		parts = append(parts, "p99 "+text.Duration(p.P99))
	}
	if p.Stage == runner.WarmingUp || p.Stage == runner.Measuring || p.Stage == runner.Draining {
		parts = append(parts, text.Plural(p.Errors, "error"))
	}
	if p.Stage == runner.Draining {
		parts = append(parts, fmt.Sprintf("%s in flight", text.Count(uint64(max(p.InFlight, 0)))))
	}
	if p.Stage == runner.Verifying && p.Done > 0 {
		parts = append(parts, text.Plural(p.Done, "operation")+" read")
	}
	several := p.Trials > 1
	if p.TrialLeft > 0 {
		parts = append(parts, rounded(p.TrialLeft)+" of load left")
	}
	switch {
	case p.TrialLeft > 0 && rounded(p.Left) == rounded(p.TrialLeft): // the last one
	case p.Left > 0 && (several || p.TrialLeft == 0):
		least := ""
		if p.AtLeast {
			least = "at least "
		}
		parts = append(parts, least+rounded(p.Left)+" left in all")
	case several && p.TrialLeft > 0:
		parts = append(parts, "the others' time is not known")
	}
	return strings.Join(parts, ", ")
}

// doneLine is what a trial came to.
func doneLine(p runner.Progress) string {
	t := p.Result
	if t == nil {
		return head(p) + ": done"
	}
	time := t.Headline()
	return fmt.Sprintf("%s: %s, %s p50 %s, p99 %s, %s, %s", head(p), text.PerSecond(t.PerSecond),
		t.HeadlineTime().Words(), time.At(50).Text(), time.At(99).Text(), text.Plural(t.Errors, "error"), t.Verdict.State)
}

// rounded is a time to wait, to the second.
func rounded(d time.Duration) string { return max(d.Round(time.Second), time.Second).String() }
