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
	for n := len(want) - 1; n >= 0; n -= 37 { // asked in another order
		if got := b.Due(uint64(n)); got != want[n] {
			t.Fatalf("operation %d is due at %d or at %d", n, want[n], got)
		}
	}
	if NewPoisson(1000, 8).Due(10) == want[10] {
		t.Error("another seed gives the same schedule")
	}
}

// The gaps of a Poisson process have a standard deviation equal to their mean,
// and a share of 1/e of them is longer than it.
func TestPoissonGaps(t *testing.T) {
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
