package record

import (
	"math"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

var threeMembers = []Member{
	{ID: 11, Name: "m1", Endpoint: "127.0.0.1:1"}, {ID: 12, Name: "m2", Endpoint: "127.0.0.1:2"}, {ID: 13, Name: "m3", Endpoint: "127.0.0.1:3"},
}

// lossOf returns the data of a ten-second window in which three members serve 90 operations per
// second, with equal shares. m2 loses its connections at 3.2 s and gets them back at 6.5 s. In the
// whole seconds between these times, only m1 and m3 serve operations: together 60 per second, of
// which m1 serves twice as many as m3.
func lossOf() (*measure.Totals, *DoneCounts) {
	m, a := &measure.Totals{Seconds: 10}, &DoneCounts{}
	for i := range 10 {
		parts := map[uint64]int{11: 30, 12: 30, 13: 30}
		if i > 3 && i < 6 {
			parts = map[uint64]int{11: 40, 13: 20}
		}
		s := &measure.Second{Phase: measure.Measured, Index: i}
		for member, n := range parts {
			c := &measure.Cell{Series: measure.Series{Kind: kv.Put, Member: member, Term: 2}, Response: measure.NewHistogram()}
			for range n {
				measure.Record(c.Response, 1e6)
			}
			s.Cells = append(s.Cells, c)
			s.Done += uint64(n)
		}
		a.add(s)
		m.Cells = measure.MergeCells(m.Cells, s.Cells)
		m.Done += s.Done
	}
	lost := &measure.Cell{Series: measure.Series{Kind: kv.Put}}
	lost.Failed[measure.ErrorIndex(kv.ConnectionLost)] = measure.NewHistogram()
	for range 7 {
		measure.Record(lost.Failed[measure.ErrorIndex(kv.ConnectionLost)], 1e6)
	}
	m.Cells = append(m.Cells, lost)
	m.Outcomes[kv.OK], m.Outcomes[kv.ConnectionLost], m.Due = m.Done, 7, m.Done+7
	m.Links = []measure.Link{
		{Endpoint: "127.0.0.1:1", Connections: 4, MinConnections: 4, LostAt: -1, BackAt: -1},
		{Endpoint: "127.0.0.1:2", Connections: 3, MinConnections: 0, Lost: 3, LostAt: 3.2, BackAt: 6.5},
		{Endpoint: "127.0.0.1:3", Connections: 3, MinConnections: 3, LostAt: -1, BackAt: -1},
	}
	return m, a
}

// Every operation belongs either to a member or to the entry for unknown members. The shares of all
// entries add up to one. The throughput while a member had lost its connections is computed from
// whole seconds.
func TestByMember(t *testing.T) {
	m, a := lossOf()
	r := NewTrial(conditions(), Observed{Members: threeMembers, DoneCounts: a}, m, nil, roles)
	if len(r.ByMember) != 4 {
		t.Fatalf("%+v", r.ByMember)
	}
	var operations, errors uint64
	share := 0.0
	for _, b := range r.ByMember {
		operations, errors, share = operations+b.Operations, errors+b.Errors, share+b.Share
	}
	if operations != r.Operations || errors != r.Errors || math.Abs(share-1) > 1e-9 {
		t.Errorf("the members have %d operations of %d and %d errors of %d, and their shares add up to %v", operations, r.Operations, errors, r.Errors, share)
	}
	m1, m2, unknown := r.ByMember[0], r.ByMember[1], r.ByMember[3]
	if m1.Name != "m1" || m1.Operations != 320 || m1.Connections == nil || m1.Connections.AtOpening != 4 || m1.Connections.LostAt != nil || m1.Connections.WhileLost != nil {
		t.Errorf("m1: %+v", m1)
	}
	if unknown.Name != "" || unknown.Errors != 7 || unknown.Operations != 0 || unknown.Connections != nil {
		t.Errorf("unknown member: %+v", unknown)
	}
	l := m2.Connections
	if m2.Operations != 240 || l == nil || l.Lost != 3 || l.Fewest != 0 || l.LostAt == nil || *l.LostAt != 3.2 || l.BackAt == nil || *l.BackAt != 6.5 {
		t.Fatalf("m2: %+v, %+v", m2, l)
	}
	w := l.WhileLost
	if w == nil || w.Seconds != 2 || w.PerSecond != 60 || w.PerSecondOtherwise == nil || *w.PerSecondOtherwise != 90 ||
		math.Abs(w.Shares["m1"]-2.0/3) > 1e-9 || w.Shares["m2"] != 0 || math.Abs(w.Shares["m3"]-1.0/3) > 1e-9 {
		t.Errorf("the operations during the loss of the connection are %+v", w)
	}
}

// The shares while connections are lost cover only operations that a known member served, even if
// an entry without an ID exists for an endpoint.
func TestSharesWhileLostOmitUnknownMembers(t *testing.T) {
	m, a := lossOf()
	a.ByMember[0] = []uint64{9, 9, 9, 9, 9, 9, 9, 9, 9, 9}
	m.Links = append(m.Links, measure.Link{Endpoint: "127.0.0.1:9", Connections: 1, LostAt: -1, BackAt: -1})
	w := NewTrial(conditions(), Observed{Members: threeMembers, DoneCounts: a}, m, nil, roles).ByMember[1].Connections.WhileLost
	if w == nil || len(w.Shares) != 3 || math.Abs(w.Shares["m1"]-2.0/3) > 1e-9 || math.Abs(w.Shares["m3"]-1.0/3) > 1e-9 {
		t.Errorf("the operations during the loss of the connections are %+v, want two thirds at m1 and a third at m3", w)
	}
}

// If the connections to a member never come back, WhileLost covers the time until the end of the
// window. If they come back, and there is no whole second between the loss and the return,
// WhileLost is null.
func TestServiceWhileLostHasBounds(t *testing.T) {
	settle.SkipUnderRace(t)
	m, a := lossOf()
	links := func() *MemberConnections {
		return NewTrial(conditions(), Observed{Members: threeMembers, DoneCounts: a}, m, nil, roles).ByMember[1].Connections
	}
	m.Links[1].BackAt = -1
	if l := links(); l.BackAt != nil || l.WhileLost == nil || l.WhileLost.Seconds != 6 || *l.WhileLost.PerSecondOtherwise != 90 {
		t.Errorf("%+v", l)
	}
	m.Links[1].LostAt, m.Links[1].BackAt = 3.2, 4.9
	if l := links(); l.WhileLost != nil {
		t.Errorf("%+v", l.WhileLost)
	}
	m.Links[1].LostAt, m.Links[1].BackAt = 0, -1
	if l := links(); l.WhileLost == nil || l.WhileLost.Seconds != 10 || l.WhileLost.PerSecondOtherwise != nil {
		t.Errorf("%+v", l.WhileLost)
	}
	m.Links[1].LostAt = 20 // after the recorded time
	if l := links(); l.WhileLost != nil {
		t.Errorf("%+v", l.WhileLost)
	}
	// Operations are counted even if connections were not counted. If a member is missing from the
	// status, its endpoint is used as its name.
	m.Links = nil
	r := NewTrial(conditions(), Observed{Members: threeMembers}, m, nil, roles)
	if len(r.ByMember) != 4 || r.ByMember[1].Connections != nil || r.ByMember[1].Operations != 240 {
		t.Errorf("%+v", r.ByMember)
	}
	m.Links = []measure.Link{{Endpoint: "127.0.0.1:9", Connections: 1, LostAt: -1, BackAt: -1}}
	if r := NewTrial(conditions(), Observed{}, m, nil, roles); len(r.ByMember) != 2 || r.ByMember[0].Name != "127.0.0.1:9" || r.ByMember[1].Operations != 840 {
		t.Errorf("%+v", r.ByMember)
	}
}

// The writer counts only the seconds of the window.
func TestAnsweredCountsOnlyTheWindow(t *testing.T) {
	l := newLoad(3, 0.1, false)
	l.phase(measure.Warmup, 1, 100)
	l.phase(measure.Measured, 3, 100)
	w, err := Create(t.TempDir(), "x", noon, Run{})
	must(t, err)
	tw, err := w.Trial(conditions(), noon)
	must(t, err)
	must(t, tw.Begin(measure.Warmup, noon))
	must(t, tw.Begin(measure.Measured, noon))
	for _, s := range l.seconds {
		must(t, tw.Second(s))
	}
	a := tw.DoneCounts()
	m := l.totals[measure.Measured]
	if len(a.Total) != 3 || measure.SumBetween(a.Total, 0, 3) != m.Done {
		t.Errorf("the total counts are %v, want a sum of %d", a.Total, m.Done)
	}
	succeeded := uint64(0)
	for _, counts := range a.ByMember {
		succeeded += measure.SumBetween(counts, 0, 3)
	}
	if succeeded != m.Succeeded() {
		t.Errorf("the counts by member are %v, want a sum of %d", a.ByMember, m.Succeeded())
	}
}
