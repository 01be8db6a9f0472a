package analyze

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/analyze/samples"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/text"
)

// WindowEvents holds the store's events in the measurement window of a trial, or in the windows of
// all its repeats.
type WindowEvents struct {
	Counted []Events // one entry per kind
	// TooManyToList is set if there were too many events to list them all.
	TooManyToList bool
	// StrandedClients is the number of closed-loop clients whose operation was stuck at a member
	// after the load had moved away from that member. LongestStranded is the longest time from the
	// move to the end of such an operation.
	StrandedClients     int
	LongestStranded     time.Duration
	StrandedRepeatsText string        // the repeats with stranded clients, in the format of Row.RepeatsText
	ClockUncertainty    time.Duration // largest clock uncertainty of the other hosts with members
	Gap                 *Stretch      // the longest gap; nil if no event happened in this gap
	// the slowest one-second interval; nil if it contains no event or overlaps Gap
	Slowest *Stretch
}

// Stretch is a period and the events that happened in it.
type Stretch struct {
	From          time.Time
	Length        time.Duration
	P99           measure.Figure // p99 of a one-second interval; not set for a gap
	Errors        uint64         // errors in a one-second interval; not set for a gap
	Events        []Events       // in order of time
	OmittedEvents int            // the number of events that are omitted from Events
	RepeatsText   string         // the repeat to which the period belongs, in the format of Row.RepeatsText
}

// Events holds several events of one kind that are listed as one entry. All of them concern the
// same member, except in WindowEvents.Counted.
type Events struct {
	Kind        store.SignalKind
	All         []*record.Event
	Occurrences uint64
	CountText   string // the number in words, such as "3 elections"; set only in WindowEvents.Counted
	Total       time.Duration
	Longest     *record.Event
	// RepeatsText lists the repeats that have such events. LongestRepeatText is the repeat with the
	// longest event. Both have the format of Row.RepeatsText. They are empty if there is only one
	// trial.
	RepeatsText, LongestRepeatText string
}

// Add adds an event of the same kind.
func (g *Events) Add(e *record.Event) {
	g.All = append(g.All, e)
	g.Occurrences += e.Occurrences()
	g.Total += e.TotalDuration()
	if g.Longest == nil || e.Duration > g.Longest.Duration {
		g.Longest = e
	}
}

// setCountText sets CountText to the number of events in words.
func (g *Events) setCountText() {
	if i := slices.IndexFunc(counted[:], func(k countedKind) bool { return k.signal == g.Kind }); i >= 0 {
		g.CountText = text.CountNoun(g.Occurrences, counted[i].singular, counted[i].plural)
	}
}

// maxListed is the maximum number of events of one kind that are listed with member and time.
const maxListed = 3

// FirstFew returns the first events of the list, and how many events follow them.
func (g *Events) FirstFew() (first []*record.Event, omitted int) {
	n := min(len(g.All), maxListed)
	return g.All[:n], len(g.All) - n
}

// countedKind is an event kind with its name in the singular and the plural.
type countedKind struct {
	signal           store.SignalKind
	singular, plural string
}

// counted lists the event kinds for which each trial reports the number of events, in the order of
// output. Events of other kinds are reported only if they happened in a long gap or a slow
// one-second interval.
var counted = [...]countedKind{
	{store.Elected, "election", "elections"},
	{store.QuotaReached, "write above the space quota", "writes above the space quota"},
	{store.FullStateReceived, "full state transfer to a member", "full state transfers to members"},
	{store.SlowFsync, "slow log sync", "slow log syncs"},
	{store.SlowApply, "slow apply", "slow applies"},
	{store.SlowRead, "read that waited for the leader", "reads that waited for the leader"},
	{store.Overloaded, "late heartbeat", "late heartbeats"},
	{store.GCPause, "garbage collection pause", "garbage collection pauses"},
	{store.SnapshotDone, "snapshot", "snapshots"},
	{store.SnapshotSkipped, "skipped snapshot", "skipped snapshots"},
	{store.Compaction, "compaction", "compactions"},
	{store.Defragmentation, "defragmentation", "defragmentations"},
}

