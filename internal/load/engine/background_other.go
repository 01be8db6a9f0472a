//go:build !linux

package engine

// LowerPriority does nothing on this system: its threads have no priorities of their own.
func LowerPriority() {}

// raisePriority does nothing: only Linux supports it.
func raisePriority(int) {}

// CanRaisePriority returns false: raisePriority does nothing on this system.
func CanRaisePriority() bool { return false }

// Yield does nothing: only Linux supports it.
func Yield() {}
