package command

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/text"
)

// viewLine is a line of the display. Its parts have different tones.
type viewLine []viewPart

type viewPart struct {
	text.Tone
	words string
}

func plainLine(words string) viewLine { return viewLine{{text.Plain, words}} }

// accented returns a line in which the first occurrence of the given words has the given tone.
func accented(line, words string, tone text.Tone) viewLine {
	before, after, found := strings.Cut(line, words)
	if !found || words == "" {
		return plainLine(line)
	}
	return viewLine{{text.Plain, before}, {tone, words}, {text.Plain, after}}
}

// fit makes a line printable and shortens it to width columns, because a line that wraps could not
// be erased.
func (l viewLine) fit(width int) (short viewLine) {
	for _, p := range l {
		p.words = cut(printableLine(p.words), max(width, 0))
		if width <= 0 {
			break
		}
		width -= utf8.RuneCountInString(p.words)
		short = append(short, p)
	}
	return short
}

// width returns the number of columns that a line occupies.
func (l viewLine) width() (columns int) {
	for _, p := range l {
		columns += utf8.RuneCountInString(p.words)
	}
	return columns
}

// paint returns the line in colours.
func (l viewLine) paint(style text.Style) string {
	var b strings.Builder
	for _, p := range l {
		b.WriteString(style.Paint(p.Tone, p.words))
	}
	return b.String()
}

// lines returns the lines of the view for a terminal of the given width. The line that describes
// the stage is not included.
func (l *live) lines(width int) (all []viewLine) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t, members := l.now, l.members
	if l.back > 0 {
		t = l.ended[len(l.ended)-l.back]
		members = t.members
		all = append(all, append(plainLine("  ended: "), t.head...))
	}
	if !t.lastFigures.known {
		return all
	}
	s := &t.second
	if l.average {
		s = &t.phased
	}
	if l.back == 0 {
		all = append(all, t.lastFigures.line("last second"))
	}
	phase := "warm-up"
	if t.phase == measure.Measured {
		phase = "window"
	}
	all = append(all, t.phaseFigures.line(phase))
	return slices.Concat(all, s.lines(l.average, width), t.processLines(members, l.average), t.eventLines())
}

// lines returns the strips of throughput and p99. If p99 is unknown because each one-second
// interval has too few operations, the lower strip shows p50.
func (s *strips) lines(average bool, width int) []viewLine {
	rate, tail, times := "throughput", "p99", s.tails
	if !slices.ContainsFunc(s.tails, func(v float64) bool { return !math.IsNaN(v) }) {
		tail, times = "p50", s.medians
	}
	if average {
		rate, tail = "mean rate", tail+" so far"
	}
	return []viewLine{plainLine(strip(rate, s.rates, text.PerSecond, width)), plainLine(strip(tail, times, text.Duration, width))}
}

// processLines returns a line for each process and each further member.
func (t *liveTrial) processLines(members []record.MemberState, average bool) (all []viewLine) {
	names := slices.Clone(t.names)
	for _, m := range members {
		if !slices.Contains(names, m.Name) {
			names = append(names, m.Name)
		}
	}
	for _, name := range names {
		var m record.MemberState
		if i := slices.IndexFunc(members, func(m record.MemberState) bool { return m.Name == name }); i >= 0 {
			m = members[i]
		}
		use, known := t.uses[name]
		if average {
			use, known = t.samples.Average(name)
		}
		if words := t.processText(&m, use, known, average); words != "" {
			all = append(all, plainLine(fmt.Sprintf("  %-12s %s", name, words)))
		} else if m.Lost {
			all = append(all, viewLine{{text.Plain, fmt.Sprintf("  %-12s ", name)}, {text.Bad, "lost"}})
		}
	}
	return all
}

// processText describes a process: its role if it is a member, the rate of successful operations to
// which the member replied, and the resources that the process used. It returns an empty string if
// nothing is known or the member is lost.
func (t *liveTrial) processText(m *record.MemberState, use record.ProcessUse, known, average bool) string {
	var parts []string
	if m.Lost {
		return ""
	}
	if m.Role != kv.UnknownRole {
		parts = append(parts, m.Role.String())
	}
	if known {
		parts = append(parts, "CPU "+text.Percent(use.CPU, 0))
	}
	if r := t.replies[m.ID]; r != nil && m.ID != 0 {
		rate := r.perSecond
		if average {
			rate = r.phase / t.seconds
		}
		parts = append(parts, text.PerSecond(rate))
	}
	if known && use.Writes > 0 {
		parts = append(parts, "writes "+text.Bytes(uint64(use.Writes))+"/s")
	}
	if known && use.RSS > 0 {
		parts = append(parts, "RSS "+text.Bytes(uint64(use.RSS)))
	}
	return strings.Join(parts, ", ")
}

// eventTones contains the tones of the events that the view highlights.
var eventTones = map[string]text.Tone{
	record.FaultBegan: text.Bad, record.FaultStep: text.Bad, "member_lost": text.Bad, string(store.QuotaReached): text.Bad, string(store.LeaderLost): text.Bad,
	string(store.Elected): text.Doubtful, string(store.SlowFsync): text.Doubtful, string(store.Overloaded): text.Doubtful,
}

// eventLines returns a line with the number of events, and a line for each of the latest events.
func (t *liveTrial) eventLines() (all []viewLine) {
	if t.count > 0 {
		all = append(all, plainLine(fmt.Sprintf("  events       %d", t.count)))
	}
	for _, e := range t.events {
		words := "    " + e.text
		if e.count > 1 {
			words += fmt.Sprintf(", %d times so far", e.count)
		}
		all = append(all, viewLine{{eventTones[e.kind], words}})
	}
	return all
}

// line returns a line with a title and the figures, the most important figures first.
func (f *liveFigures) line(title string) viewLine {
	words := fmt.Sprintf("  %-12s %s", title, text.PerSecond(f.perSecond))
	if f.openLoop && f.duePerSecond > 0 {
		words += " of " + text.PerSecond(f.duePerSecond) + " due"
	}
	words += fmt.Sprintf("  p99 %s  p50 %s  p99.9 %s", f.p99.Text(), f.p50.Text(), f.p999.Text())
	line := plainLine(words)
	if f.failed > 0 {
		line = append(line, viewPart{text.Bad, "  " + text.Plural(f.failed, "error")})
	}
	if f.inFlight > 0 {
		line = append(line, viewPart{text.Plain, fmt.Sprintf("  %s in flight", text.Count(uint64(f.inFlight)))})
	}
	return line
}

// strip returns one line with a title, a sparkline of the latest values that fit the width, and the
// largest of these values.
func strip(title string, values []float64, format func(float64) string, width int) string {
	title = fmt.Sprintf("  %-12s ", title)
	room := max(width-len(title)-len("  max 1,000,000/s")-1, 0)
	values = values[max(len(values)-room, 0):]
	largest := 0.0
	for _, v := range values {
		if v > largest { // false for NaN, which represents an unknown value
			largest = v
		}
	}
	line := title + text.Sparkline(values)
	if largest > 0 {
		line += "  max " + format(largest)
	}
	return strings.TrimRight(line, " ")
}

// footer returns the line that names the keys. The line fits into liveWidth columns.
func (l *live) footer(paused bool) viewLine {
	l.mu.Lock()
	defer l.mu.Unlock()
	figures, pause := "c average", "p pause"
	if l.average {
		figures = "c latest"
	}
	if paused {
		pause = "p resume"
	}
	return viewLine{{text.Faint, "  " + figures + "  ←→ trial  " + pause + "  q end"}}
}
