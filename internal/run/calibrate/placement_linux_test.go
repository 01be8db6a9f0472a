package calibrate

import (
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"
)

// A process is bound to one processor that it may use, and has back what it had.
func TestOnOneProcessor(t *testing.T) {
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
	undo, err := onOneProcessor(os.Getpid(), c.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	one, ours := on(c.Process.Pid), on(os.Getpid())
	undo()
	if one.Count() != 1 || one != ours {
		t.Errorf("they are on %d and %d processors", one.Count(), ours.Count())
	}
	if now, its := on(os.Getpid()), on(c.Process.Pid); now != had || its != had {
		t.Error("they have not what they had")
	}
}
