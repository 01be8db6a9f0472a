package parts

import (
	"bytes"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
)

// Every class has room for what it is chosen for, and is not much too large.
func TestClasses(t *testing.T) {
	last := 0
	for n := 1; n < 1<<20; n += 1 + n/100 {
		k, size := classOf(n)
		if size < n || n > 1<<leastBits && 4*size > 5*n || k < last {
			t.Fatalf("%d bytes are of class %d of %d bytes, behind class %d", n, k, size, last)
		}
		if again, same := classOf(size); again != k || same != size {
			t.Fatalf("a buffer of class %d (%d bytes) is put into class %d (%d bytes)", k, size, again, same)
		}
		last = k
	}
	if k, _ := classOf(1<<mostBits - 1); k >= classes {
		t.Errorf("there is no class %d", k)
	}
}

// keep is what is kept of p when it comes in pieces.
func keep(t *testing.T, b *Budget, p []byte, piece, whole int) (kept []byte) {
	t.Helper()
	for len(p) > 0 {
		n := min(piece, len(p))
		var err error
		if kept, err = b.Append(kept, p[:n], whole); err != nil {
			t.Fatal(err)
		}
		p = p[n:]
	}
	return kept
}

func noise(n int) []byte {
	rng, p := rand.New(rand.NewPCG(1, uint64(n))), make([]byte, n)
	for i := range p {
		p[i] = byte(rng.Uint32())
	}
	return p
}

func TestWhatIsKeptIsWhatCame(t *testing.T) {
	b := New(1 << 24)
	for range 3 {
		for _, n := range []int{1, 64, 65, 1000, 300_000, 3_000_000} {
			for _, whole := range []int{0, n} {
				p := noise(n)
				kept := keep(t, b, p, 1+n/77, whole)
				if !bytes.Equal(kept, p) {
					t.Fatalf("%d bytes in pieces are not what they were", n)
				}
				b.GiveBack(kept)
				b.Turn()
			}
		}
	}
	if b.Kept() != 0 {
		t.Errorf("%d bytes are kept of nothing", b.Kept())
	}
}

func TestFillTakesWhatIsWanted(t *testing.T) {
	b := New(1 << 20)
	kept, rest, err := b.Fill(nil, []byte("abc"), 5, 5)
	if err != nil || string(kept) != "abc" || len(rest) > 0 {
		t.Fatalf("%q, %q, %v", kept, rest, err)
	}
	kept, rest, err = b.Fill(kept, []byte("defgh"), 5, 5)
	if err != nil || string(kept) != "abcde" || string(rest) != "fgh" {
		t.Fatalf("%q, %q, %v", kept, rest, err)
	}
}

// A length is an error as soon as it is announced, before anything is kept.
func TestTooLongIsKnownAtOnce(t *testing.T) {
	b := New(1 << 20)
	if err := b.Fits(1 << 20); err != nil {
		t.Error(err)
	}
	kept, err := b.Append(nil, []byte("x"), 1<<20+1)
	if err == nil || !strings.Contains(err.Error(), "1048577 bytes, and more than 1048576") || kept != nil || b.Size() != 0 {
		t.Errorf("%v; %d bytes are kept of it", err, b.Size())
	}
}

// A long length that was announced is not believed before much has come, and
// then room for all of it is made at once.
func TestAnnouncedLengthsAreBelievedLate(t *testing.T) {
	b := New(1 << 30)
	kept := keep(t, b, noise(64<<10), 64<<10, 500<<20)
	if b.Kept() > 128<<10 {
		t.Errorf("%d bytes are kept of 64 KiB", b.Kept())
	}
	var err error
	sizes := map[int]bool{}
	for p := noise(64 << 10); len(kept) < 64<<20; sizes[cap(kept)] = true {
		if kept, err = b.Append(kept, p, 64<<20); err != nil {
			t.Fatal(err)
		}
		if len(kept) < believed && cap(kept) > 2*believed {
			t.Fatalf("room for %d bytes was made when %d had come", cap(kept), len(kept))
		}
	}
	if cap(kept) != 64<<20 || len(sizes) > 6 {
		t.Errorf("it was kept in buffers of %v bytes, the last of %d", sizes, cap(kept))
	}
	if b := New(1 << 30); cap(keep(t, b, []byte("x"), 1, 200_000)) < 200_000 {
		t.Error("room for a short answer is not made at once")
	}
}

