package analyze

import (
	"cmp"
	"slices"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	stores "github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/text"
)

// WindowEvents holds the events in a trial's window, or in the windows of its repeats.
type WindowEvents struct {
	Counted []Events // by kind
	// Uncounted reports whether there were too many events to list them all.
	Uncounted bool
	// HeldClients is the number of closed-loop clients that a member blocked although the load
	// had moved away from it, HeldLongest the longest time.
	HeldClients int
	HeldLongest time.Duration
	HeldIn      string        // the repeats, formatted as by Row.RepeatsText
	Within      time.Duration // uncertainty of the clocks of other hosts with members
	Gap         *Stretch      // the longest gap, if it has events
	Slowest     *Stretch      // the slowest second, if it has events and is not in the gap
}

// Stretch is a period and the events in it.
type Stretch struct {
	From   time.Time
	Length time.Duration
	P99    measure.Figure // of a second
	Errors uint64         // of a second
	Events []Events       // in the order of time
	More   int            // number of events that are not in Events
	In     string         // the repeat, formatted as by Row.RepeatsText
}

// Events holds several events of one kind that are listed as one. Except for counted kinds they
// concern one member.
type Events struct {
	Kind    stores.SignalKind
	All     []*record.Event
	Times   uint64
	Count   string // the number in words, such as "3 elections"; only for counted kinds
	Total   time.Duration
	Longest *record.Event
	// In names the repeats with the events and LongestIn the repeat of the longest, formatted as by
	// Row.RepeatsText; empty for a single trial.
	In, LongestIn string
}

func (g *Events) add(e *record.Event) {
	g.All = append(g.All, e)
	g.Times += e.Occurrences()
	g.Total += e.TotalDuration()
	if g.Longest == nil || e.Duration > g.Longest.Duration {
		g.Longest = e
	}
}

// inWords formats the number of events.
func (g *Events) inWords() {
	if i := slices.IndexFunc(counted[:], func(k countedKind) bool { return k.kind == g.Kind }); i >= 0 {
		g.Count = text.Either(g.Times, counted[i].one, counted[i].several)
	}
}

// mostNamed is the number of events of a kind that are listed with member and time.
const mostNamed = 3

// Named returns the first events and the number of the others.
func (g *Events) Named() (some []*record.Event, more int) {
	n := min(len(g.All), mostNamed)
	return g.All[:n], len(g.All) - n
}

// countedKind is an event kind with its singular and plural.
type countedKind struct {
	kind         stores.SignalKind
	one, several string
}

// counted lists the kinds that are counted for a trial, in order. Other kinds are listed only
// with a gap or a slow second.
var counted = [...]countedKind{
	{stores.Elected, "election", "elections"},
	{stores.QuotaReached, "write above the space quota", "writes above the space quota"},
	{stores.FullStateReceived, "full state transfer to a member", "full state transfers to members"},
	{stores.SlowFsync, "slow log sync", "slow log syncs"},
	{stores.SlowApply, "slow apply", "slow applies"},
	{stores.SlowRead, "read that waited for the leader", "reads that waited for the leader"},
	{stores.Overloaded, "late heartbeat", "late heartbeats"},
	{stores.GCPause, "garbage collection pause", "garbage collection pauses"},
	{stores.SnapshotDone, "snapshot", "snapshots"},
	{stores.SnapshotSkipped, "skipped snapshot", "skipped snapshots"},
	{stores.Compaction, "compaction", "compactions"},
	{stores.Defragmentation, "defragmentation", "defragmentations"},
}

// notableGap is the shortest gap that is reported with its events.
const notableGap = 100 * time.Millisecond

// spike is the ratio of a second's p99 to the median second's p99 from which the second is
// reported with its events.
const spike = 2

// EventsOf returns the events in a trial's window. The trial's events must have been read
// (record.Run.ReadEvents).
func EventsOf(t *record.Trial) WindowEvents {
	h := WindowEvents{}
	if !HasFigures(t) || t.Opened == nil {
		return h
	}
	h.HeldClients, h.HeldLongest = t.HeldClients, time.Duration(t.HeldLongestNS)
	window := WindowOf(t)
	events := overlapping(once(paired(t.Events)), window)
	h.Counted = countedOf(events)
	if len(h.Counted) == 0 && !faulty(t) {
		return h
	}
	h.Uncounted = slices.ContainsFunc(events, func(e record.Event) bool { return e.Count > 0 })
	h.Within = membersWithin(t)
	h.Gap = longestGap(t, window, events)
	h.Slowest = slowestSecond(t, events, h.Gap)
	return h
}

