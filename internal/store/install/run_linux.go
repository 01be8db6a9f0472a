package install

import (
	"os/exec"
	"syscall"
)

// killWithChildren makes cancellation kill the tool and all of its child processes. The kernel also
// kills the tool when the thread that started it ends.
func killWithChildren(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
