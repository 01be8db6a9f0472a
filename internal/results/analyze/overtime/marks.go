package overtime

import (
	"cmp"
	"slices"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/store"
)

// addMarks adds marks for the trial's events that are within the grid.
func (o *Charts) addMarks() {
	g := &o.Grid
	type key struct {
		kind, member string
		column       int
	}
	at := map[key]int{}
	events := analyze.DropPolledElections(analyze.CombineSnapshotEvents(o.Trial.Events))
	for i := range events {
		e := &events[i]
		from, to := e.Began().Sub(g.Opened).Seconds(), e.Time.Sub(g.Opened).Seconds()
		column, ok := g.column(to)
		if !ok && !(from < float64(g.EndSecond()) && to >= float64(g.From)) {
			continue
		}
		from, to = max(from, float64(g.From)), min(to, float64(g.EndSecond()))
		k := key{e.Kind, e.Member, column}
		j, seen := at[k]
		if !seen {
			j = len(o.Marks)
			at[k] = j
			o.Marks = append(o.Marks, Mark{From: from, To: to, Events: analyze.Events{Kind: store.SignalKind(e.Kind)}, Member: e.Member})
		}
		m := &o.Marks[j]
		m.Add(e)
		m.From, m.To = min(m.From, from), max(m.To, to)
	}
	kinds := store.SignalKinds()
	for i := range o.Marks {
		k := o.Marks[i].Kind
		o.Marks[i].Severe = k == record.FaultBegan || k == memberLost || k == memberBack || slices.Contains(kinds, k) && o.Marks[i].SortKey() == 0
	}
	// kinds of events that logs do not report come first
	place := func(k store.SignalKind) int { return slices.Index(kinds, k) }
	slices.SortStableFunc(o.Marks, func(a, b Mark) int {
		return cmp.Or(cmp.Compare(place(a.Kind), place(b.Kind)), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.From, b.From))
	})
}

// Kinds of events that are detected by polling and that logs do not report.
const (
	memberLost store.SignalKind = "member_lost"
	memberBack store.SignalKind = "member_recovered"
)
