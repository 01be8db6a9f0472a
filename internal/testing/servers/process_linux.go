package servers

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// unprivileged has a process of root be another user's in a namespace of users, since
// PostgreSQL refuses to be root's; its files stay root's. It dies with the test.
func unprivileged(cmd *exec.Cmd) {
	const user = 1000
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if os.Getuid() != 0 {
		return
	}
	cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
	cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: user, HostID: 0, Size: 1}}
	cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: user, HostID: 0, Size: 1}}
}

// killPostgres ends the server whose process a data folder names.
func killPostgres(pid string) {
	if n, err := strconv.Atoi(pid); err == nil && n > 1 {
		_ = syscall.Kill(n, syscall.SIGQUIT) // an immediate shutdown, of its children too
	}
}
