package verdict

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/quorumbench/quorumbench/internal/measure"
)

// Throughput is the name of the throughput in lists of figures.
const Throughput = "ops"

// Times holds one number for each figure that timeNames returns, in the same order: the quantiles
// from the lowest to the highest, then the mean and the standard deviation.
type Times [numTimes]float64

const numTimes = 12

// MeanIndex is the index of the mean in Times.
const MeanIndex = 10

// Quantiles returns the percentiles that Times begins with, from 0 (the minimum) to 100 (the
// maximum).
func Quantiles() []float64 { return slices.Concat([]float64{0}, measure.Percentiles, []float64{100}) }

// timeNames returns the names of the figures in a summary.
func timeNames() [numTimes]string {
	names := [numTimes]string{0: "min", 9: "max", MeanIndex: "mean", 11: "stddev"}
	for i, p := range measure.Percentiles {
		names[1+i] = fmt.Sprintf("p%g", p)
	}
	return names
}

// PrintedFigures returns the figures that reports print for every trial. A trial is suspect if any
// of them may be wrong by more than SuspectEffect.
func PrintedFigures() []string {
	return []string{Throughput, "mean", "p50", "p90", "p95", "p99", "p99.9", "max"}
}

// timeIndex returns the index of a figure in Times, or -1 if there is none.
func timeIndex(name string) int {
	names := timeNames()
	return slices.Index(names[:], name)
}

// timesFromSummary returns the figures of a summary. Unknown figures are 0.
func timesFromSummary(s *measure.Summary) (all Times) {
	for i, f := range slices.Concat([]measure.Figure{s.Min}, s.Percentiles[:], []measure.Figure{s.Max, s.Mean, s.Stddev}) {
		if f.Known {
			all[i] = f.NS
		}
	}
	return all
}

// effectNames returns the names of the figures in an Effect that apply to a figure. If the Effect
// contains the figure under another name, effectNames returns that name. For any other percentile,
// it returns the two neighboring percentiles ("p95" and "p99" for "p97"). It returns nil if the
// figure is neither the throughput nor a time of the load.
func effectNames(figure string) []string {
	for _, prefix := range []string{"response-", "success-", "service-"} {
		figure = strings.TrimPrefix(figure, prefix)
	}
	switch figure {
	case Throughput, "completed", "operations", "rate-share":
		return []string{Throughput}
	case "slowest":
		return []string{"max"}
	case "spread":
		return []string{"stddev"}
	}
	if timeIndex(figure) >= 0 {
		return []string{figure}
	}
	number, isPercentile := strings.CutPrefix(figure, "p")
	p, err := strconv.ParseFloat(number, 64)
	if !isPercentile || err != nil || p <= 0 || p >= 100 {
		return nil
	}
	names := timeNames()
	above := 1 + slices.IndexFunc(measure.Percentiles, func(known float64) bool { return known > p })
	if above == 0 {
		above = timeIndex("max")
	}
	return names[above-1 : above+1]
}

// MarshalJSON encodes all figures as an object. The keys are the names that files use for the
// figures.
func (e Effect) MarshalJSON() ([]byte, error) {
	object := map[string]float64{"throughput": e.Throughput}
	for i, name := range timeNames() {
		object[field(name)] = e.Times[i]
	}
	return json.Marshal(object)
}

// UnmarshalJSON decodes an object that MarshalJSON encoded. It sets missing figures to 0.
func (e *Effect) UnmarshalJSON(b []byte) error {
	var object map[string]float64
	if err := json.Unmarshal(b, &object); err != nil {
		return err
	}
	*e = Effect{Throughput: object["throughput"]}
	for i, name := range timeNames() {
		e.Times[i] = object[field(name)]
	}
	return nil
}

// field returns the name that files use for a figure.
func field(name string) string { return strings.ReplaceAll(name, ".", "_") }
