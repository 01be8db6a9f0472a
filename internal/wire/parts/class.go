package parts

import "math/bits"

// Buffers exist only in certain sizes, called classes, so that a returned buffer can be reused for
// another response of similar length. Between each power of two and the next one there are four
// classes, so a buffer is at most a quarter larger than needed.
const (
	minBits = 6 // the smallest class has 64 bytes
	maxBits = 48
	classes = (maxBits-minBits)*4 + 1
)

// classOf returns the smallest class k whose buffers have at least n bytes, and the size of its
// buffers in bytes.
func classOf(n int) (k, size int) {
	if n <= 1<<minBits {
		return 0, 1 << minBits
	}
	below := bits.Len(uint(n-1)) - 1 // 1<<below < n <= 2<<below
	quarter := 1 << below / 4
	over := (n-1-1<<below)/quarter + 1 // 1 to 4
	return (below-minBits)*4 + over, 1<<below + over*quarter
}
