//go:build !linux

package engine

// LowerPriority does nothing: it is implemented only for Linux.
func LowerPriority() {}

// raisePriority does nothing: it is implemented only for Linux.
func raisePriority(int) {}

// CanRaisePriority returns false: raisePriority does nothing on this system.
func CanRaisePriority() bool { return false }

// Yield does nothing: it is implemented only for Linux.
func Yield() {}
