package report

import (
	"bytes"
	"testing"

	"github.com/quorumbench/quorumbench/internal/results/record"
)

// Slow trials have their causes, and the others no line.
func TestLimited(t *testing.T) {
	busy := 0.95
	opened := record.Conditions{Name: "put", Repeat: 1, Repeats: 1, Machine: &record.Machine{CPUs: 2}}
	slow := record.Trial{Conditions: opened, State: record.Complete, Seconds: 10, BusyShare: &busy, TermChanges: 1, LongestPauseNS: 2e8}
	slow.Loops, slow.LongestGap = 1, 0.6
	quick := slow
	quick.BusyShare, quick.TermChanges, quick.LongestGap = nil, 0, 0
	quick.Name = "get"
	var b bytes.Buffer
	limited(&b, []record.Trial{slow, quick})
	want := `
What limited it
  put: leader change: the leader changed: the cluster's term rose by 1
    cpu of the tester: this program stood still for 200 ms (limit 100 ms); and 1 finding of that kind
`
	if b.String() != want {
		t.Errorf("it says%s, not%s", b.String(), want)
	}
	b.Reset()
	if limited(&b, []record.Trial{quick}); b.Len() > 0 {
		t.Errorf("of nothing it says %s", b.String())
	}
}
