package calibrate

import (
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"
)

// Two processes are bound to the same processor, or each to its own processor. Their processors are
// restored afterwards.
func TestBind(t *testing.T) {
	c := exec.Command("cat")
	in, err := c.StdinPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = in.Close()
		_ = c.Wait()
	}()
	on := func(pid int) (s unix.CPUSet) {
		if err := unix.SchedGetaffinity(pid, &s); err != nil {
			t.Fatal(err)
		}
		return s
	}
	had := on(os.Getpid())
	for _, together := range []bool{true, false} {
		if had.Count() < 2 && !together {
			continue
		}
		undo, err := bind(os.Getpid(), c.Process.Pid, together)
		if err != nil {
			t.Fatal(err)
		}
		one, ours := on(c.Process.Pid), on(os.Getpid())
		undo()
		if one.Count() != 1 || ours.Count() != 1 || (one == ours) != together {
			t.Errorf("together %t: the processes are on %d and %d processors, on the same one: %t", together, one.Count(), ours.Count(), one == ours)
		}
		if now, its := on(os.Getpid()), on(c.Process.Pid); now != had || its != had {
			t.Error("the processors of the two processes were not restored")
		}
	}
}
