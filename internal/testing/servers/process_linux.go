package servers

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// unprivileged makes a command run as an ordinary user if the test runs as root, because PostgreSQL
// refuses to run as root. The command then runs in a user namespace. Outside that namespace, the
// command's files belong to root. The kernel kills the process when the test process ends.
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
		// SIGQUIT makes PostgreSQL shut down immediately, which also ends the server's child
		// processes.
		_ = syscall.Kill(n, syscall.SIGQUIT)
	}
}
