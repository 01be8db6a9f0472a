//go:build !linux

package engine

// Background makes the calling goroutine give way to the loops, where the
// system has priorities of threads.
func Background() {}

// prefer is for Linux, where threads have priorities.
func prefer(int) {}

// MayPrefer reports whether a loop has a higher priority.
func MayPrefer() bool { return false }

// Yield is for Linux, where many workers may be on few processors.
func Yield() {}
