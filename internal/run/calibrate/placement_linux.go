package calibrate

import (
	"fmt"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// onOneProcessor has all threads of processes, and those that they start from now on, run
// on one of the processors that this process may use. undo gives them back what they had.
func onOneProcessor(pids ...int) (undo func(), err error) {
	var had unix.CPUSet
	if err := unix.SchedGetaffinity(0, &had); err != nil {
		return nil, fmt.Errorf("this system does not say which processors may be used: %w", err)
	}
	var one unix.CPUSet
	first := 0
	for !had.IsSet(first) {
		first++ // there is one, on which this runs
	}
	one.Set(first)
	undo = func() { _ = place(&had, pids) } // a process that has ended needs nothing
	if err := place(&one, pids); err != nil {
		undo()
		return nil, err
	}
	return undo, nil
}

// place sets the processors of all threads. A thread can be made while they are listed, by
// one that was not set yet: they are listed again until there is no new one.
func place(on *unix.CPUSet, pids []int) error {
	seen := map[string]bool{}
	for more := true; more; {
		more = false
		for _, pid := range pids {
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
					continue // no thread
				}
				if err := unix.SchedSetaffinity(tid, on); err != nil && err != unix.ESRCH {
					return fmt.Errorf("threads cannot be bound to a processor: %w", err)
				}
			}
		}
	}
	return nil
}
