package servers

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// unprivileged makes a process of root run as another user in a user namespace, because PostgreSQL
// refuses to run as root. Outside the namespace, its files belong to root. The process is killed
// when the test process ends.
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

// killPostgres kills the PostgreSQL server whose process ID is in a data folder.
func killPostgres(pid string) {
	if n, err := strconv.Atoi(pid); err == nil && n > 1 {
		// SIGQUIT makes PostgreSQL shut down immediately, which also ends the server's child processes.
		_ = syscall.Kill(n, syscall.SIGQUIT)
	}
}
