package poll

import (
	"os"
	"runtime"
	"testing"
	"time"
)

func TestSecondNumberParsesStatistics(t *testing.T) {
	for text, want := range map[string]int64{
		"1 2 3\n": 2, "465379 250311 6\n": 250311, "0 0 0\n": 0, "12 9223372036 1": 9223372036,
		"": -1, "1": -1, "1 ": -1, "1 2": -1, "1  3": -1, "-1 2 3": -1, "1 x 3": -1, "1 2x 3": -1,
	} {
		n, ok := secondNumber([]byte(text))
		if !ok {
			n = -1
		}
		if n != want {
			t.Errorf("secondNumber of %q returned %d, want %d", text, n, want)
		}
	}
}

// RunDelay counts the delays of the thread that called Attach, and the count never decreases.
func TestRunDelayBelongsToTheThread(t *testing.T) {
	p, err := NewPoller(0, time.Now(), Dialer{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Release()
	s := p.(RunDelayPoller)
	if _, ok := s.RunDelay(); ok {
		t.Error("RunDelay works before Attach")
	}
	p.Attach()
	defer runtime.UnlockOSThread()
	read := func() int64 {
		text, err := os.ReadFile("/proc/thread-self/schedstat")
		if err != nil {
			t.Skipf("this system does not report run delays: %v", err)
		}
		n, ok := secondNumber(text)
		if !ok {
			t.Fatalf("the system reports invalid run delays: %q", text)
		}
		return n
	}
	for range 100 {
		before := read()
		n, ok := s.RunDelay()
		if after := read(); !ok || n < before || n > after {
			t.Fatalf("the run delay was %d before, RunDelay returned %d (%v), and the run delay was %d after", before, n, ok, after)
		}
	}
}
