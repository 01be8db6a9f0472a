package command

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8/cwriter"

	"github.com/quorumbench/quorumbench/internal/results/report"
	"github.com/quorumbench/quorumbench/internal/run/runner"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Intervals between progress lines if the output is not a terminal.
const (
	plainInterval   = 10 * time.Second
	longRunInterval = time.Minute // used after a step has taken at least longRunTime
	longRunTime     = 2 * time.Minute
)

// Display shows the progress of a run. On a terminal, the progress is updated in place below the
// lines of completed trials. Elsewhere, each update is a new line.
type Display struct {
	mu          sync.Mutex
	out         *cwriter.Writer
	width       func() int        // returns the number of terminal columns, or 0 without a terminal
	height      func() int        // returns the number of terminal lines
	live        *live             // nil for a single progress line
	quiet       bool              // set if no progress is shown
	printNote   func(text string) // prints a note, instead of the stream; nil if the stream shows notes
	drawnWidths []int             // widths of the lines that the next output replaces
	// These fields are used only with a live view. input is the terminal from which keys are read,
	// or nil. The function `latest` returns the line above the view. While the view is paused, the
	// display shows the lines in `frozen`. `suspended` is set from Ctrl-Z until the program
	// continues.
	input     *os.File
	keys      *keys
	latest    func(viewed bool) string
	paused    bool
	frozen    []viewLine
	suspended bool
	// These fields are used only without a terminal. `step` is the step in the last printed line,
	// `printed` is the time at which this line was printed, and `since` is the time at which the
	// step began.
	step           string
	printed, since time.Duration
}

// The values of --progress.
const (
	progressLive  = "live"
	progressLines = "lines"
	progressNone  = "none"
)

// Display returns a display for the given stream. --progress selects the kind of display. With
// NO_COLOR or TERM=dumb, or without a terminal, the display prints lines.
func (a *App) Display(stream io.Writer) *Display {
	d := NewDisplay(stream, nil)
	switch {
	case a.Progress == progressNone:
		d.quiet = true
	case a.Progress == progressLines || os.Getenv("NO_COLOR") != "":
		d.width = func() int { return 0 }
	case d.width() > 0:
		d.live = newLive()
		d.input, _ = a.Stdin.(*os.File)
	}
	return d
}

// DisplayFor returns a display on standard error for a command that prints its result in the given
// format. If the format is json, the display shows no progress and prints only notes.
func (a *App) DisplayFor(format string) *Display {
	if format != "json" {
		return a.Display(a.Screen)
	}
	d := a.Display(io.Discard)
	d.printNote = func(text string) { a.PrintNote("%s", text) }
	return d
}

// AddProgress registers --progress.
func (a *App) AddProgress(r Flags) {
	a.Progress = progressLive
	r.Choice("progress", &a.Progress, "how to show the progress: a view that changes in place on a terminal, one line at a time, or nothing", progressLive, progressLines, progressNone)
}

// NewDisplay returns a display that writes to the given stream, which may be a terminal. width
// returns the number of terminal columns, or 0 without a terminal. If width is nil, the display
// asks the terminal.
func NewDisplay(stream io.Writer, width func() int) *Display {
	d := &Display{out: cwriter.New(stream), width: width}
	if width == nil {
		d.width = d.terminalWidth
	}
	d.height = d.terminalHeight
	return d
}

// terminalHeight returns the current number of terminal lines.
func (d *Display) terminalHeight() int {
	if _, h, err := d.out.GetTermSize(); err == nil && h > 0 {
		return h
	}
	return 24
}

// terminalWidth returns the current number of terminal columns, or 0 without a terminal. The
// display asks again each time, because users resize windows.
func (d *Display) terminalWidth() int {
	if !d.out.IsTerminal() || os.Getenv("TERM") == "dumb" {
		return 0
	}
	if w, _, err := d.out.GetTermSize(); err == nil && w > 0 {
		return w
	}
	return 80
}

// show displays a progress report of a run.
func (d *Display) show(p runner.Progress) {
	if p.Stage == runner.TrialDone {
		d.add(judgedLine(p))
		return
	}
	line := func(viewed bool) string { return progressLine(p, viewed) }
	d.update(fmt.Sprint(p.Stage, p.Trial), p.Elapsed, line, longRunInterval)
}

// Update shows the progress of a step. elapsed is the time since the first step began. Without a
// terminal, Update prints one line when a step begins, and then one line every ten seconds.
func (d *Display) Update(step string, elapsed time.Duration, text string) {
	d.update(step, elapsed, func(bool) string { return text }, plainInterval)
}

