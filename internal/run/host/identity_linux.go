package host

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// startTime returns the time at which a process was started, in clock ticks since boot: field 22 in
// /proc/PID/stat (proc_pid_stat(5)).
func startTime(pid int) (string, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", fmt.Errorf("there is no process %d", pid)
	}
	// Field 2 is the process name in parentheses, which may contain any character.
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(fields) < 21 {
		return "", fmt.Errorf("cannot read the state of process %d", pid)
	}
	// Field 23 is the size of the process's memory. It is 0 in a process that is about to exit,
	// whose environment and arguments are no longer available.
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

// namespaces identifies our network namespace, and, as view, the user and the namespaces that
// determine which processes and control groups we can see.
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
