package calibrate

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// bind binds all threads of two processes, including threads that they start later, to
// processors that this process may use: both to the first one, or the other process to the
// second. undo restores the processors that this process had.
func bind(us, other int, together bool) (undo func(), err error) {
	var had unix.CPUSet
	if err := unix.SchedGetaffinity(0, &had); err != nil {
		return nil, fmt.Errorf("the processors that may be used are unknown: %w", err)
	}
	if !together && had.Count() < 2 {
		return nil, errors.New("there is one processor")
	}
	first := next(&had, 0)
	of := map[int]int{us: first, other: first}
	if !together {
		of[other] = next(&had, first+1)
	}
	undo = func() {
		for pid := range of {
			_ = place(&had, pid) // a process that has ended needs no processors
		}
	}
	for pid, processor := range of {
		var one unix.CPUSet
		one.Set(processor)
		if err := place(&one, pid); err != nil {
			undo()
			return nil, err
		}
	}
	return undo, nil
}

// next returns the first processor of the set with a number of at least n; there must be
// one.
func next(of *unix.CPUSet, n int) int {
	for !of.IsSet(n) {
		n++
	}
	return n
}

// place sets the processors of all threads of a process. A thread that is not set yet may
// create threads meanwhile, so place lists the threads again until there is no new one.
func place(on *unix.CPUSet, pid int) error {
	seen := map[string]bool{}
	for more := true; more; {
		more = false
		tasks, err := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "task", "*"))
		if err != nil {
			return err
		}
		for _, t := range tasks {
			if seen[t] {
				continue
			}
			seen[t], more = true, true
			tid, err := strconv.Atoi(filepath.Base(t))
			if err != nil {
				continue // not a thread
			}
			if err := unix.SchedSetaffinity(tid, on); err != nil && !errors.Is(err, unix.ESRCH) {
				return fmt.Errorf("threads cannot be bound to a processor: %w", err)
			}
		}
	}
	return nil
}
