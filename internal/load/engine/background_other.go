//go:build !linux

package engine

// LowerPriority lowers the priority of the calling goroutine on systems where threads have
// priorities.
func LowerPriority() {}

// raisePriority raises the priority of a thread on Linux only.
func raisePriority(int) {}

// CanRaisePriority reports whether the process may raise the priority of a loop.
func CanRaisePriority() bool { return false }

// Yield lets other threads run first on Linux only.
func Yield() {}
