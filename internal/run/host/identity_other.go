//go:build !linux

package host

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"

	"github.com/quorumbench/quorumbench/internal/files"
)

// startTime returns the time at which a process was started, as ps prints it, with a resolution of
// one second.
func startTime(pid int) (string, error) {
	cmd := exec.Command("ps", "-o", "stat=,lstart=", "-p", strconv.Itoa(pid))
	cmd.Env = append(files.CleanEnviron(), "LC_ALL=C")
	b, err := cmd.Output()
	fields := strings.Fields(string(b))
	if err != nil || len(fields) < 2 {
		return "", fmt.Errorf("there is no process %d", pid)
	}
	if strings.HasPrefix(fields[0], "Z") {
		return "", fmt.Errorf("process %d has exited", pid)
	}
	return strings.Join(fields[1:], " "), nil
}

// bootID returns empty strings: the start time that ps prints includes the date, so no boot ID is
// needed.
func bootID() (boot, pids string) { return "", "" }

// namespaces returns empty strings: this system has no namespaces.
func namespaces() (network, view string) { return "", "" }
