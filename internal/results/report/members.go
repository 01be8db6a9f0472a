package report

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/quorumbench/quorumbench/internal/readable"
	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// lostConnections writes of all trials which members lost connections, and
// where the load went.
func lostConnections(b *bytes.Buffer, trials []record.Trial) {
	head := "\nConnections lost\n"
	for i := range trials {
		t := &trials[i]
		if !analyze.Measured(t) {
			continue
		}
		for _, line := range losses(t) {
			if len(trials) > 1 {
				line = analyze.Label(t) + ": " + line
			}
			b.WriteString(head + indented([]string{line}))
			head = ""
		}
	}
}

func indented(lines []string) string {
	var b strings.Builder
	for _, line := range lines {
		b.WriteString("  " + line + "\n")
	}
	return b.String()
}

// losses is a line for each member that lost connections.
func losses(t *record.Trial) (lines []string) {
	for _, b := range analyze.LostConnections(t) {
		l := b.Links
		line := fmt.Sprintf("%s lost %s", b.Name, readable.Plural(uint64(max(l.Lost, 0)), "connection"))
		if l.LostAt != nil {
			line += fmt.Sprintf(" and had %d of %d at the fewest, from %s of the window until ", l.Fewest, l.Opened, moment(*l.LostAt))
			if l.BackAt != nil {
				line += moment(*l.BackAt)
			} else {
				line += "its end"
			}
		}
		lines = append(lines, line+meanwhile(l.Meanwhile))
	}
	return lines
}

// moment is a time in the window, to 10 ms.
func moment(seconds float64) string { return strconv.FormatFloat(seconds, 'f', 2, 64) + " s" }

// meanwhile says how much was done meanwhile and who answered it.
func meanwhile(w *record.Meanwhile) string {
	if w == nil {
		return ""
	}
	text := "; meanwhile " + readable.PerSecond(w.PerSecond)
	if w.Otherwise != nil {
		text += fmt.Sprintf(" (%s otherwise)", readable.PerSecond(*w.Otherwise))
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(w.Shares)) {
		if share := w.Shares[name]; share > 0 {
			parts = append(parts, name+" "+readable.Share(share))
		}
	}
	if len(parts) > 0 {
		text += ", answered by " + strings.Join(parts, ", ")
	}
	return text
}
