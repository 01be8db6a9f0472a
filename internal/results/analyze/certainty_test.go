package analyze

import (
	"math"
	"testing"

	"github.com/quorumbench/quorumbench/internal/results/record"
)

// doneIn is a trial with so many operations done in each second.
func doneIn(perSecond ...float64) *record.Trial {
	t := withP99(make([]float64, len(perSecond))...)
	sum := 0.0
	for i, n := range perSecond {
		t.Timeline[i].Done = uint64(n)
		sum += n
	}
	t.PerSecond = sum / float64(len(perSecond))
	return t
}

// Five repeats have Student's interval; fewer have none; one has its own, of its
// whole seconds, if it has enough of them and none is missing.
func TestCertaintyOf(t *testing.T) {
	ops := record.Registered("ops")
	row := func(all ...*record.Trial) *Row { return &Row{Trials: all, Done: all} }
	var repeats []*record.Trial
	for _, n := range []float64{96, 98, 100, 102, 104} {
		repeats = append(repeats, doneIn(n, n))
	}
	c, ok := CertaintyOf(row(repeats...), &ops)
	// Of five values with a standard deviation of √10: t(0.975, 4) = 2.776.
	if want := 2.7764 * math.Sqrt(10) / math.Sqrt(5); !ok || c.Repeats != 5 || math.Abs(c.High.Number-100-want) > 0.001 || math.Abs(100-c.Low.Number-want) > 0.001 {
		t.Errorf("of five: %+v, %v", c, ok)
	}
	if _, ok := CertaintyOf(row(repeats[:4]...), &ops); ok {
		t.Error("four repeats have an interval")
	}
	one := doneIn(98, 102, 99, 101, 100, 97, 103, 100, 100, 99, 101, 100)
	c, ok = CertaintyOf(row(one), &ops)
	if !ok || c.Repeats != 0 || c.Seconds != 12 || c.Effective <= 0 || c.Effective > 12 || c.Low.Number >= 100 || c.High.Number <= 100 || c.Low.Number < 90 || c.High.Number > 110 {
		t.Errorf("of one: %+v, %v", c, ok)
	}
	one.Timeline[5].Second = 6
	if _, ok := CertaintyOf(row(one), &ops); ok {
		t.Error("a run that lacks a second has an interval")
	}
	if _, ok := CertaintyOf(row(doneIn(1, 2, 3)), &ops); ok {
		t.Error("three seconds have an interval")
	}
	p99 := record.Registered("p99")
	if _, ok := CertaintyOf(row(doneIn(98, 102, 99, 101, 100, 97, 103, 100, 100, 99)), &p99); ok {
		t.Error("a single run's p99 has the throughput's interval")
	}
}
