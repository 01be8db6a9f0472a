//go:build !linux

package command

import "golang.org/x/sys/unix"

// Requests to get and set the mode of a terminal. setMode does not wait for the terminal's output,
// because a frozen terminal (Ctrl-S) accepts no output.
const (
	getMode = unix.TIOCGETA
	setMode = unix.TIOCSETA
)

// dropTyped drops characters that were typed but not read. An error means that the terminal is
// gone.
func dropTyped(terminal int) { _ = unix.IoctlSetPointerInt(terminal, unix.TIOCFLUSH, unix.TCIFLUSH) }
