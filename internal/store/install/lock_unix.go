//go:build unix

package install

import (
	"errors"
	"os"
	"syscall"
)

// tryLock takes an advisory lock that belongs to the open file (flock(2)).
func tryLock(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return errHeld
	}
	return err
}