// All connections together keep no more than the bound, and what one gives back
// is there for the others.
func TestTheBoundIsForAll(t *testing.T) {
	const limit = 1 << 20
	b := New(limit)
	var kept [3][]byte
	p, err := noise(10_000), error(nil)
	for i := 0; err == nil; i = (i + 1) % len(kept) {
		kept[i], err = b.Append(kept[i], p, 0)
		if b.Kept() > limit*5/4 || b.Size() > limit*5/4*3 {
			t.Fatalf("%d bytes are lent and %d in all", b.Kept(), b.Size())
		}
	}
	if all := len(kept[0]) + len(kept[1]) + len(kept[2]); all < limit/3 || !strings.Contains(err.Error(), "1048576 bytes that are not whole") {
		t.Errorf("after %d bytes: %v", all, err)
	}
	for i := range kept {
		b.GiveBack(kept[i])
		kept[i] = nil
	}
	if b.Kept() != 0 {
		t.Errorf("%d bytes are lent and nobody has them", b.Kept())
	}
	keep(t, b, noise(limit-1000), 64<<10, 0)
}

// What was given back is read until the next turn, and used again after it.
func TestAnswersOutliveTheirBuffers(t *testing.T) {
	b := New(1 << 20)
	first := keep(t, b, []byte("first answer"), 3, 0)
	b.GiveBack(first)
	second := keep(t, b, []byte("other answer"), 3, 0)
	if string(first) != "first answer" {
		t.Errorf("an answer became %q while it was read", first)
	}
	b.GiveBack(second)
	b.Turn()
	size := b.Size()
	for range 100 {
		b.GiveBack(keep(t, b, []byte("next answer"), 3, 0))
		b.Turn()
	}
	if b.Size() != size {
		t.Errorf("%d bytes of buffers became %d", size, b.Size())
	}
}

// Lists that grow with each answer leave no buffer of every length behind.
func TestWhatIsIdleIsBounded(t *testing.T) {
	b := New(1 << 30)
	for n := 2 << 20; n < 8<<20; n += 50_000 {
		kept, err := b.Append(nil, make([]byte, n), n)
		if err != nil {
			t.Fatal(err)
		}
		b.GiveBack(kept)
		b.Turn()
		if b.Size() > 3*n {
			t.Fatalf("%d bytes of buffers behind an answer of %d", b.Size(), n)
		}
	}
}

// Whoever begins answers and ends none, again and again, makes no garbage.
func TestLostAnswersLeaveNoGarbage(t *testing.T) {
	b := New(8 << 20)
	p := noise(64 << 10)
	var kept [4][]byte
	turns := []int{1, 16}
	attack := func(times int) {
		for lost := 0; lost < times; {
			for i := range kept {
				for range turns[lost%len(turns)] { // as much of one as a turn of the loop reads
					var err error
					if kept[i], err = b.Append(kept[i], p, 0); err != nil {
						b.GiveBack(kept[i])
						kept[i] = nil
						lost++
						break
					}
					b.Turn()
				}
			}
		}
	}
	attack(100)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	attack(200)
	runtime.ReadMemStats(&after)
	if made := after.TotalAlloc - before.TotalAlloc; made > 10<<20 {
		t.Errorf("%d MiB of buffers were made for 200 answers that were lost", made>>20)
	}
	if size := b.Size(); size > 8<<20*15/4 {
		t.Errorf("there are %d MiB of buffers", size>>20)
	}
}
