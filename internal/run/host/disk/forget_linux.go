package disk

import (
	"os"
	"os/exec"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/quorumbench/quorumbench/internal/files"
)

// fileSystemType is the file system type with which our disks are listed in the mount table.
const fileSystemType = "fuse.quorumbench"

// UnmountStaleBelow unmounts those disks below dir whose server has exited, and returns their
// number. dir must not contain symbolic links.
func UnmountStaleBelow(dir string) (n int) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return 0
	}
	for _, at := range findMountsBelow(dir, string(mounts)) {
		if unmountStale(at) {
			n++
		}
	}
	return n
}

// findMountsBelow returns the mount points of our disks below dir. The parameter `mounts` is the
// content of /proc/self/mountinfo (proc_pid_mountinfo(5)).
func findMountsBelow(dir, mounts string) (mountPoints []string) {
	for line := range strings.Lines(mounts) {
		about, system, _ := strings.Cut(line, " - ")
		fields, of := strings.Fields(about), strings.Fields(system)
		if len(fields) < 5 || len(of) == 0 || of[0] != fileSystemType {
			continue
		}
		if path := unescape(fields[4]); strings.HasPrefix(path, dir+"/") {
			mountPoints = append(mountPoints, path)
		}
	}
	return mountPoints
}

// unescape decodes a path from the mount table. The kernel writes spaces, line breaks and
// backslashes as a backslash and three octal digits.
func unescape(path string) string {
	var b strings.Builder
	for i := 0; i < len(path); i++ {
		if path[i] == '\\' && i+3 < len(path) {
			if c, err := strconv.ParseUint(path[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(c))
				i += 3
				continue
			}
		}
		b.WriteByte(path[i])
	}
	return b.String()
}

// unmountStale unmounts the disk at the given mount point if its server has exited. It reports
// whether it unmounted the disk.
func unmountStale(mountPoint string) bool {
	var st unix.Stat_t
	if unix.Stat(mountPoint, &st) != unix.ENOTCONN {
		return false
	}
	if unix.Unmount(mountPoint, unix.MNT_DETACH) == nil {
		return true
	}
	// A user other than root must unmount the disk with the same setuid program that mounted it.
	for _, program := range []string{"fusermount3", "fusermount"} {
		c := exec.Command(program, "-u", "-z", "-q", "--", mountPoint)
		c.Env = files.CleanEnviron()
		if c.Run() == nil {
			return true
		}
	}
	return false
}
