package size

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

func TestObjectivesAreThresholds(t *testing.T) {
	o, err := ParseObjective("p99<20ms, errors<0.1%,response-p50<=2 ms")
	if err != nil {
		t.Fatal(err)
	}
	goals := o.Goals()
	want := []struct{ limit, span float64 }{{0.01, 0.02}, {0.001, errorSpan}, {0.5, 0.002}}
	if len(goals) != len(want) {
		t.Fatalf("there are %d goals", len(goals))
	}
	for i, w := range want {
		if math.Abs(goals[i].Limit-w.limit) > 1e-12 || math.Abs(goals[i].Span-w.span) > 1e-12 {
			t.Errorf("goal %d is %+v", i, goals[i])
		}
	}
}

func TestInvalidObjectivesAreRefused(t *testing.T) {
	for text, says := range map[string]string{
		"":                  "the objective is empty; write percentiles",
		"p99":               "contains no < or >",
		"p99>20ms":          "is a lower bound",
		"p99<0s":            "no operation takes 0 s",
		"put-*:p99<20ms":    "names trials",
		"ops<100":           "cannot bound the metric",
		"errors<5":          "as a share of the operations",
		"errors<0%":         "above 0",
		"mean<5ms":          "cannot bound the metric",
		"service-p99<5ms":   "cannot bound the metric",
		"p99<20ms, pp<1ms":  "cannot bound the metric",
		"p99<20ms; p50<1ms": "is a time",
	} {
		if _, err := ParseObjective(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, and not %q", text, err, says)
		}
	}
}

// TestReasonsApplyToHigherFailedPercentiles checks percentiles at whose rank the operation
// failed. If a reason about the generator applies to the next lower known percentile, it also
// applies to the failed percentile: if an overloaded generator does not send an operation, this is
// not the store's fault.
func TestReasonsApplyToHigherFailedPercentiles(t *testing.T) {
	o, err := ParseObjective("p99<100ms")
	if err != nil {
		t.Fatal(err)
	}
	starved := verdict.Reason{Rule: 5, Figures: []string{"p50", "p95"}}
	atMedian := verdict.Reason{Rule: 7, Figures: []string{"p50"}}
	for name, one := range map[string]struct {
		known     []float64
		reason    verdict.Reason
		disturbed bool
	}{
		"all below":         {[]float64{50, 95}, starved, true},
		"the median":        {[]float64{50}, atMedian, true},
		"another figure":    {[]float64{50, 95}, atMedian, false},
		"other programs":    {[]float64{50, 95}, verdict.Reason{Rule: 23, Figures: []string{"p95"}}, false},
		"nothing was known": {nil, atMedian, false},
	} {
		trial := &record.Trial{Verdict: verdict.Verdict{Reasons: []verdict.Reason{one.reason}}}
		for i, p := range measure.Percentiles {
			known := slices.Contains(one.known, p)
			trial.ResponseTime.Percentiles[i] = measure.Figure{NS: 1e6, Known: known, Failed: !known}
		}
		if got := disturbanceOf(trial, o.Parts).worstReason != nil; got != one.disturbed {
			t.Errorf("%s: disturbed %v, want %v", name, got, one.disturbed)
		}
	}
}
