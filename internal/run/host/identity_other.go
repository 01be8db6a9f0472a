//go:build !linux

package host

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"

	"github.com/quorumbench/quorumbench/internal/files"
)

// startTime returns a process's start as ps prints it, to the second.
func startTime(pid int) (string, error) {
	cmd := exec.Command("ps", "-o", "stat=,lstart=", "-p", strconv.Itoa(pid))
	cmd.Env = append(files.CleanEnviron(), "LC_ALL=C")
	b, err := cmd.Output()
	fields := strings.Fields(string(b))
	if err != nil || len(fields) < 2 {
		return "", fmt.Errorf("there is no process %d", pid)
	}
	if strings.HasPrefix(fields[0], "Z") {
		return "", fmt.Errorf("process %d has ended", pid)
	}
	return strings.Join(fields[1:], " "), nil
}

// bootID returns nothing: a start time of ps includes the date, which is enough.
func bootID() (boot, pids string) { return "", "" }

// namespaces returns nothing: this system has no namespaces.
func namespaces() (network, view string) { return "", "" }
