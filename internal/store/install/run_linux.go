package install

import (
	"os/exec"
	"syscall"
)

// together makes a tool and its children end together: cancelling kills all of
// them, and the tool does not outlive the thread that started it.
func together(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
