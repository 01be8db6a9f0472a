package host

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// Identity says which process is meant, beyond the reuse of its number: the
// same number with another start time, or after another boot, is not it.
type Identity struct {
	PID   int    `json:"pid"`
	Start string `json:"start"` // as the system tells it; only equality matters
	Boot  string `json:"boot"`  // of the machine and of the space that PID is a number in
}

// Identify returns the identity of the running process with the given number.
func Identify(pid int) (Identity, error) {
	start, err := startTime(pid)
	if err != nil {
		return Identity{}, err
	}
	return Identity{PID: pid, Start: start, Boot: bootID()}, nil
}

// Running reports whether this very process runs. A zombie does not.
func (i Identity) Running() bool {
	now, err := Identify(i.PID)
	return err == nil && now == i
}

// Signal sends a signal to this very process, or does nothing if it is gone.
func (i Identity) Signal(s Signal) error {
	// On Linux the handle stays with the process that has the number now, so
	// nothing can come between the comparison and the signal.
	p, err := os.FindProcess(i.PID)
	if err != nil {
		return nil
	}
	defer func() { _ = p.Release() }()
	if !i.Running() {
		return nil
	}
	err = p.Signal(number(s))
	if err != nil && !errors.Is(err, os.ErrProcessDone) && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("process %d does not take %s: %w", i.PID, s, err)
	}
	return nil
}
