package engine

import (
	"math"
	"testing"

	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

func TestSteadyComparesSlots(t *testing.T) {
	for name, c := range map[string]struct {
		done []uint64
		want bool
	}{
		"too early":                  {[]uint64{9000, 9000, 9000, 9000, 9000, 9000, 9000}, false},
		"the same":                   {[]uint64{9000, 9000, 9000, 9000, 9000, 9000, 9000, 9000}, true},
		"rising":                     {[]uint64{5000, 6000, 7000, 8000, 9000, 9500, 10_000, 10_500}, false},
		"risen before":               {[]uint64{1, 2, 3, 4, 5, 9000, 9500, 9000, 9500, 9300, 9200, 9400, 9100}, true},
		"falling":                    {[]uint64{9000, 9000, 9000, 9000, 8000, 8000, 7500, 8000}, false},
		"few, and as many":           {[]uint64{3, 1, 2, 3, 1, 2, 2, 4}, true},
		"few, and then many":         {[]uint64{3, 1, 2, 3, 10, 12, 20, 24}, false},
		"nothing done":               {[]uint64{0, 0, 0, 0, 0, 0, 0, 0}, false},
		"one slot stands for others": {[]uint64{9000, 9000, 9000, 9000, 0, 12_000, 12_000, 12_000}, true},
	} {
		if got := isSteady(c.done); got != c.want {
			t.Errorf("%s: steady is %v", name, got)
		}
	}
}

// warmsUp returns a bench whose server gets faster: at first it takes 5 ms per operation. This time
// falls steadily to 1 ms until `colder` nanoseconds have passed.
func warmsUp(colder int64, duration, most int64) *bench {
	warmup := warm(closed(duration))
	warmup.MaxDuration = most
	b := newBench(4, 40, warmup, closed(secondNS))
	b.serve = func(s *sim, conn int, request []byte) {
		cold := math.Max(0, 1-float64(s.now-2e9)/float64(colder))
		s.reply(conn, s.wire+millisecond+int64(cold*4*millisecond), reply(request, 0))
	}
	return b
}

// A warm-up continues until throughput is steady, up to its maximum length. If throughput is steady
// from the beginning, the warm-up has exactly the requested length.
func TestWarmupEndsWhenItIsSteady(t *testing.T) {
	settle.SkipUnderRace(t)
	for name, c := range map[string]struct {
		colder, duration, most int64
		least, longest         float64 // seconds
		steady                 bool
	}{
		"warm already":       {1, 2 * secondNS, 10 * secondNS, 2, 2, true},
		"warm, and longer":   {1, 5 * secondNS, 15 * secondNS, 5, 5, true},
		"cold for 5 s":       {5 * secondNS, 2 * secondNS, 10 * secondNS, 5.5, 7.5, true},
		"cold for longer":    {60 * secondNS, 200 * millisecond, secondNS, 0.2, 0.2, true}, // the server's change is too slow to be detected in such a short warm-up
		"cold up to its end": {5 * secondNS, 2 * secondNS, 4 * secondNS, 4, 4, false},
	} {
		b := warmsUp(c.colder, c.duration, c.most).run(t)
		took := float64(b.res.WindowStart-b.res.LoadStart) / 1e9
		if took < c.least || took > c.longest || b.res.WarmupSteady != c.steady {
			t.Errorf("%s: the warm-up took %v s, and WarmupSteady is %v", name, took, b.res.WarmupSteady)
		}
		near(t, "the length of the window", b.totals.Seconds, 1, 0)
		seconds := 0.0
		for _, s := range b.each {
			if s.Phase == 0 {
				seconds += float64(s.Length) / 1e9
			}
		}
		near(t, "the length of the warm-up in seconds", seconds, took, 1e-9)
	}
}
