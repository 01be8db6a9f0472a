//go:build !linux

package host

import (
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
)

// findMarkedPIDs returns the IDs of this user's processes that have the mark in their environment,
// as shown by ps.
func findMarkedPIDs(m Mark) []int {
	out, _ := exec.Command("ps", "-axwwE", "-o", "pid=,uid=,command=").Output()
	var found []int
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		if len(fields) < 3 || fields[1] != strconv.Itoa(os.Geteuid()) || !slices.Contains(fields, m.Env()) {
			continue
		}
		if pid, err := strconv.Atoi(fields[0]); err == nil {
			found = append(found, pid)
		}
	}
	return found
}

func hasMark(pid int, m Mark) bool { return slices.Contains(findMarkedPIDs(m), pid) }

// findPathInUse returns the path at the end of one of the process's arguments, if this path is in
// one of the folders. The result is relative to that folder.
func findPathInUse(pid int, dirs []string) string {
	out, _ := exec.Command("ps", "-ww", "-o", "command=", "-p", strconv.Itoa(pid)).Output()
	return pathInArgument(strings.TrimSpace(string(out)), dirs)
}
