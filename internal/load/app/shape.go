package app

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/scenario/application"
)

// Shape describes a kind of call: its name, which labels a row of the report, and the kind and
// consistency it counts as among all operations.
type Shape struct {
	Name  string
	Kind  kv.Kind
	Level kv.Consistency
}

// Calls returns a Call for each shape with the rate of the same index, per second. A shape
// without a name is a call that the application does not make.
func Calls(shapes []Shape, rates []float64) (all []application.Call) {
	for i, s := range shapes {
		if s.Name != "" {
			all = append(all, application.Call{Name: s.Name, Kind: s.Kind, Level: s.Level, PerSecond: rates[i]})
		}
	}
	return all
}