// KindName returns the plural name of an event kind.
func KindName(kind store.SignalKind) string {
	for _, of := range counted {
		if of.signal == kind {
			return of.plural
		}
	}
	return strings.ReplaceAll(string(kind), "_", " ")
}

// BriefText describes an event that is not read from a log. It omits the reason, which is in
// events.jsonl. For an injected fault, it returns the whole text.
func BriefText(e *record.Event) string {
	if e.Kind == record.FaultBegan {
		return e.Text
	}
	text, _, _ := strings.Cut(e.Text, ": ")
	return text
}

// notableGap is the minimum length of a gap that is reported with its events.
const notableGap = 100 * time.Millisecond

// SpikeFactor is the factor by which the p99 of a one-second interval must exceed the median
// interval's p99 before the interval is reported with its events.
const SpikeFactor = 2

// EventsOf returns the events in a trial's window. The caller must have read the trial's events
// (figures.ReadTrialFiles).
func EventsOf(t *record.Trial) WindowEvents {
	h := WindowEvents{}
	if !HasFigures(t) || t.Opened == nil {
		return h
	}
	h.StrandedClients, h.LongestStranded = t.StrandedClients, time.Duration(t.LongestStrandedNS)
	window := samples.WindowOf(t)
	events := EventsInSpan(DropPolledElections(CombineSnapshotEvents(t.Events)), window)
	h.Counted = SelectCounted(events)
	if len(h.Counted) == 0 && !samples.HasFault(t) {
		return h
	}
	h.TooManyToList = slices.ContainsFunc(events, func(e record.Event) bool { return e.Count > 0 })
	h.ClockUncertainty = memberClockUncertainty(t)
	h.Gap = longestGap(t, window, events)
	h.Slowest = slowestSecond(t, events, h.Gap)
	return h
}

// SelectCounted returns the events whose kinds are in the list `counted`, grouped by kind.
func SelectCounted(events []record.Event) (out []Events) {
	for _, of := range counted {
		all := Events{Kind: of.signal}
		for i := range events {
			if events[i].Kind == string(of.signal) {
				all.Add(&events[i])
			}
		}
		if all.Occurrences > 0 {
			all.setCountText()
			out = append(out, all)
		}
	}
	return out
}

// EventsOfRow merges the events from the windows of a row's repeats. Each kind appears once. The
// gap is the longest gap in any repeat, and the slowest one-second interval is the slowest in any
// repeat.
func EventsOfRow(r *Row) (all WindowEvents) {
	in := map[store.SignalKind][]*record.Trial{}
	var held []*record.Trial
	for _, t := range r.Done {
		h := EventsOf(t)
		here := r.RepeatsText([]*record.Trial{t})
		for i := range h.Counted {
			g := &h.Counted[i]
			in[g.Kind] = append(in[g.Kind], t)
			all.merge(g, here)
		}
		all.TooManyToList = all.TooManyToList || h.TooManyToList
		all.ClockUncertainty = max(all.ClockUncertainty, h.ClockUncertainty)
		if h.StrandedClients > 0 {
			held = append(held, t)
			all.StrandedClients, all.LongestStranded = all.StrandedClients+h.StrandedClients, max(all.LongestStranded, h.LongestStranded)
		}
		if h.Gap != nil && (all.Gap == nil || h.Gap.Length > all.Gap.Length) {
			all.Gap, h.Gap.RepeatsText = h.Gap, here
		}
		if h.Slowest != nil && (all.Slowest == nil || h.Slowest.isWorseThan(all.Slowest)) {
			all.Slowest, h.Slowest.RepeatsText = h.Slowest, here
		}
	}
	order := func(g Events) int {
		return slices.IndexFunc(counted[:], func(k countedKind) bool { return k.signal == g.Kind })
	}
	slices.SortStableFunc(all.Counted, func(a, b Events) int { return cmp.Compare(order(a), order(b)) })
	for i := range all.Counted {
		g := &all.Counted[i]
		if g.RepeatsText = r.RepeatsText(in[g.Kind]); g.LongestRepeatText == g.RepeatsText {
			g.LongestRepeatText = ""
		}
		g.setCountText()
	}
	all.StrandedRepeatsText = r.RepeatsText(held)
	return all
}

