package wallclock

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// How long a process's threads may take to stand still, how often they are looked at
// meanwhile, and how often they are let go because one was where nobody may be.
const (
	stillWithin = 5 * time.Second
	lookEvery   = 50 * time.Microsecond
	attempts    = 1000
)

// still does something while all threads of a process stand still, none of them between
// the instructions that are replaced. A process that stood still stays so.
func (v *image) still(pid int, do func() error) error {
	state, err := stateOf(pid, pid)
	if err != nil {
		return err
	}
	stopped := state == 'T'
	for range attempts {
		free, err := v.stop(pid)
		if err == nil && free {
			err = do()
		}
		if !stopped {
			err = errors.Join(err, unix.Kill(pid, unix.SIGCONT))
		}
		if err != nil || free {
			return err
		}
		if stopped {
			break
		}
	}
	return fmt.Errorf("process %d never stood still where its clock can be moved", pid)
}

// stop has a process stand still. free says that no thread is between instructions that
// are replaced.
func (v *image) stop(pid int) (free bool, err error) {
	if err := unix.Kill(pid, unix.SIGSTOP); err != nil {
		return false, err
	}
	for end := time.Now().Add(stillWithin); ; time.Sleep(lookEvery) {
		still, free, err := v.look(pid)
		switch {
		case err != nil || still:
			return free, err
		case time.Now().After(end):
			return false, fmt.Errorf("process %d does not stand still within %s", pid, stillWithin)
		}
	}
}

// look looks at all threads.
func (v *image) look(pid int) (still, free bool, err error) {
	threads, err := os.ReadDir(file(pid, "task"))
	if errors.Is(err, os.ErrNotExist) {
		return false, false, errGone
	}
	if err != nil {
		return false, false, fmt.Errorf("the threads of process %d cannot be looked at: %w", pid, err)
	}
	free = true
	for _, t := range threads {
		id, err := strconv.Atoi(t.Name())
		if err != nil {
			continue
		}
		state, err := stateOf(pid, id)
		switch {
		case errors.Is(err, errGone) || state == 'Z' || state == 'X': // it does nothing more
			continue
		case err != nil:
			return false, false, err
		case state != 'T' && state != 't' && state != 'D': // in the kernel it stays there
			return false, false, nil
		}
		at, running, err := placeOf(pid, id)
		if err != nil || running {
			return false, false, err
		}
		for _, c := range v.calls {
			from := v.at + int64(c.at)
			free = free && (c.at == 0 || at <= from || at >= from+jumpBytes)
		}
	}
	return true, free, nil
}

// stateOf is a thread's state as /proc has it, such as T for one that stands still.
func stateOf(pid, thread int) (byte, error) {
	b, err := os.ReadFile(file(pid, fmt.Sprintf("task/%d/stat", thread)))
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		return 0, errGone
	}
	if err != nil {
		return 0, fmt.Errorf("process %d cannot be looked at: %w", pid, err)
	}
	if _, rest, ok := strings.Cut(string(b[strings.LastIndexByte(string(b), ')')+1:]), " "); ok && rest != "" {
		return rest[0], nil
	}
	return 0, fmt.Errorf("the state of process %d cannot be read", pid)
}

// placeOf is the address of the instruction at which a thread that stands still goes on.
func placeOf(pid, thread int) (at int64, running bool, err error) {
	b, err := os.ReadFile(file(pid, fmt.Sprintf("task/%d/syscall", thread)))
	fields := strings.Fields(string(b))
	switch {
	case errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH):
		return 0, false, nil // it has ended
	case err != nil:
		return 0, false, fmt.Errorf("where the threads of process %d are cannot be found out: %w", pid, err)
	case len(fields) < 3:
		return 0, true, nil
	}
	if at, err = strconv.ParseInt(strings.TrimPrefix(fields[len(fields)-1], "0x"), 16, 64); err != nil {
		return 0, false, fmt.Errorf("where the threads of process %d are cannot be found out: %q", pid, b)
	}
	return at, false, nil
}
