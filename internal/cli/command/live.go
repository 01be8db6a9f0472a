package command

import (
	"fmt"
	"math"
	"slices"
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
	liveEvents      = 4   // maximum number of events that the view shows
	liveWidth       = 40  // minimum number of terminal columns for a live view
	liveHeight      = 12  // minimum number of terminal lines for a live view, including the prompt
	liveTrials      = 200 // maximum number of ended trials that the view keeps
)

// live is the state of a view that changes in place. The view shows the current trial or an ended
// one.
type live struct {
	mu      sync.Mutex
	now     *liveTrial
	ended   []*liveTrial // the latest ended trials
	back    int          // number of trials between the current trial and the trial that is shown
	average bool         // show averages of the phase instead of the latest second
	scratch *measure.Histogram
	members []record.MemberState
}

// liveTrial holds the figures of one trial: those of the last second and of the whole phase, strips
// of the last two minutes, the resource use of each process, and the latest events.
type liveTrial struct {
	name          string   // with the number of the repeat
	head          viewLine // the result of an ended trial
	phase         measure.Phase
	second        strips // of single seconds
	phased        strips // of the phase up to the end of each second
	lastFigures   liveFigures
	phaseFigures  liveFigures
	responseTimes *measure.Histogram // response times of the phase
	failed        uint64
	done          float64 // successes of the phase
	seconds       float64 // of the phase
	samples       record.ProcessUses
	names         []string // names of processes, in the order in which their use became known
	uses          map[string]record.ProcessUse
	members       []record.MemberState
	replies       map[uint64]*replies // by ID of the member
	events        []liveEvent         // latest events, at most one per kind and member
	count         int                 // events of the trial
}

// strips holds the latest values of each strip, in chronological order.
type strips struct {
	rates   []float64 // successes per second
	medians []float64 // p50 in nanoseconds; NaN if unknown
	tails   []float64 // p99 in nanoseconds; NaN if unknown
}

// replies counts the successful operations to which a member replied.
type replies struct{ perSecond, phase float64 }

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

func newLive() *live { return &live{scratch: measure.NewHistogram(), now: newLiveTrial()} }

func newLiveTrial() *liveTrial {
	t := &liveTrial{uses: map[string]record.ProcessUse{}}
	t.beginPhase(measure.Warmup)
	return t
}

// handleProgress handles a progress report. When a trial has ended, handleProgress keeps its
// figures and empties the view.
func (l *live) handleProgress(p runner.Progress) {
	if p.Stage != runner.TrialDone {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.now.lastFigures.known && p.Result != nil {
		t := l.now
		t.head, t.members, t.responseTimes = judgedLine(p), l.members, nil
		if l.ended = append(l.ended, t); len(l.ended) > liveTrials {
			l.ended = l.ended[1:]
		}
		if l.back > 0 { // keep showing the same trial
			l.back = min(l.back+1, len(l.ended))
		}
	}
	l.now, l.members = newLiveTrial(), nil // the next trial may use another cluster
}

// press handles the keys that select the figures in the view. It ignores all other keys.
func (l *live) press(k key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch k {
	case averageKey:
		l.average = !l.average
	case earlierKey:
		l.back = min(l.back+1, len(l.ended))
	case laterKey:
		l.back = max(l.back-1, 0)
	}
}

func (t *liveTrial) beginPhase(p measure.Phase) {
	t.phase, t.lastFigures, t.phaseFigures, t.phased = p, liveFigures{}, liveFigures{}, strips{}
	t.responseTimes, t.failed, t.done, t.seconds = measure.NewHistogram(), 0, 0, 0
	t.replies = map[uint64]*replies{}
	t.samples.Begin()
}

// addSecond adds a recorded one-second interval of a trial.
func (l *live) addSecond(trial *scenario.Trial, s *measure.Second) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if name := fmt.Sprint(trial.Name, " ", trial.Repeat); name != l.now.name {
		if l.now.name != "" { // keep the first trial's data from before its first one-second interval
			l.now = newLiveTrial()
		}
		l.now.name = name
	}
	t := l.now
	if s.Phase != t.phase {
		t.beginPhase(s.Phase)
	}
	if length := float64(s.Length) / 1e9; length > 0 {
		t.add(s, length, trial.Load.Arrival != scenario.Closed, s.Response(l.scratch))
	}
}

// add adds a one-second interval with the given response times. The parameter `open` is true if the
// load has a schedule.
func (t *liveTrial) add(s *measure.Second, length float64, open bool, responses *measure.Histogram) {
	failed := s.Failed()
	t.lastFigures = liveFigures{
		known: true, perSecond: float64(s.Done) / length, duePerSecond: float64(s.Due) / length, openLoop: open,
		inFlight: s.InFlight, failed: failed,
	}
	t.lastFigures.setTimes(responses, failed)
	t.second.add(&t.lastFigures)
	measure.Add(t.responseTimes, responses)
	t.failed, t.done, t.seconds = t.failed+failed, t.done+float64(s.Done), t.seconds+length
	t.phaseFigures = liveFigures{known: true, perSecond: t.done / t.seconds, failed: t.failed}
	t.phaseFigures.setTimes(t.responseTimes, t.failed)
	t.phased.add(&t.phaseFigures)
	for _, r := range t.replies {
		r.perSecond = 0
	}
	for _, c := range s.Cells {
		if c.Member == 0 || c.Response == nil {
			continue
		}
		r := t.replies[c.Member]
		if r == nil {
			r = &replies{}
			t.replies[c.Member] = r
		}
		n := float64(c.Response.TotalCount())
		r.perSecond, r.phase = r.perSecond+n/length, r.phase+n
	}
}

func (s *strips) add(f *liveFigures) {
	s.rates = appendLatest(s.rates, f.perSecond)
	s.medians = appendLatest(s.medians, numberOf(f.p50))
	s.tails = appendLatest(s.tails, numberOf(f.p99))
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

// addEvent adds an event.
func (l *live) addEvent(e record.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.now
	t.count++
	latest := liveEvent{kind: e.Kind, member: e.Member, text: e.Time.UTC().Format("15:04:05") + " " + e.Text, count: 1}
	if i := slices.IndexFunc(t.events, func(o liveEvent) bool { return o.kind == e.Kind && o.member == e.Member }); i >= 0 {
		latest.count += t.events[i].count
		t.events = slices.Delete(t.events, i, i+1)
	}
	t.events = append(t.events, latest)
	if len(t.events) > liveEvents { // drop the earliest event, if possible one without a tone
		i := max(slices.IndexFunc(t.events, func(o liveEvent) bool { return eventTones[o.kind] == text.Plain }), 0)
		t.events = slices.Delete(t.events, i, i+1)
	}
}

// addSamples adds samples of the resource usage of processes.
func (l *live) addSamples(rows []*record.MachineRow) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.now
	for _, r := range rows {
		use, ok := t.samples.Add(r)
		if !ok {
			continue
		}
		if _, known := t.uses[r.Name]; !known {
			t.names = append(t.names, r.Name)
		}
		t.uses[r.Name] = use
	}
}

// setMembers replaces the states of the members.
func (l *live) setMembers(all []record.MemberState) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.members = slices.Clone(all)
}

// Follow sends the data of a run to the display's live view, if the display has one.
func (d *Display) Follow(o *runner.Options) {
	if d.live == nil {
		return
	}
	o.Observer = o.Observer.Join(record.Observer{Event: d.live.addEvent, Machines: d.live.addSamples, Members: d.live.setMembers})
	o.AddSecondHandler(d.live.addSecond)
	o.AddProgressHandler(d.live.handleProgress)
}
