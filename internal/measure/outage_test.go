package measure

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// pulse returns the pulse for a window with the given number of seconds. The iterator `times`
// yields the time of each operation in nanoseconds.
func pulse(seconds int, times func(yield func(ns int64) bool)) *Pulse {
	all := make([]Second, seconds)
	for i := range all {
		all[i].Index = i
	}
	for ns := range times {
		if i := int(ns / 1e9); i < seconds {
			all[i].Alive.Add(ns % 1e9)
		}
	}
	p := &Pulse{}
	for i := range all {
		p.add(all[i].Index, &all[i].Alive)
	}
	return p
}

// steady generates operations with random gaps that average `mean`. From the time `from` to the
// time from+length, no operations occur. Between from-slope and `from`, operations gradually become
// less frequent.
func steady(r *rand.Rand, mean, from, length, slope float64, until int64) func(func(int64) bool) {
	return func(yield func(int64) bool) {
		for at := 0.0; int64(at) < until; at += mean * r.ExpFloat64() {
			if at >= from && at < from+length || at >= from-slope && at < from && r.Float64() < (at-from+slope)/slope {
				continue
			}
			if !yield(int64(at)) {
				return
			}
		}
	}
}

// times returns the factor by which a test multiplies its number of windows. CI uses a factor of 1;
// a higher factor takes more time than CI has.
func times(t *testing.T) uint64 {
	t.Helper()
	text := os.Getenv("QUORUMBENCH_OUTAGES")
	if text == "" {
		return 1
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 {
		t.Fatalf("QUORUMBENCH_OUTAGES is %q", text)
	}
	return n
}

// An outage of 3 to 3,000 ms, abrupt or gradual, is measured with an error of at most 10 ms. If
// there was no outage, none is reported.
func TestOutagesAreMeasured(t *testing.T) {
	settle.SkipUnderRace(t)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 30 * times(t) {
		length := float64(3+r.IntN(2998)) * 1e6
		slope := 0.0
		if i%2 == 1 {
			slope = 20e6
		}
		from := (5 + r.Float64()) * 1e9
		p := pulse(12, steady(r, 50e3, from, length, slope, 12e9))
		fault := int(from/1e6) - int(slope/1e6)
		got, before, ok := p.Outage(0, fault, 12_000)
		if off := float64(got.Length()) - length/1e6; !ok || off < -10 || off > 10 || slope == 0 && (off < -2 || off > 2) {
			t.Errorf("an outage of %.1f ms (slope %g ms) is reported as %v, %d ms long, with a longest gap of %d ms before it", length/1e6, slope/1e6, ok, got.Length(), before.Length())
		}
	}
}

func TestFindsNoOutageWithoutOne(t *testing.T) {
	settle.SkipUnderRace(t)
	// mean gap in nanoseconds
	for mean, runs := range map[float64]uint64{100e3: 10, 1e6: 200, 10e6: 200} {
		runs *= times(t)
		wrong := uint64(0)
		for seed := range runs {
			p := pulse(10, steady(rand.New(rand.NewPCG(seed, 3)), mean, -1, 0, 0, 10e9))
			if _, _, ok := p.Outage(0, 5000, 10_000); ok {
				wrong++
			}
		}
		if wrong > runs/200 {
			t.Errorf("an outage is reported in %d of %d windows without an outage, at a mean gap of %g ms", wrong, runs, mean/1e6)
		}
	}
}

// If no operation is done from the fault until the end of the window, this gap is an outage that
// ends with the window. If no operation was done before the fault, no outage is reported, because
// no earlier gaps exist for comparison.
func TestOutageAtTheEdges(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	p := pulse(10, steady(r, 50e3, 6e9, 60e9, 0, 10e9))
	if got, _, ok := p.Outage(0, 6000, 10_000); !ok || got.To != 10_000 || got.From < 5999 || got.From > 6001 {
		t.Errorf("an outage until the end of the window is reported as %v, %v", got, ok)
	}
	// an outage before the time `since` is not used for comparison
	p = pulse(10, steady(r, 50e3, 2e9, 1e9, 0, 10e9))
	if _, before, _ := p.Outage(3000, 6000, 10_000); before.Length() > 1 {
		t.Errorf("the longest gap before the outage is %v", before)
	}
	if _, _, ok := (&Pulse{}).Outage(0, 0, 1000); ok {
		t.Error("a window without operations has an outage")
	}
}
