package figures

import "testing"

func TestParseMetricSuggestsTheNearestMetric(t *testing.T) {
	for text, want := range map[string]string{
		"opps":       `there is no metric "opps"; did you mean "ops"?`,
		"Throughput": `there is no metric "throughput"; did you mean "ops"?`,
		"p98x":       `"p98x" is not a metric: a percentile such as p99.9 must be below 100 and have at most three decimals`,
		"elephants":  `there is no metric "elephants"; choose ops, errors, mean, max, a percentile such as p99, or another metric of docs/reference/figures.md`,
	} {
		if _, err := ParseMetric(text); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	for text, want := range map[string]string{" P99.9 ": "p99.9", "watch_lost": "watch-lost", "OPS": "ops"} {
		if f, err := ParseMetric(text); err != nil || f.Name != want {
			t.Errorf("%q is %q (%v), want %q", text, f.Name, err, want)
		}
	}
}