// update shows the progress of a step. The function `line` returns the text. The argument of `line`
// is true if a live view follows the line and shows the figures. Without a terminal, `longInterval`
// is the interval between the lines of a step that takes long.
func (d *Display) update(step string, elapsed time.Duration, line func(viewed bool) string, longInterval time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.quiet {
		return
	}
	if d.width() > 0 {
		d.latest = line
		d.draw()
		return
	}
	every := plainInterval
	if elapsed-d.since >= longRunTime {
		every = longInterval
	}
	switch {
	case step != d.step:
		d.since = elapsed
	case elapsed-d.printed < every:
		return
	}
	d.step, d.printed = step, elapsed
	d.line(line(false))
}

// draw replaces the progress lines on the terminal. While the view is paused, draw writes only if
// other output has erased the lines. Users can therefore select text in a paused view.
func (d *Display) draw() {
	width := d.width()
	if d.latest == nil || d.suspended || d.paused && len(d.drawnWidths) > 0 {
		return
	}
	if !d.paused || d.frozen == nil {
		view := d.view(width)
		line := d.latest(len(view) > 0)
		d.frozen = append([]viewLine{accented(line, errorsIn(line), text.Bad)}, view...)
	}
	lines := slices.Clone(d.frozen)
	if len(lines) > 1 && d.keys.active() {
		lines = append(lines, d.live.footer(d.paused))
	}
	for i := range lines {
		lines[i] = lines[i].fit(width - 1)
	}
	d.change(lines)
}

// errorsIn returns the part of a progress line that reports errors, or an empty string if the line
// reports none.
func errorsIn(line string) string {
	for part := range strings.SplitSeq(line, ", ") {
		if n, ok := strings.CutSuffix(strings.TrimSuffix(part, "s"), " error"); ok && n != "0" {
			return part
		}
	}
	return ""
}

// view returns the lines of the live view that fit the terminal, or nil if the terminal is too
// small for a live view.
func (d *Display) view(width int) []viewLine {
	room := d.height() - 2
	if d.live == nil || width < liveWidth || room < liveHeight-2 {
		return nil
	}
	if d.keys.active() {
		room-- // for the footer
	}
	lines := d.live.lines(width)
	return lines[:min(len(lines), room)]
}

// Interruptible does the same as the package's function Interruptible. If the display has a live
// view on a terminal, the method also reads keys until Clear or the returned function is called.
func (d *Display) Interruptible(ctx context.Context, announce func()) (context.Context, func()) {
	if d.live != nil && d.input != nil {
		d.keys = newKeys(d.input, d.press, d.suspend, d.resume)
	}
	ctx, stop := Interruptible(ctx, func() {
		d.keys.interrupt()
		announce()
	})
	return ctx, func() {
		d.keys.end()
		stop()
	}
}

// press handles a key.
func (d *Display) press(k key) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if k == pauseKey {
		d.paused = !d.paused
	} else {
		d.live.press(k)
		d.frozen = nil
	}
	if d.latest != nil {
		d.erase()
		d.draw()
	}
}

// suspend erases the view before the program is stopped. Until resume is called, the view is not
// drawn. Other programs may write lines below such a view, and resume could then not erase it.
func (d *Display) suspend() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.suspended = true
	d.erase()
}

// resume draws the view again, below the output of other programs.
func (d *Display) resume() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.suspended, d.drawnWidths = false, nil
	d.draw()
}

// Note prints a message from the program above the progress line.
func (d *Display) Note(text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.printNote != nil {
		d.printNote(text)
		return
	}
	d.erase()
	d.line("quorumbench: " + text)
}

// Line prints a line above the progress line, unless no progress is shown.
func (d *Display) Line(words string) { d.add(plainLine(words)) }

func (d *Display) add(line viewLine) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.quiet {
		return
	}
	d.erase()
	d.write(line)
}

// Clear erases the progress line and stops reading keys, so that other output can follow.
func (d *Display) Clear() {
	d.keys.end()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.erase()
	d.latest = nil
}

// change replaces the progress lines on the terminal.
func (d *Display) change(lines []viewLine) {
	var all strings.Builder
	all.WriteString(d.eraseSequence())
	for _, line := range lines {
		all.WriteString(line.paint(text.Style{Colour: d.live != nil}) + "\n")
		d.drawnWidths = append(d.drawnWidths, line.width())
	}
	_, _ = d.out.WriteString(all.String())
	_ = d.out.Flush(0)
}

// eraseBeforeWrite returns a writer that erases the progress line before each write. The underlying
// writer may write to the same terminal as the display.
func (d *Display) eraseBeforeWrite(stream io.Writer) io.Writer { return erasingWriter{d, stream} }

type erasingWriter struct {
	d   *Display
	out io.Writer
}

// Write implements io.Writer.
func (b erasingWriter) Write(p []byte) (int, error) {
	b.d.mu.Lock()
	defer b.d.mu.Unlock()
	b.d.erase()
	return b.out.Write(p)
}

// erase removes the progress lines from the terminal.
func (d *Display) erase() {
	if len(d.drawnWidths) > 0 {
		_, _ = d.out.WriteString(d.eraseSequence())
		_ = d.out.Flush(0)
	}
}

