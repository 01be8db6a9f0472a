package host

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// startTime is field 22 of /proc/PID/stat (proc_pid_stat(5)), in clock ticks
// since the boot.
func startTime(pid int) (string, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", fmt.Errorf("there is no process %d", pid)
	}
	// Field 2 is the name in parentheses, which may hold anything.
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(fields) < 21 {
		return "", fmt.Errorf("the state of process %d cannot be read", pid)
	}
	// Field 23, the size of its memory: one that is just ending has none any more,
	// and nothing by which it could be recognized.
	if state := fields[0][0]; state == 'Z' || state == 'X' || string(fields[20]) == "0" {
		return "", fmt.Errorf("process %d has ended", pid)
	}
	return string(fields[19]), nil
}

// bootID names this boot and the PID namespace that we are in.
func bootID() (boot, pids string) {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", ""
	}
	pids, _ = os.Readlink("/proc/self/ns/pid")
	return strings.TrimSpace(string(b)), pids
}

// views names our network namespace, and what else decides what we see of other
// processes in /proc and of their control groups.
func views() (network, view string) {
	network, _ = os.Readlink("/proc/self/ns/net")
	parts := []string{strconv.Itoa(os.Geteuid())}
	for _, of := range []string{"user", "cgroup", "mnt"} {
		space, err := os.Readlink("/proc/self/ns/" + of)
		if err != nil {
			return network, ""
		}
		parts = append(parts, space)
	}
	return network, strings.Join(parts, " ")
}
