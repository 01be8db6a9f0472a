//go:build !linux

package command

// giveBackPages does nothing here.
func giveBackPages() {}
