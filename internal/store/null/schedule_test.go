package null

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// TestOrder checks that Next returns every item exactly once and not before it is due. Items must
// be in the order of their times; items with equal times must be in the order in which they were
// added.
func TestOrder(t *testing.T) {
	const n, most = 2000, 7
	clock := settle.NewClock()
	s := NewSchedule[int](clock, most)
	random := rand.New(rand.NewPCG(1, 2))
	due := make([]int64, n)
	for i := 0; i < n; {
		var items []Item[int]
		for range min(1+random.IntN(5), n-i) {
			due[i] = clock.Now() + int64(random.IntN(50))
			items = append(items, Item[int]{due[i], i})
			i++
		}
		s.Add(items...)
	}
	want := make([]int, n)
	for i := range want {
		want[i] = i
	}
	slices.SortStableFunc(want, func(a, b int) int { return int(due[a] - due[b]) })
	var got, batch []int
	for len(got) < n {
		if next := due[want[len(got)]]; next > clock.Now() {
			clock.Advance(next - clock.Now())
		}
		var ok bool
		if batch, ok = s.Next(batch[:0]); !ok || len(batch) > most {
			t.Fatalf("Next returned %d entries at once, %v", len(batch), ok)
		}
		for _, i := range batch {
			if due[i] > clock.Now() {
				t.Fatalf("entry %d was due at %d but was returned at %d", i, due[i], clock.Now())
			}
		}
		got = append(got, batch...)
	}
	if !slices.Equal(got, want) {
		t.Error("the entries were returned in another order")
	}
}

// TestWaitingNextReturns checks that a waiting Next returns in two cases: an item is added that is
// due before all other items, or the schedule is stopped.
func TestWaitingNextReturns(t *testing.T) {
	for name, newClock := range map[string]func() (Clock, func(int64)){
		"simulated": func() (Clock, func(int64)) {
			c := settle.NewClock()
			return c, c.Advance
		},
		"real": func() (Clock, func(int64)) {
			c, err := NewClock()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(c.Close)
			return c, func(int64) {}
		},
	} {
		clock, advance := newClock()
		s := NewSchedule[string](clock, 10)
		s.Add()
		s.Add(Item[string]{clock.Now() + 3_600_000_000_000, "in an hour"})
		got := make(chan []string, 2) // buffered, so that sends never block
		woken := func() ([]string, bool) {
			t.Helper()
			select {
			case next, more := <-got:
				return next, more
			case <-time.After(2 * time.Minute):
				t.Fatalf("%s: Next did not wake", name)
				return nil, false
			}
		}
		go func() {
			for {
				next, ok := s.Next(nil)
				if !ok {
					close(got)
					return
				}
				got <- next
			}
		}()
		s.Add(Item[string]{clock.Now() + 1_000_000, "soon"})
		advance(1_000_000)
		if next, _ := woken(); len(next) != 1 || next[0] != "soon" {
			t.Errorf("%s: %q", name, next)
		}
		s.Stop()
		if next, more := woken(); more {
			t.Errorf("%s: Next returned %q after the end", name, next)
		}
	}
}

// TestAddAndNextDoNotAllocate checks that a schedule that has reached its maximum size allocates no
// memory.
func TestAddAndNextDoNotAllocate(t *testing.T) {
	s := NewSchedule[*int](settle.NewClock(), 8)
	what := new(int)
	var to []*int
	turn := func() {
		s.Add(Item[*int]{1, what})
		s.Add(Item[*int]{2, what})
		if to, _ = s.Next(to[:0]); len(to) != 2 {
			t.Fatal(len(to))
		}
	}
	turn()
	if n := testing.AllocsPerRun(100, turn); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
