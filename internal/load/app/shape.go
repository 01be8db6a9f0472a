package app

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/scenario/application"
)

// Shape is what a kind of call is: its name, which is a row in the report, and what it
// counts as among all operations.
type Shape struct {
	Name  string
	Kind  kv.Kind
	Level kv.Consistency
}

// Calls returns calls of the shapes at so many of each a second. A shape without a name is one
// that an application does not make.
func Calls(shapes []Shape, rates []float64) (all []application.Call) {
	for i, s := range shapes {
		if s.Name != "" {
			all = append(all, application.Call{Name: s.Name, Kind: s.Kind, Level: s.Level, PerSecond: rates[i]})
		}
	}
	return all
}
