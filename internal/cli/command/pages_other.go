//go:build !linux

package command

// GiveBackPages does nothing here.
func GiveBackPages() {}
