//go:build !linux

package probe

// GiveBackPages does nothing on this system.
func GiveBackPages() {}
