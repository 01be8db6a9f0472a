package cli

import (
	"fmt"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/readable"
)

// printPercentiles prints a line of figures, in the order of
// measure.Percentiles.
func (a *app) printPercentiles(head string, figures []measure.Figure) {
	a.Printf("%s:", head)
	for i, f := range figures {
		a.Printf(" p%g %s", measure.Percentiles[i], figureText(f))
		if i < len(figures)-1 {
			a.Printf(",")
		}
	}
	a.Printf("\n")
}

// figureText is a figure, a dash where the sample does not support it, or
// `failed` where it lands on an operation that failed.
func figureText(f measure.Figure) string {
	switch {
	case f.Failed:
		return "failed"
	case !f.Known:
		return "-"
	}
	return readable.Duration(f.NS)
}

// percentileFields are those that are known, in seconds, by name.
func percentileFields(figures []measure.Figure) map[string]float64 {
	out := map[string]float64{}
	for i, f := range figures {
		if f.Known {
			out[fmt.Sprintf("p%g", measure.Percentiles[i])] = f.NS / 1e9
		}
	}
	return out
}
