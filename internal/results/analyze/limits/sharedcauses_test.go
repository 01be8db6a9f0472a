package limits

import (
	"slices"
	"testing"

	"github.com/quorumbench/quorumbench/internal/results/record"
)

// A cause that limited several trials is reported once, with the sentence of the trial that exceeds
// the limit most.
func TestSharedCauses(t *testing.T) {
	trial := func(name string, causes ...Cause) trialCauses {
		return trialCauses{Trial: &record.Trial{Conditions: record.Conditions{Name: name}}, Causes: causes, OtherCauses: make([]int, len(causes))}
	}
	cpu := func(figure float64, text string) Cause {
		return Cause{Kind: CauseCPU, Figure: figure, Limit: 0.85, Text: text}
	}
	clients := func(n float64, text string) Cause { return Cause{Kind: CauseClients, Figure: n, Text: text} }
	all := []trialCauses{
		trial("a", cpu(0.9, "90 %"), Cause{Kind: CauseDisk, Text: "slow"}), trial("b", clients(4, "4 clients")),
		trial("c", cpu(0.99, "99 %")), trial("d", cpu(0.87, "87 %"), Cause{Kind: CauseDisk, Text: "slow"}), trial("e", clients(8, "8 clients")), trial("f"),
	}
	all[2].OtherCauses = []int{3}
	got := groupCauses(all)
	want := []SharedCause{
		{Cause: cpu(0.99, "99 %"), WorstTrial: "c", Trials: []string{"a", "c", "d"}, OtherCauses: 3},
		{Cause: Cause{Kind: CauseDisk, Text: "slow"}, WorstTrial: "a", Trials: []string{"a", "d"}, SameText: true},
		{Cause: clients(4, "4 clients"), WorstTrial: "b", Trials: []string{"b", "e"}},
	}
	if !slices.EqualFunc(got, want, func(a, b SharedCause) bool {
		return a.Cause == b.Cause && a.WorstTrial == b.WorstTrial && a.SameText == b.SameText && a.OtherCauses == b.OtherCauses && slices.Equal(a.Trials, b.Trials)
	}) {
		t.Errorf("found %+v", got)
	}
	if groupCauses(nil) != nil {
		t.Error("groupCauses returns shared causes without trials")
	}
}
