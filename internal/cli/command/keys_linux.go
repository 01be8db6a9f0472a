package command

import "golang.org/x/sys/unix"

// Requests to get and set the mode of a terminal. setMode also drops characters that were typed but
// not read.
const (
	getMode = unix.TCGETS
	setMode = unix.TCSETSF
)
