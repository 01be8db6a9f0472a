package load_test

import (
	"math"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/load"
)

// The ending of a worker's load is refused if it contains figures that cannot have been measured.
func TestImpossibleEndingsAreInvalid(t *testing.T) {
	area := func(a float64) func(*load.Ending) { return func(e *load.Ending) { e.InFlightArea = a } }
	used := func(u load.Usage) func(*load.Ending) { return func(e *load.Ending) { e.Used = []load.Usage{u} } }
	for want, change := range map[string]func(*load.Ending){
		"":                     used(load.Usage{CPUSeconds: 12.5, MaxRSSBytes: 1 << 30}),
		"CPUSeconds is 1e+308": used(load.Usage{CPUSeconds: 1e308}),
		"CPUSeconds is -3":     used(load.Usage{CPUSeconds: -3}),
		"MaxRSSBytes is 92233": used(load.Usage{MaxRSSBytes: math.MaxInt64}),
		"in flight or of paused clients (1e+300 ns)": area(1e300),
		"in flight or of paused clients (-1 ns)":     area(-1),
		"a warm-up of -5 s":                          func(e *load.Ending) { e.WarmupSeconds = new(-5.0) },
	} {
		e := load.Ending{Loops: 1}
		change(&e)
		err := e.Valid()
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v", want, err)
		}
	}
}
