package program

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// OpenTerminal opens a pseudo-terminal. outer is the side of the terminal emulator, and inner is
// the side of the program.
func OpenTerminal() (outer, inner *os.File, err error) {
	outer, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			_ = outer.Close()
		}
	}()
	if err := unix.IoctlSetPointerInt(int(outer.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		return nil, nil, fmt.Errorf("cannot unlock a pseudo-terminal: %w", err)
	}
	n, err := unix.IoctlGetInt(int(outer.Fd()), unix.TIOCGPTN)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot find the name of a pseudo-terminal: %w", err)
	}
	inner, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	return outer, inner, err
}
