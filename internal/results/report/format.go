package report

import (
	"fmt"

	"github.com/quorumbench/quorumbench/internal/measure"
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
	if ns, ok := v.Unit.Time(); ok {
		return readable.Duration(ns * v.Number)
	}
	switch v.Unit {
	case measure.Rate:
		return readable.PerSecond(v.Number)
	case measure.Share:
		return measure.Percent(v.Number)
	case measure.Bytes:
		return readable.Bytes(uint64(max(v.Number, 0)))
	case measure.Ratio:
		return fmt.Sprintf("%.4g", v.Number)
	}
	return readable.Count(uint64(max(v.Number, 0)))
}
