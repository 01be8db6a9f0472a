package command

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/runner"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/text"
)

// The sizes of a live view.
const (
	maxStripColumns = 120 // maximum number of seconds that a strip shows
	liveEvents      = 3   // maximum number of events that the view shows
	liveWidth       = 40  // minimum number of terminal columns for a live view
	liveHeight      = 12  // minimum number of terminal lines for a live view, including the prompt
)

// live is the state of the current trial for a view that changes in place. The view shows the
// figures of the last second and of the whole phase, strips of the last two minutes, the CPU and
// disk usage of each process, and the latest events. It only writes lines and erases them again. It
// never changes the terminal's modes, so nothing has to be restored after a crash.
type live struct {
	mu            sync.Mutex
	trial         string
	phase         measure.Phase
	rates         []float64 // successes per second, the latest last
	medians       []float64 // p50 in nanoseconds; NaN if unknown
	tails         []float64 // p99 in nanoseconds; NaN if unknown
	lastFigures   liveFigures
	phaseFigures  liveFigures
	responseTimes *measure.Histogram // response times of the phase
	scratch       *measure.Histogram
	failed        uint64
	done          float64 // successes of the phase
	seconds       float64 // of the phase
	samples       record.ProcessUses
	names         []string          // names of processes, in the order in which their use became known
	uses          map[string]string // by name
	events        []liveEvent       // latest events, at most one per kind and member
	count         int               // events of the trial
}

// liveEvent is the latest event of one kind that a member reported, and the number of such events
// so far.
type liveEvent struct {
	kind, member, text string
	count              int
}

// liveFigures holds the figures of a line.
type liveFigures struct {
	known                   bool
	perSecond, duePerSecond float64
	openLoop                bool // set if the load has a schedule, so that duePerSecond is known
	inFlight                int
	failed                  uint64
	p50, p99, p999          measure.Figure
}

func newLive() *live {
	l := &live{scratch: measure.NewHistogram()}
	l.reset()
	return l
}

// endTrial empties the view.
func (l *live) endTrial() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reset()
}

func (l *live) reset() {
	l.trial = ""
	l.rates, l.medians, l.tails, l.events, l.names, l.count = nil, nil, nil, nil, nil, 0
	l.samples, l.uses = record.ProcessUses{}, map[string]string{}
	l.beginPhase(measure.Warmup)
}

func (l *live) beginPhase(p measure.Phase) {
	l.phase, l.lastFigures, l.phaseFigures = p, liveFigures{}, liveFigures{}
	l.responseTimes, l.failed, l.done, l.seconds = measure.NewHistogram(), 0, 0, 0
}

// second adds a recorded second of a trial.
func (l *live) second(t *scenario.Trial, s *measure.Second) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if name := fmt.Sprint(t.Name, " ", t.Repeat); name != l.trial {
		if l.trial != "" { // keep what the first trial reported before its first second
			l.reset()
		}
		l.trial = name
	}
	if s.Phase != l.phase {
		l.beginPhase(s.Phase)
	}
	length := float64(s.Length) / 1e9
	if length <= 0 {
		return
	}
	failed, responses := s.Failed(), s.Response(l.scratch)
	open := t.Load.Arrival != scenario.Closed
	l.lastFigures = liveFigures{
		known: true, perSecond: float64(s.Done) / length, duePerSecond: float64(s.Due) / length, openLoop: open,
		inFlight: s.InFlight, failed: failed,
	}
	l.lastFigures.setTimes(responses, failed)
	l.rates = appendLatest(l.rates, l.lastFigures.perSecond)
	l.medians = appendLatest(l.medians, numberOf(l.lastFigures.p50))
	l.tails = appendLatest(l.tails, numberOf(l.lastFigures.p99))
	measure.Add(l.responseTimes, responses)
	l.failed, l.done, l.seconds = l.failed+failed, l.done+float64(s.Done), l.seconds+length
	l.phaseFigures = liveFigures{known: true, perSecond: l.done / l.seconds, failed: l.failed}
	l.phaseFigures.setTimes(l.responseTimes, l.failed)
}

// appendLatest appends v, and drops the earliest value if the slice becomes longer than a strip.
func appendLatest(all []float64, v float64) []float64 {
	all = append(all, v)
	return all[max(len(all)-maxStripColumns, 0):]
}