// merge adds the events of one kind from one repeat. The parameter `repeatText` describes the
// repeat, in the format of Row.RepeatsText.
func (h *WindowEvents) merge(g *Events, repeatText string) {
	i := slices.IndexFunc(h.Counted, func(existing Events) bool { return existing.Kind == g.Kind })
	if i < 0 {
		i = len(h.Counted)
		h.Counted = append(h.Counted, Events{Kind: g.Kind})
	}
	to := &h.Counted[i]
	before := to.Longest
	for _, e := range g.All {
		to.Add(e)
	}
	if to.Longest != before {
		to.LongestRepeatText = repeatText
	}
}

// isWorseThan reports whether the one-second interval s was worse than the other interval. The
// interval with the higher p99 is worse. An unknown p99 is worse than a known p99. If both are
// unknown, the interval with more errors is worse.
func (s *Stretch) isWorseThan(other *Stretch) bool {
	if s.P99.Known && other.P99.Known {
		return s.P99.NS > other.P99.NS
	}
	return !s.P99.Known && (other.P99.Known || s.Errors > other.Errors)
}

// longestGap returns the longest gap with the events in it, or nil if the gap is short or has no
// events.
func longestGap(t *record.Trial, window samples.Span, events []record.Event) *Stretch {
	length := time.Duration(t.LongestGap * 1e9)
	if t.LongestGapAt == nil || length < notableGap {
		return nil
	}
	from := window.From.Add(time.Duration(*t.LongestGapAt * 1e9))
	return StretchWithEvents(t, events, samples.Span{From: from, To: from.Add(length)}, Stretch{From: from, Length: length})
}

// slowestSecond returns the worst one-second interval with its events. It returns nil if no
// interval was a spike, or if the interval overlaps the longest gap.
func slowestSecond(t *record.Trial, events []record.Event, gap *Stretch) *Stretch {
	worst := worstSecond(t.Timeline)
	if worst == nil {
		return nil
	}
	// Operations that became due in this interval may have ended after it. Extend the span by the
	// p99, or by one second if the p99 is unknown because operations failed.
	waited := time.Duration(worst.P99.NS)
	if !worst.P99.Known {
		waited = time.Second
	}
	in := samples.Span{From: worst.Time, To: worst.Time.Add(time.Second + waited)}
	if gap != nil && in.Overlaps(samples.Span{From: gap.From, To: gap.From.Add(gap.Length)}) {
		return nil
	}
	return StretchWithEvents(t, events, in, Stretch{From: worst.Time, Length: time.Second, P99: worst.P99, Errors: worst.Errors})
}

// maxPerStretch is the maximum number of entries (events or groups of events) that are listed for a
// period.
const maxPerStretch = 4

// StretchWithEvents returns the period `s` with the events that overlap `span`, in order of time.
// It combines events of the same kind and member into one entry, and keeps only the most disturbing
// entries. It returns nil if there are no events.
func StretchWithEvents(t *record.Trial, events []record.Event, span samples.Span, s Stretch) *Stretch {
	type key struct {
		member, kind string
		counted      bool // counted events have no exact time
	}
	groups := map[key]*Events{}
	var order []*Events
	for i := range events {
		e := &events[i]
		if !eventSpan(t, e).Overlaps(span) {
			continue
		}
		k := key{e.Member, e.Kind, e.Count > 0}
		if groups[k] == nil {
			groups[k] = &Events{Kind: store.SignalKind(e.Kind)}
			order = append(order, groups[k])
		}
		groups[k].Add(e)
	}
	slices.SortStableFunc(order, func(a, b *Events) int {
		return cmp.Or(cmp.Compare(a.SortKey(), b.SortKey()), cmp.Compare(b.Total, a.Total))
	})
	s.OmittedEvents = max(len(order)-maxPerStretch, 0)
	order = order[:len(order)-s.OmittedEvents]
	slices.SortStableFunc(order, func(a, b *Events) int { return a.Longest.Time.Compare(b.Longest.Time) })
	for _, g := range order {
		s.Events = append(s.Events, *g)
	}
	if len(order) == 0 {
		return nil
	}
	return &s
}

