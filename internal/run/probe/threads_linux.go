package probe

import (
	"fmt"
	"os"
	"strconv"
)

// EachThread calls the function `change` for each thread of a process, until there is no new thread
// or change returns an error. Threads that are not changed yet may create threads in the meantime, so
// EachThread lists the threads repeatedly. If pid is 0, the process is this one.
func EachThread(pid int, change func(tid int) error) error {
	dir := "/proc/self/task"
	if pid > 0 {
		dir = fmt.Sprintf("/proc/%d/task", pid)
	}
	changed := map[int]bool{}
	for foundNew := true; foundNew; {
		foundNew = false
		threads, _ := os.ReadDir(dir) // if the process has exited, it has no threads
		for _, t := range threads {
			tid, err := strconv.Atoi(t.Name())
			if err != nil || changed[tid] {
				continue
			}
			changed[tid], foundNew = true, true
			if err := change(tid); err != nil {
				return err
			}
		}
	}
	return nil
}
