package null

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func parse(t *testing.T, text string) *Script {
	t.Helper()
	s, err := Parse(text, []string{"unavailable", "no_leader"})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestStallArithmetic computes the effect of a stall on all operations that were due. A load
// generator must find these results if it keeps to its schedule. If it delays its operations during
// the stall instead ("coordinated omission"), it finds shorter times.
func TestStallArithmetic(t *testing.T) {
	s := parse(t, "stall=1s@4s")
	waits := make([]time.Duration, 10_000)
	stalled := 0
	for i := range waits {
		arrival := time.Duration(i) * time.Millisecond
		waits[i] = s.Decide(uint64(i+1), 1, arrival).At - arrival
		if waits[i] > 0 {
			stalled++
			if want := 5*time.Second - arrival; waits[i] != want {
				t.Fatalf("an operation that arrives at %s waits %s, want %s", arrival, waits[i], want)
			}
		}
	}
	slices.Sort(waits)
	if stalled != 1000 {
		t.Errorf("%d operations stalled, want 1000", stalled)
	}
	// By the nearest-rank method, p95 is the 9,500th and p99 the 9,900th of 10,000 values.
	if p95, p99 := waits[9499], waits[9899]; p95 != 500*time.Millisecond || p99 != 900*time.Millisecond {
		t.Errorf("p95 %s, p99 %s; want 0.5 s and 0.9 s", p95, p99)
	}
}

func TestStallDelaysDueResponses(t *testing.T) {
	ms := time.Millisecond
	for _, c := range []struct {
		name, text  string
		arrival, at time.Duration
	}{
		{"before", "stall=100ms@1s", 999 * ms, 999 * ms},
		{"first moment", "stall=100ms@1s", 1000 * ms, 1100 * ms},
		{"last moment", "stall=100ms@1s", 1099 * ms, 1100 * ms},
		{"after", "stall=100ms@1s", 1100 * ms, 1100 * ms},
		{"arrived before, due inside", "delay=5ms; stall=100ms@1s", 996 * ms, 1100 * ms},
		{"arrived inside, due after", "delay=5ms; stall=100ms@1s", 1099 * ms, 1104 * ms},
		{"two", "stall=100ms@2s; stall=100ms@1s", 2050 * ms, 2100 * ms},
		{"touching", "stall=100ms@1100ms; stall=100ms@1s", 1050 * ms, 1200 * ms},
		{"overlapping", "stall=100ms@1s; stall=100ms@1050ms", 1010 * ms, 1150 * ms},
		{"nested", "stall=1s@1s; stall=100ms@1500ms", 1550 * ms, 2000 * ms},
		{"at the start", "stall=1s@0s", 0, 1000 * ms},
	} {
		t.Run(c.name, func(t *testing.T) {
			if at := parse(t, c.text).Decide(1, 1, c.arrival).At; at != c.at {
				t.Errorf("the response is due at %s, want %s", at, c.at)
			}
		})
	}
}

func TestDelays(t *testing.T) {
	const n = 200_000
	for _, c := range []struct {
		text           string
		low, high, avg time.Duration
	}{
		{"delay=2ms", 2 * time.Millisecond, 2 * time.Millisecond, 2 * time.Millisecond},
		{"delay=uniform(1ms,5ms); seed=3", time.Millisecond, 5 * time.Millisecond, 3 * time.Millisecond},
		{"delay=exponential(2ms); seed=9", 0, time.Second, 2 * time.Millisecond},
		{"delay=1ms; delay=101ms every 100", time.Millisecond, 101 * time.Millisecond, 2 * time.Millisecond},
	} {
		s := parse(t, c.text)
		var sum time.Duration
		for i := uint64(1); i <= n; i++ {
			d := s.Decide(i, 1, 0).At
			if d < c.low || d > c.high {
				t.Fatalf("%s: operation %d is delayed by %s", c.text, i, d)
			}
			sum += d
		}
		// 5 standard errors of the mean of an exponential distribution
		if off := math.Abs(float64(sum)/n - float64(c.avg)); off > 5*float64(c.avg)/math.Sqrt(n) {
			t.Errorf("%s: mean delay %s, want %s", c.text, sum/n, c.avg)
		}
	}
}

func TestRules(t *testing.T) {
	s := parse(t, "error=no_leader every 10; never every 4; wrong=key every 5; delay=1ms")
	got := map[Kind]int{}
	for n := uint64(1); n <= 1000; n++ {
		a := s.Decide(n, 1, time.Second)
		got[a.Kind]++
		if a.At != time.Second+time.Millisecond || (a.Kind == Error) != (a.Name == "no_leader") {
			t.Fatalf("operation %d: %+v", n, a)
		}
	}
	// Operations whose number is a multiple of 20 get an error, and other multiples of 4 get no
	// response. The multiples of 5 that are not multiples of 10 are odd, so none of them is a
	// multiple of 4.
	want := map[Kind]int{Error: 100, Never: 200, WrongKey: 100, CorrectResponse: 600}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestDecisionsDoNotDependOnTheOrderOfCalls checks that a decision does not depend on the order of
// calls. So two runs with the same arrivals get the same actions.
func TestDecisionsDoNotDependOnTheOrderOfCalls(t *testing.T) {
	const text = "seed=5; delay=exponential(3ms); stall=1s@2s; error=unavailable every 7; never every 11"
	a, b := parse(t, text), parse(t, text)
	arrival := func(n uint64) time.Duration { return time.Duration(n) * 3 * time.Millisecond }
	var forward []Action
	for n := uint64(1); n <= 2000; n++ {
		forward = append(forward, a.Decide(n, 1, arrival(n)))
	}
	for n := uint64(2000); n >= 1; n-- {
		if got := b.Decide(n, 1, arrival(n)); got != forward[n-1] {
			t.Fatalf("operation %d: Decide returned %+v, but in the other order of calls %+v", n, got, forward[n-1])
		}
	}
	other := parse(t, "seed=6; delay=exponential(3ms)")
	if other.Decide(1, 1, 0) == parse(t, "seed=5; delay=exponential(3ms)").Decide(1, 1, 0) {
		t.Error("two seeds give the same decision")
	}
}

func TestRunCountsFromTheFirstOperation(t *testing.T) {
	clock := int64(5_000_000_000) // a clock controlled by the test, far from zero
	run := NewRun(parse(t, "delay=1ms; stall=1s@1s; error=unavailable every 3"))
	type result struct {
		Kind  Kind
		Due   int64
		First bool
	}
	var got []result
	for _, step := range []int64{0, 500_000_000, 1_500_000_000, 3_000_000_000} {
		a, due, first := run.Arrive(clock+step, 1)
		got = append(got, result{a.Kind, due - clock, first})
	}
	want := []result{
		{CorrectResponse, 1_000_000, true},
		{CorrectResponse, 501_000_000, false},
		{Error, 2_000_000_000, false},
		{CorrectResponse, 3_001_000_000, false},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestDecideDoesNotAllocate(t *testing.T) {
	s := parse(t, "delay=uniform(1ms,2ms); stall=1s@4s; error=unavailable every 100")
	var n uint64
	if allocs := testing.AllocsPerRun(1000, func() { n++; s.Decide(n, 1, time.Duration(n)) }); allocs != 0 {
		t.Errorf("one decision makes %v allocations", allocs)
	}
}

// TestDelayOnAMember checks that a member's delay applies only to that member. One of the delays
// also has an "every N".
func TestDelayOnAMember(t *testing.T) {
	s := parse(t, "delay=1ms; delay=20ms on m2; delay=50ms every 10 on m3")
	for n := uint64(1); n <= 20; n++ {
		for member, want := range []time.Duration{1: 1, 2: 20, 3: 1, 4: 1} {
			if member == 3 && n%10 == 0 {
				want = 50
			}
			if got := s.Decide(n, member, time.Second).At; member > 0 && got != time.Second+want*time.Millisecond {
				t.Errorf("operation %d at member %d gets its response at %v", n, member, got)
			}
		}
	}
}
