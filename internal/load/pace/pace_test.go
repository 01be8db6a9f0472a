package pace

import (
	"math"
	"testing"
	"testing/quick"
)

func TestConstantNeverDrifts(t *testing.T) {
	for _, rate := range []float64{0.1, 1, 3, 999, 8000, 20_000, 1e6} {
		p := NewConstant(rate)
		for _, n := range []uint64{0, 1, 1000, 1e6, 1e9, 1e12} {
			want := float64(n) / rate * 1e9
			if got := float64(p.Due(n)); want < math.MaxInt64 && math.Abs(got-want) > 1+want*1e-15 {
				t.Errorf("at %v/s operation %d is due at %v, want %v", rate, n, got, want)
			}
		}
	}
}

func TestDueSaturates(t *testing.T) {
	if got := NewConstant(1e-9).Due(math.MaxUint64); got != math.MaxInt64 {
		t.Errorf("an operation beyond the end of time is due at %d", got)
	}
}

func TestDueNeverDecreases(t *testing.T) {
	constant, poisson := NewConstant(12345), NewPoisson(12345, 1)
	err := quick.Check(func(n uint16) bool {
		i := uint64(n)
		return constant.Due(i) <= constant.Due(i+1) && poisson.Due(i) <= poisson.Due(i+1)
	}, nil)
	if err != nil {
		t.Error(err)
	}
}

func TestPoissonIsAFunctionOfSeedAndNumber(t *testing.T) {
	a, b := NewPoisson(1000, 7), NewPoisson(1000, 7)
	want := make([]int64, 1000)
	for n := range want {
		want[n] = a.Due(uint64(n))
	}
	for n := len(want) - 1; n >= 0; n -= 37 { // in a different order
		if got := b.Due(uint64(n)); got != want[n] {
			t.Fatalf("operation %d is due at %d or at %d", n, want[n], got)
		}
	}
	if NewPoisson(1000, 8).Due(10) == want[10] {
		t.Error("another seed gives the same schedule")
	}
}

// In a Poisson process, the standard deviation of the gaps equals their mean, and a share of 1/e of
// the gaps is longer than the mean.
func TestPoissonGapsAreExponential(t *testing.T) {
	const n, rate = 200_000, 1000.0
	p := NewPoisson(rate, 3)
	var sum, squares float64
	longer := 0
	last := int64(0)
	for i := uint64(1); i <= n; i++ {
		due := p.Due(i)
		gap := float64(due-last) / 1e9
		last = due
		sum += gap
		squares += gap * gap
		if gap > 1/rate {
			longer++
		}
	}
	mean := sum / n
	deviation := math.Sqrt(squares/n - mean*mean)
	for what, pair := range map[string][2]float64{
		"mean": {mean, 1 / rate}, "standard deviation": {deviation, 1 / rate}, "share of long gaps": {float64(longer) / n, 1 / math.E},
	} {
		if math.Abs(pair[0]/pair[1]-1) > 0.02 {
			t.Errorf("%s is %v, want %v", what, pair[0], pair[1])
		}
	}
}

// FirstDueAt is consistent with Due: it returns the first operation that is due at or after a time.
func TestFirstAgreesWithDue(t *testing.T) {
	for _, rate := range []float64{0.1, 1, 3, 7.7, 999, 123_456.7, 1e6, 1e9} {
		constant, last := NewConstant(rate), uint64(0)
		for i := range int64(2000) {
			at := i * i * i * 977
			n := constant.FirstDueAt(at)
			if constant.Due(n) < at || n > 0 && constant.Due(n-1) >= at {
				t.Fatalf("at %v/s, the first operation due at or after %d is not %d", rate, at, n)
			}
			last = max(last, n)
		}
		if last == 0 {
			t.Errorf("at %v/s, no operation was due", rate)
		}
	}
	rest, drawn := NewPoisson(1e6, 5).Remainder(0, Point{}), NewPoisson(1e6, 5)
	n := uint64(0)
	for at := int64(1); n < maxDrawnGaps-2000; at += 1_234_567 {
		for drawn.Due(n) < at {
			n++
		}
		if got := rest.FirstDueAt(at); got != n || rest.Due(got) != drawn.Due(n) {
			t.Fatalf("in a Poisson schedule, the first operation due at or after %d is %d, want %d", at, got, n)
		}
	}
}

// The rest of a Poisson schedule draws a limited number of gaps. After these gaps, it continues at
// the schedule's rate or, if a later point is known, at the rate that leads to this point.
func TestPoissonRestContinuesTheSchedule(t *testing.T) {
	const far = 1e12
	for _, last := range []Point{{}, {N: far, Due: 2e15}} {
		p := NewPoisson(1e6, 5)
		p.Due(1000)
		rest := p.Remainder(1000, last)
		before := int64(0)
		for n := uint64(1000); n < 3*maxDrawnGaps; n += 999 {
			due := rest.Due(n)
			if due < before || rest.FirstDueAt(due) > n {
				t.Fatalf("operation %d is due at %d, an earlier operation at %d, and FirstDueAt returned %d", n, due, before, rest.FirstDueAt(due))
			}
			before = due
		}
		want := int64(1e15)
		if last.N > 0 {
			want = last.Due
		}
		if got := rest.Due(far); math.Abs(float64(got)/float64(want)-1) > 0.002 || last.N > 0 && got != want {
			t.Errorf("operation %v is due at %d, want %d", far, got, want)
		}
		if p.n != 1000 {
			t.Error("the pacer has moved")
		}
	}
}
