//go:build !linux

package engine

// Background lowers the priority of the calling goroutine on systems where threads have
// priorities.
func Background() {}

// raisePriority raises the priority of a thread on Linux only.
func raisePriority(int) {}

// MayPrefer reports whether the process may raise the priority of a loop.
func MayPrefer() bool { return false }

// Yield lets other threads run first on Linux only.
func Yield() {}
