package disk

import (
	"os"
	"os/exec"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/quorumbench/quorumbench/internal/files"
)

// kind is the file system type with which our disks are listed in the mount table.
const kind = "fuse.quorumbench"

// ForgetBelow unmounts those disks below dir whose server has exited, and returns their number. dir
// must not contain symbolic links.
func ForgetBelow(dir string) (n int) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return 0
	}
	for _, at := range mountedBelow(dir, string(mounts)) {
		if forget(at) {
			n++
		}
	}
	return n
}

// mountedBelow returns the mount points of our disks below dir. The parameter `mounts` is the
// content of /proc/self/mountinfo (proc_pid_mountinfo(5)).
func mountedBelow(dir, mounts string) (at []string) {
	for line := range strings.Lines(mounts) {
		about, system, _ := strings.Cut(line, " - ")
		fields, of := strings.Fields(about), strings.Fields(system)
		if len(fields) < 5 || len(of) == 0 || of[0] != kind {
			continue
		}
		if path := unescape(fields[4]); strings.HasPrefix(path, dir+"/") {
			at = append(at, path)
		}
	}
	return at
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

// forget unmounts the disk at the given mount point if its server has exited. It reports whether it
// unmounted the disk.
func forget(at string) bool {
	var st unix.Stat_t
	if unix.Stat(at, &st) != unix.ENOTCONN {
		return false
	}
	if unix.Unmount(at, unix.MNT_DETACH) == nil {
		return true
	}
	// A user other than root must unmount the disk with the same setuid program that mounted it.
	for _, program := range []string{"fusermount3", "fusermount"} {
		c := exec.Command(program, "-u", "-z", "-q", "--", at)
		c.Env = files.CleanEnviron()
		if c.Run() == nil {
			return true
		}
	}
	return false
}