// countedOf returns the events of the counted kinds, grouped by kind.
func countedOf(events []record.Event) (out []Events) {
	for _, of := range counted {
		all := Events{Kind: of.kind}
		for i := range events {
			if events[i].Kind == string(of.kind) {
				all.add(&events[i])
			}
		}
		if all.Times > 0 {
			all.inWords()
			out = append(out, all)
		}
	}
	return out
}

// EventsOfRow merges the events in the windows of a row's repeats: each kind once, and the
// longest gap and the slowest second of all.
func EventsOfRow(r *Row) (all WindowEvents) {
	in := map[stores.SignalKind][]*record.Trial{}
	var held []*record.Trial
	for _, t := range r.Done {
		h := EventsOf(t)
		here := r.RepeatsText([]*record.Trial{t})
		for i := range h.Counted {
			g := &h.Counted[i]
			in[g.Kind] = append(in[g.Kind], t)
			all.merge(g, here)
		}
		all.Uncounted = all.Uncounted || h.Uncounted
		all.Within = max(all.Within, h.Within)
		if h.HeldClients > 0 {
			held = append(held, t)
			all.HeldClients, all.HeldLongest = all.HeldClients+h.HeldClients, max(all.HeldLongest, h.HeldLongest)
		}
		if h.Gap != nil && (all.Gap == nil || h.Gap.Length > all.Gap.Length) {
			all.Gap, h.Gap.In = h.Gap, here
		}
		if h.Slowest != nil && (all.Slowest == nil || h.Slowest.slower(all.Slowest)) {
			all.Slowest, h.Slowest.In = h.Slowest, here
		}
	}
	order := func(g Events) int {
		return slices.IndexFunc(counted[:], func(k countedKind) bool { return k.kind == g.Kind })
	}
	slices.SortStableFunc(all.Counted, func(a, b Events) int { return cmp.Compare(order(a), order(b)) })
	for i := range all.Counted {
		g := &all.Counted[i]
		if g.In = r.RepeatsText(in[g.Kind]); g.LongestIn == g.In {
			g.LongestIn = ""
		}
		g.inWords()
	}
	all.HeldIn = r.RepeatsText(held)
	return all
}

// merge adds events of one kind in the repeat here.
func (h *WindowEvents) merge(g *Events, here string) {
	i := slices.IndexFunc(h.Counted, func(of Events) bool { return of.Kind == g.Kind })
	if i < 0 {
		i = len(h.Counted)
		h.Counted = append(h.Counted, Events{Kind: g.Kind})
	}
	to := &h.Counted[i]
	before := to.Longest
	for _, e := range g.All {
		to.add(e)
	}
	if to.Longest != before {
		to.LongestIn = here
	}
}

// slower reports whether a second was worse than another: it has more failures, or a higher p99.
func (s *Stretch) slower(than *Stretch) bool {
	if s.P99.Known && than.P99.Known {
		return s.P99.NS > than.P99.NS
	}
	return !s.P99.Known && (than.P99.Known || s.Errors > than.Errors)
}

// longestGap returns the longest gap with its events; nil if it is short or has none.
func longestGap(t *record.Trial, window Span, events []record.Event) *Stretch {
	length := time.Duration(t.LongestGap * 1e9)
	if t.LongestGapAt == nil || length < notableGap {
		return nil
	}
	from := window.From.Add(time.Duration(*t.LongestGapAt * 1e9))
	return during(t, events, Span{from, from.Add(length)}, Stretch{From: from, Length: length})
}

// slowestSecond returns the worst second, if it is a spike outside the longest gap.
func slowestSecond(t *record.Trial, events []record.Event, gap *Stretch) *Stretch {
	worst := worstSecond(t.Timeline)
	if worst == nil {
		return nil
	}
	// Operations due in that second waited beyond it; failed ones up to its end.
	waited := time.Duration(worst.P99.NS)
	if !worst.P99.Known {
		waited = time.Second
	}
	in := Span{worst.Time, worst.Time.Add(time.Second + waited)}
	if gap != nil && in.overlaps(Span{gap.From, gap.From.Add(gap.Length)}) {
		return nil
	}
	return during(t, events, in, Stretch{From: worst.Time, Length: time.Second, P99: worst.P99, Errors: worst.Errors})
}

