package load

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quorumbench/quorumbench/internal/load/engine"
	"github.com/quorumbench/quorumbench/internal/measure"
)

// Two loops lose their connections to a member, one after the other. Fewest is the minimum over
// both loops together, and BackAt is the time at which both have reconnected. The load also moves
// away from a second member.
func TestLinksCombineAllLoops(t *testing.T) {
	const ms = 1_000_000
	a := &engine.Result{WindowStart: 1000 * ms, InWindow: engine.InWindow{Links: map[string]int{"m1": 2, "m2": 1}, LinkChanges: []engine.LinkChange{
		{At: 1100 * ms, Endpoint: "m1", Delta: -1, Lost: true}, {At: 1150 * ms, Endpoint: "m1", Delta: -1, Lost: true},
		{At: 1300 * ms, Endpoint: "m1", Delta: 1}, {At: 1400 * ms, Endpoint: "m1", Delta: 1},
		{At: 2000 * ms, Endpoint: "m2", Delta: -1}, {At: 2001 * ms, Endpoint: "m3", Delta: 1},
	}}}
	b := &engine.Result{WindowStart: 1000 * ms, InWindow: engine.InWindow{Links: map[string]int{"m1": 1, "m2": 1}, LinkChanges: []engine.LinkChange{
		{At: 1200 * ms, Endpoint: "m1", Delta: -1, Lost: true}, {At: 1500 * ms, Endpoint: "m1", Delta: 1},
	}}}
	var e Ending
	for _, r := range []*engine.Result{a, b} {
		e.merge(newEnding(r, time.Time{}, false))
	}
	got := summarizeLinks(e.Links, e.LinkChanges, []string{"m1", "m2", "m4"})
	want := []measure.Link{
		{Endpoint: "m1", Connections: 3, MinConnections: 0, Lost: 3, LostAt: 0.1, BackAt: 0.5},
		{Endpoint: "m2", Connections: 2, MinConnections: 1, LostAt: 1, BackAt: -1},
		{Endpoint: "m3", LostAt: -1, BackAt: -1},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// A worker may report no connections at the opening of the window, but changes after that.
func TestLinksWithoutConnectionsAtTheStart(t *testing.T) {
	got := summarizeLinks(nil, []engine.LinkChange{{At: 100_000_000, Endpoint: "m1", Delta: 1}}, []string{"m1"})
	want := []measure.Link{{Endpoint: "m1", LostAt: -1, BackAt: -1}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