// eventSpan returns the span of time that an event covers. An injected fault lasts until it was
// healed, because the effects of the fault may appear after the signal that reports the fault.
func eventSpan(t *record.Trial, e *record.Event) samples.Span {
	at := samples.Span{From: e.Began(), To: e.Time}
	if e.Kind != record.FaultBegan {
		return at
	}
	for i := range t.Faults {
		if f := &t.Faults[i]; f.Injected() && e.Time.Sub(samples.TimeInWindow(t, *f.BeganAt)).Abs() < time.Millisecond {
			at.To = samples.WindowOf(t).To
			if f.HealedAt != nil {
				at.To = samples.TimeInWindow(t, *f.HealedAt)
			}
		}
	}
	return at
}

// SortKey returns the sort key of an entry; more disturbing events have lower keys. The lowest key
// is for events that affect the whole cluster, and for events that are not read from logs, such as
// a lost member.
func (g *Events) SortKey() int {
	if g.Longest.Count > 0 {
		return 2 // combined events have no exact time, so they may have happened outside the span
	}
	kinds := store.SignalKinds()
	if slices.Index(kinds, g.Kind) > slices.Index(kinds, store.LeaderLost) {
		return 1 // entries with this key are then sorted by duration
	}
	return 0
}

// worstSecond returns the worst one-second interval in the measurement window. If some intervals
// have errors and an unknown p99, the worst of these intervals is the one with the most errors.
// Otherwise the interval with the highest p99 is the worst, but only if this p99 is a spike.
func worstSecond(rows []record.Row) *record.Row {
	var failed *record.Row
	var known []*record.Row
	for i := range rows {
		r := &rows[i]
		switch {
		case r.Phase != measure.Measured.String():
		case r.P99.Known:
			known = append(known, r)
		case r.Errors > 0 && (failed == nil || r.Errors > failed.Errors):
			failed = r
		}
	}
	if failed != nil || len(known) < 3 {
		return failed
	}
	slices.SortStableFunc(known, func(a, b *record.Row) int { return cmp.Compare(a.P99.NS, b.P99.NS) })
	worst, middle := known[len(known)-1], known[len(known)/2]
	if worst.P99.NS < SpikeFactor*middle.P99.NS {
		return nil
	}
	return worst
}

// EventsInSpan returns the events that overlap the span.
func EventsInSpan(events []record.Event, span samples.Span) []record.Event {
	var found []record.Event
	for _, e := range events {
		if (samples.Span{From: e.Began(), To: e.Time}).Overlaps(span) {
			found = append(found, e)
		}
	}
	return found
}

// CombineSnapshotEvents combines the start and end events of each snapshot. It drops the start
// event. If the log line of the end contains no duration, combineSnapshotEvents computes the
// duration from the start event.
func CombineSnapshotEvents(events []record.Event) []record.Event {
	begun := map[string]int{} // by member: the index of the start event in out
	out := make([]record.Event, 0, len(events))
	gone := map[int]bool{}
	for _, e := range events {
		if e.Count == 0 {
			switch store.SignalKind(e.Kind) {
			case store.SnapshotStarted:
				begun[e.Member] = len(out)
			case store.SnapshotDone:
				if i, ok := begun[e.Member]; ok {
					delete(begun, e.Member)
					gone[i] = true
					e.Duration = max(e.Duration, e.Time.Sub(out[i].Time))
				}
			}
		}
		out = append(out, e)
	}
	kept := out[:0]
	for i, e := range out {
		if !gone[i] {
			kept = append(kept, e)
		}
	}
	return kept
}

// DropPolledElections removes the elections that were found by polling, if the members' logs also
// report elections. So no election is counted twice.
func DropPolledElections(events []record.Event) []record.Event {
	elected := func(e record.Event) bool { return e.Kind == string(store.Elected) }
	if !slices.ContainsFunc(events, func(e record.Event) bool { return elected(e) && e.Line != "" }) {
		return events
	}
	return slices.DeleteFunc(slices.Clone(events), func(e record.Event) bool { return elected(e) && e.Line == "" })
}
