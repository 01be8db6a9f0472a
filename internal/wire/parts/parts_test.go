package parts

import (
	"bytes"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
)

// TestClasses checks that a buffer of the chosen class has at least the needed size and is at most
// a quarter larger.
func TestClasses(t *testing.T) {
	last := 0
	for n := 1; n < 1<<20; n += 1 + n/100 {
		k, size := classOf(n)
		if size < n || n > 1<<minBits && 4*size > 5*n || k < last {
			t.Fatalf("%d bytes have class %d with buffers of %d bytes, after class %d", n, k, size, last)
		}
		if again, same := classOf(size); again != k || same != size {
			t.Fatalf("a buffer of class %d (%d bytes) belongs to class %d (%d bytes)", k, size, again, same)
		}
		last = k
	}
	if k, _ := classOf(1<<maxBits - 1); k >= classes {
		t.Errorf("the largest buffer has class %d, which does not exist", k)
	}
}

// keep appends p to a buffer in pieces and returns the buffer.
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

func TestAppendKeepsContents(t *testing.T) {
	b := New(1 << 24)
	for range 3 {
		for _, n := range []int{1, 64, 65, 1000, 300_000, 3_000_000} {
			for _, whole := range []int{0, n} {
				p := noise(n)
				kept := keep(t, b, p, 1+n/77, whole)
				if !bytes.Equal(kept, p) {
					t.Fatalf("%d bytes in pieces: the contents differ", n)
				}
				b.Release(kept)
				b.Recycle()
			}
		}
	}
	if b.LentBytes() != 0 {
		t.Errorf("%d bytes are lent after all buffers were returned", b.LentBytes())
	}
}

func TestFillStopsAtLength(t *testing.T) {
	b := New(1 << 20)
	kept, rest, err := b.Fill(nil, []byte("abc"), 5, 5)
	if err != nil || string(kept) != "abc" || len(rest) > 0 {
		t.Fatalf("Fill kept %q and left %q, error %v", kept, rest, err)
	}
	kept, rest, err = b.Fill(kept, []byte("defgh"), 5, 5)
	if err != nil || string(kept) != "abcde" || string(rest) != "fgh" {
		t.Fatalf("Fill kept %q and left %q, error %v", kept, rest, err)
	}
}

// A response that is too long must be rejected when the server announces its length, before any
// byte is buffered.
func TestTooLongIsRejectedAtAnnouncement(t *testing.T) {
	b := New(1 << 20)
	if err := b.CheckSize(1 << 20); err != nil {
		t.Error(err)
	}
	kept, err := b.Append(nil, []byte("x"), 1<<20+1)
	if err == nil || !strings.Contains(err.Error(), "1048577 bytes, but at most 1048576") || kept != nil || b.Size() != 0 {
		t.Errorf("the error is %v, and %d bytes are buffered", err, b.Size())
	}
}

// If a long length was announced, the whole buffer must be allocated at once, but only after
// trustedAfter bytes have arrived.
func TestLongAnnouncedLengthIsAllocatedLate(t *testing.T) {
	b := New(1 << 30)
	kept := keep(t, b, noise(64<<10), 64<<10, 500<<20)
	if b.LentBytes() > 128<<10 {
		t.Errorf("a response of 64 KiB has a buffer of %d bytes", b.LentBytes())
	}
	var err error
	sizes := map[int]bool{}
	for p := noise(64 << 10); len(kept) < 64<<20; sizes[cap(kept)] = true {
		if kept, err = b.Append(kept, p, 64<<20); err != nil {
			t.Fatal(err)
		}
		if len(kept) < trustedAfter && cap(kept) > 2*trustedAfter {
			t.Fatalf("a buffer of %d bytes was allocated when only %d bytes had arrived", cap(kept), len(kept))
		}
	}
	if cap(kept) != 64<<20 || len(sizes) > 6 {
		t.Errorf("the buffers had %v bytes, the last one %d", sizes, cap(kept))
	}
	if b := New(1 << 30); cap(keep(t, b, []byte("x"), 1, 200_000)) < 200_000 {
		t.Error("the buffer of a short response is not allocated as a whole")
	}
}

// All connections that share a budget must together stay within the limit. A buffer that one
// connection returns must be available to the others.
func TestLimitIsShared(t *testing.T) {
	const limit = 1 << 20
	b := New(limit)
	var kept [3][]byte
	p, err := noise(10_000), error(nil)
	for i := 0; err == nil; i = (i + 1) % len(kept) {
		kept[i], err = b.Append(kept[i], p, 0)
		if b.LentBytes() > limit*5/4 || b.Size() > limit*5/4*3 {
			t.Fatalf("%d bytes are lent and %d in all", b.LentBytes(), b.Size())
		}
	}
	if all := len(kept[0]) + len(kept[1]) + len(kept[2]); all < limit/3 || !strings.Contains(err.Error(), "limit of 1048576 bytes") {
		t.Errorf("after %d bytes: %v", all, err)
	}
	for i := range kept {
		b.Release(kept[i])
		kept[i] = nil
	}
	if b.LentBytes() != 0 {
		t.Errorf("%d bytes are lent after all buffers were returned", b.LentBytes())
	}
	keep(t, b, noise(limit-1000), 64<<10, 0)
}

// A returned buffer must stay readable until the next Recycle, and must be reused after it.
func TestReturnedBufferIsReadableUntilRecycle(t *testing.T) {
	b := New(1 << 20)
	first := keep(t, b, []byte("first answer"), 3, 0)
	b.Release(first)
	second := keep(t, b, []byte("other answer"), 3, 0)
	if string(first) != "first answer" {
		t.Errorf("a response became %q before Turn", first)
	}
	b.Release(second)
	b.Recycle()
	size := b.Size()
	for range 100 {
		b.Release(keep(t, b, []byte("next answer"), 3, 0))
		b.Recycle()
	}
	if b.Size() != size {
		t.Errorf("the buffers had %d bytes and now have %d", size, b.Size())
	}
}

// If each response is longer than the previous one, the budget must not keep a free buffer for
// every length.
func TestFreeBuffersAreBounded(t *testing.T) {
	b := New(1 << 30)
	for n := 2 << 20; n < 8<<20; n += 50_000 {
		kept, err := b.Append(nil, make([]byte, n), n)
		if err != nil {
			t.Fatal(err)
		}
		b.Release(kept)
		b.Recycle()
		if b.Size() > 3*n {
			t.Fatalf("the buffers have %d bytes after a response of %d bytes", b.Size(), n)
		}
	}
}

// A server that repeatedly starts responses without completing any must not cause garbage.
func TestLostResponsesLeaveNoGarbage(t *testing.T) {
	b := New(8 << 20)
	p := noise(64 << 10)
	var kept [4][]byte
	turns := []int{1, 16}
	attack := func(times int) {
		for lost := 0; lost < times; {
			for i := range kept {
				for range turns[lost%len(turns)] { // the bytes read in one turn
					var err error
					if kept[i], err = b.Append(kept[i], p, 0); err != nil {
						b.Release(kept[i])
						kept[i] = nil
						lost++
						break
					}
					b.Recycle()
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
		t.Errorf("200 lost responses allocated %d MiB of buffers", made>>20)
	}
	if size := b.Size(); size > 8<<20*15/4 {
		t.Errorf("the buffers have %d MiB", size>>20)
	}
}