// mostDuring is the number of events, or groups of them, that are listed for a period.
const mostDuring = 4

// during adds the events of a span to a stretch, in order of time. Several events of one kind
// and member are one entry, and only the most disturbing entries are kept. It returns nil
// without events.
func during(t *record.Trial, events []record.Event, in Span, s Stretch) *Stretch {
	type key struct {
		member, kind string
		counted      bool // counted events have no time
	}
	groups := map[key]*Events{}
	var order []*Events
	for i := range events {
		e := &events[i]
		if !lasted(t, e).overlaps(in) {
			continue
		}
		k := key{e.Member, e.Kind, e.Count > 0}
		if groups[k] == nil {
			groups[k] = &Events{Kind: stores.SignalKind(e.Kind)}
			order = append(order, groups[k])
		}
		groups[k].add(e)
	}
	slices.SortStableFunc(order, func(a, b *Events) int {
		return cmp.Or(cmp.Compare(a.calm(), b.calm()), cmp.Compare(b.Total, a.Total))
	})
	s.More = max(len(order)-mostDuring, 0)
	order = order[:len(order)-s.More]
	slices.SortStableFunc(order, func(a, b *Events) int { return a.Longest.Time.Compare(b.Longest.Time) })
	for _, g := range order {
		s.Events = append(s.Events, *g)
	}
	if len(order) == 0 {
		return nil
	}
	return &s
}

// lasted returns the span of an event. A fault lasts until it was healed, because its effects
// can follow its signal.
func lasted(t *record.Trial, e *record.Event) Span {
	at := Span{e.Began(), e.Time}
	if e.Kind != record.FaultBegan {
		return at
	}
	for i := range t.Faults {
		if f := &t.Faults[i]; f.Done() && e.Time.Sub(TimeInWindow(t, *f.Began)).Abs() < time.Millisecond {
			at.To = WindowOf(t).To
			if f.Healed != nil {
				at.To = TimeInWindow(t, *f.Healed)
			}
		}
	}
	return at
}

// calm returns the sort key of events: lowest for the whole cluster and for events that no log
// reports, such as a lost member.
func (g *Events) calm() int {
	if g.Longest.Count > 0 {
		return 2 // and may have been at another time
	}
	kinds := stores.SignalKinds()
	if slices.Index(kinds, g.Kind) > slices.Index(kinds, stores.LeaderLost) {
		return 1 // then by duration
	}
	return 0
}

// worstSecond returns the measured second with most errors among those whose p99 failed or is
// not supported, otherwise the second with the highest p99 if it is a spike.
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
	if worst.P99.NS < spike*middle.P99.NS {
		return nil
	}
	return worst
}

// overlapping returns the events that lasted at some time of the span.
func overlapping(events []record.Event, in Span) []record.Event {
	var found []record.Event
	for _, e := range events {
		if (Span{e.Began(), e.Time}).overlaps(in) {
			found = append(found, e)
		}
	}
	return found
}

// paired sets the duration of a snapshot's end from its start event if its log line has none,
// and leaves out the start.
func paired(events []record.Event) []record.Event {
	begun := map[string]int{} // by member: index in out
	out := make([]record.Event, 0, len(events))
	gone := map[int]bool{}
	for _, e := range events {
		if e.Count == 0 {
			switch stores.SignalKind(e.Kind) {
			case stores.SnapshotStarted:
				begun[e.Member] = len(out)
			case stores.SnapshotDone:
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

// once leaves out the elections that polling found if the members' logs report elections.
func once(events []record.Event) []record.Event {
	elected := func(e record.Event) bool { return e.Kind == string(stores.Elected) }
	if !slices.ContainsFunc(events, func(e record.Event) bool { return elected(e) && e.Line != "" }) {
		return events
	}
	return slices.DeleteFunc(slices.Clone(events), func(e record.Event) bool { return elected(e) && e.Line == "" })
}
