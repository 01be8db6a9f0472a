package host

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// startTime returns the time at which a process was started, in clock ticks since boot. It is field
// 22 in /proc/PID/stat (proc_pid_stat(5)).
func startTime(pid int) (string, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", fmt.Errorf("process %d does not exist", pid)
	}
	// Field 2 is the process name in parentheses. The name may contain any character, including
	// spaces and parentheses.
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(fields) < 21 {
		return "", fmt.Errorf("cannot read the state of process %d", pid)
	}
	// Field 23 is the size of the process's memory. The size is 0 if the process is about to exit.
	// The environment and the arguments of such a process can no longer be read.
	if state := fields[0][0]; state == 'Z' || state == 'X' || string(fields[20]) == "0" {
		return "", fmt.Errorf("process %d has exited", pid)
	}
	return string(fields[19]), nil
}

// bootID returns the ID of this boot and the ID of our PID namespace.
func bootID() (boot, pids string) {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", ""
	}
	pids, _ = os.Readlink("/proc/self/ns/pid")
	return strings.TrimSpace(string(b)), pids
}

// namespaces returns a name for our network namespace. The result view identifies the user and the
// other namespaces that determine which processes and control groups we can see.
func namespaces() (network, view string) {
	network, _ = os.Readlink("/proc/self/ns/net")
	parts := []string{strconv.Itoa(os.Geteuid())}
	for _, name := range []string{"user", "cgroup", "mnt"} {
		space, err := os.Readlink("/proc/self/ns/" + name)
		if err != nil {
			return network, ""
		}
		parts = append(parts, space)
	}
	return network, strings.Join(parts, " ")
}
