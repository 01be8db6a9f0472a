package report

import (
	"github.com/quorumbench/quorumbench/internal/readable"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// Value formats a figure of any unit: a dash where it is not known, failed where
// it lands on a failed operation.
func Value(v record.Value) string {
	switch {
	case v.Failed:
		return "failed"
	case !v.Known:
		return readable.Dash
	}
	return readable.Quantity(v.Number, v.Unit)
}
