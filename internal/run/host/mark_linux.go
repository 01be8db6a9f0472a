package host

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// findMarkedPIDs returns the IDs of this user's processes that carry the mark.
func findMarkedPIDs(m Mark) []int {
	entries, _ := os.ReadDir("/proc") // without /proc, the result is empty because no process can be recognized
	var out []int
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil && hasMark(pid, m) {
			out = append(out, pid)
		}
	}
	return out
}

// hasMark reports whether a process belongs to this user and was started with the mark in its
// environment (proc_pid_environ(5)).
func hasMark(pid int, m Mark) bool {
	folder := fmt.Sprintf("/proc/%d", pid)
	info, err := os.Stat(folder)
	if err != nil || ownerID(info) != os.Geteuid() {
		return false
	}
	env, err := os.ReadFile(folder + "/environ")
	return err == nil && slices.ContainsFunc(bytes.Split(env, []byte{0}), func(variable []byte) bool {
		return string(variable) == m.Env()
	})
}

// findPathInUse returns a path in one of the folders that is the process's working folder, one of
// its open files or one of its arguments. The path is relative to that folder. findPathInUse
// returns "" if the process works in none of the folders.
func findPathInUse(pid int, dirs []string) string {
	folder := fmt.Sprintf("/proc/%d/", pid)
	links := []string{folder + "cwd"}
	open, _ := os.ReadDir(folder + "fd")
	for _, e := range open {
		links = append(links, folder+"fd/"+e.Name())
	}
	for _, link := range links {
		path, _ := os.Readlink(link)
		if at := relativePath(path, dirs); at != "" {
			return at
		}
	}
	args, _ := os.ReadFile(folder + "cmdline")
	for arg := range strings.SplitSeq(string(args), "\x00") {
		if at := pathInArgument(arg, dirs); at != "" {
			return at
		}
	}
	return ""
}
