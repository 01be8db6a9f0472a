package calibrate

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// bind restricts all threads of two processes, including threads that are created later, to
// processors that this process may use. If together is set, both processes use the first of these
// processors. Otherwise, the process us uses the first and the process other the second. undo
// restores the previous processors.
func bind(us, other int, together bool) (undo func(), err error) {
	var had unix.CPUSet
	if err := unix.SchedGetaffinity(0, &had); err != nil {
		return nil, fmt.Errorf("cannot find out which processors may be used: %w", err)
	}
	if !together && had.Count() < 2 {
		return nil, errors.New("this process may use only one processor")
	}
	first := next(&had, 0)
	of := map[int]int{us: first, other: first}
	if !together {
		of[other] = next(&had, first+1)
	}
	undo = func() {
		for pid := range of {
			_ = place(&had, pid) // an error is harmless: the process may have exited
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

// next returns the first processor in the set whose number is at least n. The set must contain such
// a processor.
func next(of *unix.CPUSet, n int) int {
	for !of.IsSet(n) {
		n++
	}
	return n
}

// place sets the processors for all threads of a process. Meanwhile, threads that are not
// restricted yet may create threads. Therefore place lists the threads repeatedly until it finds no
// new thread.
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
				return fmt.Errorf("cannot bind threads to a processor: %w", err)
			}
		}
	}
	return nil
}
