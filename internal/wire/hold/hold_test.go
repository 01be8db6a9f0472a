package hold

import (
	"math/rand/v2"
	"testing"
)

// Whatever comes and goes, what is counted is the sum of the large ones, never
// above the limit, and nothing is left at the end.
func TestBudgetBalances(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	b := &Budget{}
	var sizes [20]int
	for range 100_000 {
		i := rng.IntN(len(sizes))
		if rng.IntN(4) == 0 {
			b.Release(sizes[i])
			sizes[i] = 0
		} else if to := sizes[i] + rng.IntN(4<<20); b.Grow(sizes[i], to) {
			sizes[i] = to
		}
		sum := 0
		for _, n := range sizes {
			if n > Small {
				sum += n
			}
		}
		if sum != b.Used() || sum > MaxLarge {
			t.Fatalf("%d bytes are counted, and there are %d", b.Used(), sum)
		}
	}
	for _, n := range sizes {
		b.Release(n)
	}
	if b.Used() != 0 {
		t.Errorf("%d bytes are left", b.Used())
	}
}

func TestTheLongestAnswer(t *testing.T) {
	b := &Budget{}
	if !b.Grow(0, MaxLarge) || b.Grow(0, Small+1) || !b.Grow(0, Small) {
		t.Error("the limit is not where it is said to be")
	}
	if (*Budget)(nil).Grow(0, 1<<40) != true {
		t.Error("nobody counts, and it is too much")
	}
}

// What is only announced takes no memory.
func TestRoomIsNotMadeOnAWord(t *testing.T) {
	b := &Budget{}
	p, counted, ok := b.Room(make([]byte, 100, 200), 200, MaxLarge, 0)
	if cap(p) > 400 || counted != 0 || !ok {
		t.Errorf("%d bytes for 300, %d counted", cap(p), counted)
	}
	p, counted, ok = b.Room(make([]byte, Small), 1, MaxLarge, 0)
	if cap(p) != MaxLarge || len(p) != Small || counted != MaxLarge || !ok {
		t.Errorf("%d bytes for an answer that goes on, %d counted", cap(p), counted)
	}
	if _, _, ok := b.Room(make([]byte, Small), 1, Small+1, 0); ok {
		t.Error("another one is taken")
	}
}

// What one answer leaves, the next one takes.
func TestBuffersAreUsedAgain(t *testing.T) {
	b := &Budget{}
	p, counted, _ := b.Room(make([]byte, Small), 1, MaxLarge, 0)
	b.Release(counted)
	b.Put(p)
	if n := testing.AllocsPerRun(10, func() {
		q, counted, ok := b.Room(p[:Small:Small], 1, MaxLarge-10, 0)
		if !ok || cap(q) != MaxLarge-10 {
			t.Fatal("no room")
		}
		b.Release(counted)
		b.Put(q[:0:cap(q)])
		p = q
	}); n > 1 {
		t.Errorf("%v allocations", n)
	}
}
