package analyze

import (
	"slices"
	"testing"

	"github.com/quorumbench/quorumbench/internal/results/record"
)

// A cause that limited several trials is reported once, with the sentence of the trial that exceeds
// the limit most.
func TestSharedCauses(t *testing.T) {
	trial := func(name string, causes ...Cause) TrialCauses {
		return TrialCauses{Trial: &record.Trial{Conditions: record.Conditions{Name: name}}, Causes: causes, More: make([]int, len(causes))}
	}
	cpu := func(figure float64, text string) Cause {
		return Cause{What: CauseCPU, Figure: figure, Limit: 0.85, Text: text}
	}
	clients := func(n float64, text string) Cause { return Cause{What: CauseClients, Figure: n, Text: text} }
	all := []TrialCauses{
		trial("a", cpu(0.9, "90 %"), Cause{What: CauseDisk, Text: "slow"}), trial("b", clients(4, "4 clients")),
		trial("c", cpu(0.99, "99 %")), trial("d", cpu(0.87, "87 %"), Cause{What: CauseDisk, Text: "slow"}), trial("e", clients(8, "8 clients")), trial("f"),
	}
	all[2].More = []int{3}
	got := GroupCauses(all)
	want := []SharedCause{
		{Cause: cpu(0.99, "99 %"), Furthest: "c", Trials: []string{"a", "c", "d"}, More: 3},
		{Cause: Cause{What: CauseDisk, Text: "slow"}, Furthest: "a", Trials: []string{"a", "d"}, Same: true},
		{Cause: clients(4, "4 clients"), Furthest: "b", Trials: []string{"b", "e"}},
	}
	if !slices.EqualFunc(got, want, func(a, b SharedCause) bool {
		return a.Cause == b.Cause && a.Furthest == b.Furthest && a.Same == b.Same && a.More == b.More && slices.Equal(a.Trials, b.Trials)
	}) {
		t.Errorf("found %+v", got)
	}
	if GroupCauses(nil) != nil {
		t.Error("there are shared causes without trials")
	}
}