// numberOf returns a figure as a number, or NaN if it is unknown or failed.
func numberOf(f measure.Figure) float64 {
	if !f.Known || f.Failed {
		return math.NaN()
	}
	return f.NS
}

func (f *liveFigures) setTimes(h *measure.Histogram, failed uint64) {
	all := measure.PercentilesOf(h, failed, 50, 99, 99.9)
	f.p50, f.p99, f.p999 = all[0], all[1], all[2]
}

// event adds an event.
func (l *live) event(e record.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count++
	latest := liveEvent{kind: e.Kind, member: e.Member, text: e.Time.UTC().Format("15:04:05") + " " + e.Text, count: 1}
	if i := slices.IndexFunc(l.events, func(o liveEvent) bool { return o.kind == e.Kind && o.member == e.Member }); i >= 0 {
		latest.count += l.events[i].count
		l.events = slices.Delete(l.events, i, i+1)
	}
	l.events = append(l.events, latest)
	if n := len(l.events) - liveEvents; n > 0 {
		l.events = slices.Delete(l.events, 0, n)
	}
}

// machines adds samples of the resource usage of processes.
func (l *live) machines(rows []*record.MachineRow) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range rows {
		use, ok := l.samples.Add(r)
		if !ok {
			continue
		}
		if _, known := l.uses[r.Name]; !known {
			l.names = append(l.names, r.Name)
		}
		l.uses[r.Name] = usedText(use)
	}
}

// usedText describes the resources that a process used between two samples.
func usedText(use record.ProcessUse) string {
	words := "CPU " + text.Percent(use.CPU, 0)
	if use.Writes > 0 {
		words += ", writes " + text.Bytes(uint64(use.Writes)) + "/s"
	}
	if use.RSS > 0 {
		words += ", RSS " + text.Bytes(uint64(use.RSS))
	}
	return words
}

// lines returns the lines of the view for a terminal of the given width. The line that describes
// the stage is not included.
func (l *live) lines(width int) (all []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.lastFigures.known {
		return nil
	}
	all = append(all, "  last second  "+l.lastFigures.text())
	phase := "warm-up"
	if l.phase == measure.Measured {
		phase = "window"
	}
	all = append(all, fmt.Sprintf("  %-12s %s", phase, l.phaseFigures.text()))
	all = append(all, sparklineRow("  throughput   ", l.rates, text.PerSecond, width))
	if slices.ContainsFunc(l.tails, func(v float64) bool { return !math.IsNaN(v) }) {
		all = append(all, sparklineRow("  p99          ", l.tails, text.Duration, width))
	} else { // p99 is unknown, because each second has too few operations
		all = append(all, sparklineRow("  p50          ", l.medians, text.Duration, width))
	}
	for _, name := range l.names {
		all = append(all, fmt.Sprintf("  %-12s %s", name, l.uses[name]))
	}
	if l.count > 0 {
		all = append(all, fmt.Sprintf("  events       %d", l.count))
		for _, e := range l.events {
			words := "    " + e.text
			if e.count > 1 {
				words += fmt.Sprintf(", %d times so far", e.count)
			}
			all = append(all, words)
		}
	}
	return all
}

// text formats the figures of a line, the most important ones first.
func (f *liveFigures) text() string {
	words := text.PerSecond(f.perSecond)
	if f.openLoop && f.duePerSecond > 0 {
		words += " of " + text.PerSecond(f.duePerSecond) + " due"
	}
	words += fmt.Sprintf("  p99 %s  p50 %s  p99.9 %s", f.p99.Text(), f.p50.Text(), f.p999.Text())
	if f.failed > 0 {
		words += "  " + text.Plural(f.failed, "error")
	}
	if f.inFlight > 0 {
		words += fmt.Sprintf("  %s in flight", text.Count(uint64(f.inFlight)))
	}
	return words
}

// sparklineRow returns one line with a title, a sparkline of the latest values that fit the width,
// and the largest of these values.
func sparklineRow(title string, values []float64, format func(float64) string, width int) string {
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

// Follow makes a run report to the display's live view, if the display has one.
func (d *Display) Follow(o *runner.Options) {
	if d.live == nil {
		return
	}
	o.Observer = o.Observer.Join(record.Observer{Event: d.live.event, Machines: d.live.machines})
	o.AddSecondHandler(d.live.second)
}
