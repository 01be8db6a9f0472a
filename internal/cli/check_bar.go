package cli

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/readable"
	"github.com/quorumbench/quorumbench/internal/run/runner"
)

// bar shows how far a check is: on a terminal a bar that fills in place,
// elsewhere plain lines. A nil bar shows nothing.
type bar struct {
	d     *command.Display
	mu    sync.Mutex
	total float64 // of what it counts
	unit  string
	local bool // nobody answers: there are no errors to count
	last  runner.Progress
	said  bool
}

// barCells is how many characters a bar is long.
const barCells = 40

func (b *bar) show(p runner.Progress, at float64) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	due := !b.said || p.Stage != b.last.Stage || p.InWindow-b.last.InWindow >= command.PlainEvery
	if due {
		b.last, b.said = p, true
	}
	b.d.Update(b.text(p, at), due)
}

func (b *bar) text(p runner.Progress, at float64) string {
	if p.Stage != runner.Measuring {
		return string(p.Stage)
	}
	share := min(max(at/b.total, 0), 1)
	full := int(share * barCells)
	text := fmt.Sprintf("%.0f / %.0f%s [%s%s] %.1f%%", min(at, b.total), b.total, b.unit,
		strings.Repeat("=", full), strings.Repeat(" ", barCells-full), 100*share)
	if b.local {
		return text
	}
	return fmt.Sprintf("%s, %s writes, %s", text, readable.Count(p.Done), readable.Plural(p.Errors, "error"))
}

// clear takes the bar away.
func (b *bar) clear() {
	if b != nil {
		b.d.Clear()
	}
}

// line prints a line below.
func (b *bar) line(text string) {
	if b != nil {
		b.d.Line(text)
	}
}

// note prints a line between.
func (b *bar) note(text string) {
	if b != nil {
		b.d.Note(text)
	}
}

// newBar is nil where nothing is to be shown: with --format json.
func (a *app) newBar(format string, total float64, unit string) *bar {
	if format == "json" {
		return nil
	}
	return &bar{d: command.NewDisplay(a.Screen, nil), total: total, unit: unit}
}

// seconds counts a window's seconds.
func (b *bar) seconds(p runner.Progress) { b.show(p, p.InWindow.Truncate(time.Second).Seconds()) }

// writes counts what was written.
func (b *bar) writes(p runner.Progress) { b.show(p, float64(p.Done)) }
