//go:build !linux

package host

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"

	"github.com/quorumbench/quorumbench/internal/files"
)

// startTime returns the start time of a process in the format of ps. Its resolution is one second.
func startTime(pid int) (string, error) {
	cmd := exec.Command("ps", "-o", "stat=,lstart=", "-p", strconv.Itoa(pid))
	cmd.Env = append(files.CleanEnviron(), "LC_ALL=C")
	b, err := cmd.Output()
	fields := strings.Fields(string(b))
	if err != nil || len(fields) < 2 {
		return "", fmt.Errorf("process %d does not exist", pid)
	}
	if strings.HasPrefix(fields[0], "Z") {
		return "", fmt.Errorf("process %d has exited", pid)
	}
	return strings.Join(fields[1:], " "), nil
}

// bootID returns empty strings. A boot ID is not necessary, because the start time that ps prints
// includes the date.
func bootID() (boot, pids string) { return "", "" }

// namespaces returns empty strings, because this system has no namespaces.
func namespaces() (network, view string) { return "", "" }
