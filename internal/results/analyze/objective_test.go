package analyze

import (
	"math"
	"strings"
	"testing"
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

func TestWhatIsNoObjectiveIsRefused(t *testing.T) {
	for text, says := range map[string]string{
		"":                  "write one such as",
		"p99":               "has no < or >",
		"p99>20ms":          "bounds from below",
		"p99<0s":            "no operation is so fast",
		"put-*:p99<20ms":    "names trials",
		"ops<100":           "cannot be searched for",
		"errors<5":          "cannot be searched for",
		"errors<0%":         "above 0",
		"mean<5ms":          "cannot be searched for",
		"service-p99<5ms":   "cannot be searched for",
		"p99<20ms, pp<1ms":  "there is no metric",
		"p99<20ms; p50<1ms": "is a time",
	} {
		if _, err := ParseObjective(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, and not %q", text, err, says)
		}
	}
}
