package replay

import (
	"fmt"
	"testing"
)

// Memory does not grow even if two responses are pending at all times.
func TestPendingListsDoNotGrow(t *testing.T) {
	var h responseKeys
	key := func(n uint32) string { return fmt.Sprintf("key-%05d", n) }
	for n := uint32(1); n < 1000; n++ {
		h.Begin(n)
		h.Add(n, []byte("other"), nil, 7)
		h.Add(n, []byte("p/"+key(n)), nil, int64(n))
		if got := h.version(n-1, "p/", []byte(key(n-1))); n > 1 && got != int64(n-1) {
			t.Fatalf("key %d has version %d", n-1, got)
		}
		h.drop(n - 1)
	}
	if len(h.bytes) > 100 || len(h.keys) != 2 {
		t.Errorf("%d bytes of %d keys are still held", len(h.bytes), len(h.keys))
	}
}
