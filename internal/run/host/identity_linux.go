package host

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// startTime returns a process's start in clock ticks after the boot, field 22 of
// /proc/PID/stat (proc_pid_stat(5)).
func startTime(pid int) (string, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", fmt.Errorf("there is no process %d", pid)
	}
	// Field 2 is the name in parentheses, which may contain any character.
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(fields) < 21 {
		return "", fmt.Errorf("the state of process %d cannot be read", pid)
	}
	// Field 23 is the size of its memory. It is 0 for a process that is about to end, which
	// no longer has the data that identifies it.
	if state := fields[0][0]; state == 'Z' || state == 'X' || string(fields[20]) == "0" {
		return "", fmt.Errorf("process %d has ended", pid)
	}
	return string(fields[19]), nil
}

// bootID returns the IDs of this boot and of our PID namespace.
func bootID() (boot, pids string) {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", ""
	}
	pids, _ = os.Readlink("/proc/self/ns/pid")
	return strings.TrimSpace(string(b)), pids
}

// namespaces names our network namespace, and the user and namespaces that decide which
// processes and control groups we see.
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
