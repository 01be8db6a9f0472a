package probe

import (
	"fmt"
	"os"
	"strconv"
)

// EachThread calls the function `change` once for each thread of a process (pid 0: this process).
// Other threads may create threads in the meantime, so EachThread lists the threads again until it
// finds no new one. It stops at the first error.
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
