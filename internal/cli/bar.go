package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/run/runner"
	"github.com/quorumbench/quorumbench/internal/text"
)

// bar shows the progress of a check. On a terminal, the bar grows in place; elsewhere, it is
// printed as plain lines.
type bar struct {
	*command.Display
	total       float64 // number of units at which the bar is full
	unit        string
	requestNoun string // noun for the requests of the check, for example "writes"
	local       bool   // set if the check sends no requests, so there are no errors to show
}

// newBar returns a bar. If the format is json, the bar shows only notes.
func (a *commandLine) newBar(format string, total float64, unit string) *bar {
	return &bar{Display: a.DisplayFor(format), total: total, unit: unit, requestNoun: "writes"}
}

// seconds shows how many seconds of the measurement window have passed.
func (b *bar) seconds(p runner.Progress) { b.show(p, p.WindowElapsed.Truncate(time.Second).Seconds()) }

func (b *bar) show(p runner.Progress, at float64) {
	if p.Stage == runner.TrialDone { // the run may still have to remove keys
		return
	}
	b.Update(string(p.Stage), p.WindowElapsed, b.text(p, at))
}

// barCells is the length of a bar in characters.
const barCells = 40

func (b *bar) text(p runner.Progress, at float64) string {
	if p.Stage != runner.Measuring {
		return string(p.Stage)
	}
	share := min(max(at/b.total, 0), 1)
	full := int(share * barCells)
	words := fmt.Sprintf("%.0f / %.0f%s [%s%s] %.1f%%", min(at, b.total), b.total, b.unit,
		strings.Repeat("=", full), strings.Repeat(" ", barCells-full), 100*share)
	if b.local {
		return words
	}
	return fmt.Sprintf("%s, %s %s, %s", words, text.Count(p.Succeeded), b.requestNoun, text.Plural(p.Errors, "error"))
}
