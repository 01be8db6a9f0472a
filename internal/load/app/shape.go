package app

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/scenario/application"
)

// Shape describes a kind of call of an application. Name labels a row in the report. Kind and Level
// determine how such calls are counted among all operations.
type Shape struct {
	Name  string
	Kind  kv.Kind
	Level kv.Consistency
}

// Calls returns a Call for each shape. rates[i] is the number of calls per second for shapes[i]. A
// shape without a name is omitted, because the application never makes that call.
func Calls(shapes []Shape, rates []float64) (all []application.Call) {
	for i, s := range shapes {
		if s.Name != "" {
			all = append(all, application.Call{Name: s.Name, Kind: s.Kind, Level: s.Level, PerSecond: rates[i]})
		}
	}
	return all
}
