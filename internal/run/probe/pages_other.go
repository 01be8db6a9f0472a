//go:build !linux

package probe

// ReleasePages does nothing on this system.
func ReleasePages() {}
