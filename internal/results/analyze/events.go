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

// WindowEvents is what happened in a trial's window, or in those of its repeats.
type WindowEvents struct {
	Counted []Events // by kind
	// Uncounted says that there were too many events to list them all.
	Uncounted bool
	// HeldClients is how many clients of a closed loop a member kept from which
	// the load had moved away, HeldLongest the longest.
	HeldClients int
	HeldLongest time.Duration
	HeldIn      string        // the repeats, as Row.Places has them
	Within      time.Duration // how well the clocks of hosts with members are known, where those are not ours
	Gap         *Stretch      // the longest gap, where something happened in it
	Slowest     *Stretch      // the slowest second likewise, if it is not in the gap
}

// Stretch is a stretch of time and the events in it.
type Stretch struct {
	From   time.Time
	Length time.Duration
	P99    measure.Figure // of a second
	Errors uint64         // likewise
	Events []Events       // in the order of time
	More   int            // that are not among them
	In     string         // the repeat, as Row.Places has it
}

// Events are several events that are listed as one: of one kind and, but for those
// counted, of one member.
type Events struct {
	Kind    stores.SignalKind
	All     []*record.Event
	Times   uint64
	Count   string // the same in words, of those counted: 3 elections
	Total   time.Duration
	Longest *record.Event
	// In are the repeats in which they were, and LongestIn that of the longest, as
	// Row.Places has them; empty for those of one trial.
	In, LongestIn string
}

func (g *Events) add(e *record.Event) {
	g.All = append(g.All, e)
	g.Times += e.Times()
	g.Total += e.Took()
	if g.Longest == nil || e.Duration > g.Longest.Duration {
		g.Longest = e
	}
}

// inWords says how many there are.
func (g *Events) inWords() {
	if i := slices.IndexFunc(counted[:], func(k countedKind) bool { return k.kind == g.Kind }); i >= 0 {
		g.Count = text.Either(g.Times, counted[i].one, counted[i].several)
	}
}

// mostNamed is how many of a kind are named with member and time.
const mostNamed = 3

// Named are the first of them, and how many more there are.
func (g *Events) Named() (some []*record.Event, more int) {
	n := min(len(g.All), mostNamed)
	return g.All[:n], len(g.All) - n
}

// countedKind is a kind with its words.
type countedKind struct {
	kind         stores.SignalKind
	one, several string
}

// counted are the kinds that are counted for a trial, in their order, and what one
// event and several are called. A kind that is not here is listed only with a gap
// or a slow second.
var counted = [...]countedKind{
	{stores.Elected, "election", "elections"},
	{stores.QuotaReached, "write beyond the space quota", "writes beyond the space quota"},
	{stores.FullStateReceived, "member brought up with the whole state", "members brought up with the whole state"},
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

// notableGap is the shortest gap that is shown beside what happened in it.
const notableGap = 100 * time.Millisecond

// spike is how many times the median second's p99 a second's must be to be
// shown beside what happened in it.
const spike = 2

// EventsOf is what happened in a trial's window, whose events have been read
// (record.Run.ReadEvents).
func EventsOf(t *record.Trial) WindowEvents {
	h := WindowEvents{}
	if !Measured(t) || t.Opened == nil {
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

// countedOf are the events of the kinds that are counted, each kind once.
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

// EventsOfRow is what happened in the windows of a row's repeats: each kind once,
// and the longest gap and the slowest second of all.
func EventsOfRow(r *Row) (all WindowEvents) {
	in := map[stores.SignalKind][]*record.Trial{}
	var held []*record.Trial
	for _, t := range r.Done {
		h := EventsOf(t)
		here := r.Places([]*record.Trial{t})
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
		if g.In = r.Places(in[g.Kind]); g.LongestIn == g.In {
			g.LongestIn = ""
		}
		g.inWords()
	}
	all.HeldIn = r.Places(held)
	return all
}

// merge adds events of one kind that were in the repeat here.
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

// slower reports whether a second was worse than another: more of it failed, or
// its p99 is higher.
func (s *Stretch) slower(than *Stretch) bool {
	if s.P99.Known && than.P99.Known {
		return s.P99.NS > than.P99.NS
	}
	return !s.P99.Known && (than.P99.Known || s.Errors > than.Errors)
}

// longestGap is the longest gap with what happened in it; nil for nothing.
func longestGap(t *record.Trial, window Span, events []record.Event) *Stretch {
	length := time.Duration(t.LongestGap * 1e9)
	if t.LongestGapAt == nil || length < notableGap {
		return nil
	}
	from := window.From.Add(time.Duration(*t.LongestGapAt * 1e9))
	return during(t, events, Span{from, from.Add(length)}, Stretch{From: from, Length: length})
}

// slowestSecond is the second that was worst, if that is a spike, and not the
// gap that was found before.
func slowestSecond(t *record.Trial, events []record.Event, gap *Stretch) *Stretch {
	worst := worstSecond(t.Timeline)
	if worst == nil {
		return nil
	}
	// What was due in that second waited until after it; what failed, to its end.
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

// mostDuring is how many events, or groups of them, are listed of one time.
const mostDuring = 4

// during fills a stretch with what happened in a span, in the order of time:
// several of one kind and member as one, and of many those that disturb most.
// It is nil if nothing did.
func during(t *record.Trial, events []record.Event, in Span, s Stretch) *Stretch {
	type key struct {
		member, kind string
		counted      bool // what was only counted has no time of its own
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

// lasted is when an event was under way. A fault is, from when it began until it was
// healed: what it breaks can show a moment after its signal.
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

// calm is small for what concerns the whole cluster, and for what no log reports,
// such as a member that is lost.
func (g *Events) calm() int {
	if g.Longest.Count > 0 {
		return 2 // and may have been at another time
	}
	kinds := stores.SignalKinds()
	if slices.Index(kinds, g.Kind) > slices.Index(kinds, stores.LeaderLost) {
		return 1 // by how long they took
	}
	return 0
}

// worstSecond is the measured second with most errors, of those whose p99 has
// failed or is not supported; else that with the highest p99, if it is a spike
// beside the others.
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

// overlapping are the events that were under way at some time of the span.
func overlapping(events []record.Event, in Span) []record.Event {
	var found []record.Event
	for _, e := range events {
		if (Span{e.Began(), e.Time}).overlaps(in) {
			found = append(found, e)
		}
	}
	return found
}

// paired gives the end of a snapshot the time since its beginning, where its
// line does not say how long it took, and leaves the beginning out.
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

// once leaves out the elections that we saw by asking, where the members' logs
// report them themselves.
func once(events []record.Event) []record.Event {
	elected := func(e record.Event) bool { return e.Kind == string(stores.Elected) }
	if !slices.ContainsFunc(events, func(e record.Event) bool { return elected(e) && e.Line != "" }) {
		return events
	}
	return slices.DeleteFunc(slices.Clone(events), func(e record.Event) bool { return elected(e) && e.Line == "" })
}
