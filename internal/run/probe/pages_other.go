//go:build !linux

package probe

// GiveBackPages does nothing here.
func GiveBackPages() {}
