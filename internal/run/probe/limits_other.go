//go:build !linux

package probe

// memory returns unknown sizes.
func memory() (usable, swap int64) { return -1, -1 }