// eraseSequence returns the escape sequence that removes the progress lines, or an empty string if
// no lines are drawn. A line that was drawn on a wider terminal can now occupy several rows.
func (d *Display) eraseSequence() string {
	rows, width := 0, max(d.width(), 1)
	for _, letters := range d.drawnWidths {
		rows += max((letters+width-1)/width, 1)
	}
	d.drawnWidths = d.drawnWidths[:0]
	if rows == 0 {
		return ""
	}
	return fmt.Sprintf("\x1b[%dA\x1b[J", rows) // moves the cursor up and erases to the end of the screen
}

// line writes a line that later updates do not erase.
func (d *Display) line(words string) { d.write(plainLine(words)) }

// write writes a line that later updates do not erase. It ignores errors, because a run
// must continue even if its display is closed.
func (d *Display) write(line viewLine) {
	for i := range line {
		line[i].words = printableLine(line[i].words)
	}
	_, _ = d.out.WriteString(line.paint(text.Style{Colour: d.live != nil}) + "\n")
	_ = d.out.Flush(0)
}

// printableLine returns the text in `words` as one printable line. The text may come from servers
// or files.
func printableLine(words string) string { return text.Line(words, text.MaxOutput) }

// cut shortens a line to width columns, because a line that wraps could not be erased.
func cut(line string, width int) string {
	letters := []rune(line)
	if width < 1 || len(letters) <= width {
		return line
	}
	return string(letters[:width])
}

// trialHeading returns the trial's number, the number of trials and the trial's name, for example
// "[2/7] put-leader".
func trialHeading(p runner.Progress) string {
	if p.Trial == 0 || p.Trials < 2 {
		return p.Name
	}
	return fmt.Sprintf("[%d/%d] %s", p.Trial, p.Trials, p.Name)
}

// progressLine returns one line with the stage, its figures and the remaining time. If brief is
// set, the line omits the figures that a live view shows.
func progressLine(p runner.Progress, brief bool) string {
	parts := []string{trialHeading(p) + ": " + string(p.Stage)}
	if p.Stage == runner.Starting || p.Stage == runner.Stopping {
		parts[0] = fmt.Sprintf("%s the %s", p.Stage, p.Name)
	}
	if percent := math.Floor(100 * p.FinishedShare); percent > 0 {
		parts = append(parts, fmt.Sprintf("%.0f %%", percent))
	}
	if p.PerSecond > 0 && !brief {
		parts = append(parts, text.PerSecond(p.PerSecond))
	}
	if p.P99 > 0 && !brief {
		parts = append(parts, "p99 "+text.Duration(p.P99))
	}
	if p.Stage == runner.WarmingUp || p.Stage == runner.Measuring || p.Stage == runner.Draining {
		parts = append(parts, text.Plural(p.Errors, "error"))
	}
	if p.Stage == runner.Draining {
		parts = append(parts, fmt.Sprintf("%s in flight", text.Count(uint64(max(p.InFlight, 0)))))
	}
	if p.Stage == runner.Verifying && p.Succeeded > 0 {
		parts = append(parts, text.Plural(p.Succeeded, "operation")+" read")
	}
	several := p.Trials > 1
	if p.TrialRemaining > 0 {
		parts = append(parts, rounded(p.TrialRemaining)+" of the load left")
	}
	switch {
	case p.TrialRemaining > 0 && rounded(p.Remaining) == rounded(p.TrialRemaining): // the last trial
	case p.Remaining > 0 && (several || p.TrialRemaining == 0):
		least := ""
		if p.IsMinimum {
			least = "at least "
		}
		parts = append(parts, least+rounded(p.Remaining)+" left in all")
	case several && p.TrialRemaining > 0:
		parts = append(parts, "the time for the other trials is not known")
	}
	return strings.Join(parts, ", ")
}

// doneLine returns one line with the result of a trial.
func doneLine(p runner.Progress) string {
	t := p.Result
	if t == nil {
		return trialHeading(p) + ": done"
	}
	time := t.Headline()
	return fmt.Sprintf("%s: %s, %s p50 %s, p99 %s, %s, %s", trialHeading(p), text.PerSecond(t.PerSecond),
		t.HeadlineTime().Phrase(), time.Percentile(50).Text(), time.Percentile(99).Text(), text.Plural(t.Errors, "error"), t.Verdict.State)
}

// judgedLine returns the line of doneLine. The verdict in the line has a tone.
func judgedLine(p runner.Progress) viewLine {
	line := doneLine(p)
	if p.Result == nil {
		return plainLine(line)
	}
	state := p.Result.Verdict.State
	return viewLine{{text.Plain, strings.TrimSuffix(line, string(state))}, {report.VerdictTone(state), string(state)}}
}

// rounded returns a duration rounded to whole seconds, at least 1s.
func rounded(d time.Duration) string { return max(d.Round(time.Second), time.Second).String() }
