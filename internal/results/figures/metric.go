package figures

import (
	"fmt"
	"slices"
	"strings"

	"github.com/quorumbench/quorumbench/internal/text"
)

// otherNames maps names of metrics in other tools to the names in quorumbench.
var otherNames = map[string]string{
	"throughput": "ops", "qps": "ops", "rps": "ops", "tps": "ops", "rate": "ops", "ops/s": "ops",
	"latency": "p99", "median": "p50", "avg": "mean", "average": "mean", "failures": "errors",
}

// ParseMetric parses the name of a metric in a flag or a file, such as p99, errors or watch-lost.
// All flags for metrics use ParseMetric. It ignores case, and accepts underscores instead of
// dashes. If the name is unknown, the error suggests the most similar name.
func ParseMetric(word string) (Figure, error) {
	name := strings.ReplaceAll(strings.ToLower(strings.TrimSpace(word)), "_", "-")
	if f, ok := find(name); ok {
		return f, nil
	}
	known := []string{"p50", "p90", "p95", "p99", "p99.9", "p99.99"}
	for _, f := range All() {
		if f.Name != "" {
			known = append(known, f.Name)
		}
	}
	slices.Sort(known)
	near := otherNames[name]
	if near == "" {
		near = text.Nearest(name, known)
	}
	switch {
	case near != "":
		return Figure{}, fmt.Errorf("there is no metric %q; did you mean %q?", name, near)
	case len(name) > 1 && name[0] == 'p' && name[1] >= '0' && name[1] <= '9':
		return Figure{}, fmt.Errorf("%q is not a metric: a percentile such as p99.9 must be below 100 and have at most three decimals", name)
	}
	return Figure{}, fmt.Errorf("there is no metric %q; choose ops, errors, mean, max, a percentile such as p99, or another metric of docs/reference/figures.md", name)
}
