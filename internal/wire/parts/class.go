package parts

import "math/bits"

// Buffers have one of a few sizes (classes), so that a returned buffer can be reused for a similar
// length. Each doubling has four classes, so a buffer is at most a quarter larger than needed.
const (
	leastBits = 6 // the smallest class: 64 bytes
	mostBits  = 48
	classes   = (mostBits-leastBits)*4 + 1
)

// classOf returns the smallest class with at least n bytes, and its size in bytes.
func classOf(n int) (k, size int) {
	if n <= 1<<leastBits {
		return 0, 1 << leastBits
	}
	below := bits.Len(uint(n-1)) - 1 // 1<<below < n <= 2<<below
	quarter := 1 << below / 4
	over := (n-1-1<<below)/quarter + 1 // 1 to 4
	return (below-leastBits)*4 + over, 1<<below + over*quarter
}
