package calibrate

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/quorumbench/quorumbench/internal/run/probe"
)

// bind restricts all threads of two processes, including threads that are created later, to
// processors that this process may use. If sameProcessor is set, both processes use the first of
// these processors. Otherwise, the process ourPID uses the first and the process otherPID the
// second. undo restores the previous processors.
func bind(ourPID, otherPID int, sameProcessor bool) (undo func(), err error) {
	var allowed unix.CPUSet
	if err := unix.SchedGetaffinity(0, &allowed); err != nil {
		return nil, fmt.Errorf("cannot find out which processors may be used: %w", err)
	}
	if !sameProcessor && allowed.Count() < 2 {
		return nil, errors.New("this process may use only one processor")
	}
	first := nextProcessor(&allowed, 0)
	processors := map[int]int{ourPID: first, otherPID: first}
	if !sameProcessor {
		processors[otherPID] = nextProcessor(&allowed, first+1)
	}
	undo = func() {
		for pid := range processors {
			_ = setProcessors(&allowed, pid) // an error is harmless: the process may have exited
		}
	}
	for pid, processor := range processors {
		var one unix.CPUSet
		one.Set(processor)
		if err := setProcessors(&one, pid); err != nil {
			undo()
			return nil, err
		}
	}
	return undo, nil
}

// nextProcessor returns the first processor in the set whose number is at least n. The set must
// contain such a processor.
func nextProcessor(processors *unix.CPUSet, n int) int {
	for !processors.IsSet(n) {
		n++
	}
	return n
}

// setProcessors sets the processors for all threads of a process.
func setProcessors(processors *unix.CPUSet, pid int) error {
	return probe.EachThread(pid, func(tid int) error {
		if err := unix.SchedSetaffinity(tid, processors); err != nil && !errors.Is(err, unix.ESRCH) {
			return fmt.Errorf("cannot bind threads to a processor: %w", err)
		}
		return nil
	})
}
