package record

import (
	"testing"

	"github.com/quorumbench/quorumbench/internal/measure"
)

// BenchmarkSecond measures the CPU time that it takes to record the data of a one-second interval.
// This CPU time is not available to the load.
func BenchmarkSecond(b *testing.B) {
	l := newLoad(1, 0, false)
	l.phase(measure.Measured, 1, 50_000)
	w, err := Create(b.TempDir(), "bench", noon, Run{})
	if err != nil {
		b.Fatal(err)
	}
	tw, err := w.Trial(conditions(), noon)
	if err != nil {
		b.Fatal(err)
	}
	if err := tw.Begin(measure.Measured, noon); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := tw.Second(l.seconds[0]); err != nil {
			b.Fatal(err)
		}
	}
}
