package probe

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"
)

// memory returns the memory that this process may use, and the size of the machine's swap, in
// bytes. A size is -1 if it is unknown.
func memory() (usable, swap int64) {
	usable, swap = -1, -1
	if p, err := procfs.NewDefaultFS(); err == nil {
		if m, err := p.Meminfo(); err == nil {
			if m.MemTotalBytes != nil {
				usable = int64(*m.MemTotalBytes)
			}
			if m.SwapTotalBytes != nil {
				swap = int64(*m.SwapTotalBytes)
			}
		}
	}
	if limit, ok := memoryLimit(groupsOf("/", "self").own); ok && (usable < 0 || limit < usable) {
		usable = limit
	}
	return usable, swap
}

// memoryLimit returns the lowest memory limit of a control group (version 2) and its parents; ok is
// false if none of them has a limit.
func memoryLimit(group string) (least int64, ok bool) {
	for dir := group; dir != "" && dir != "/" && dir != "."; dir = filepath.Dir(dir) {
		b, err := os.ReadFile(filepath.Join(dir, "memory.max"))
		if err != nil {
			continue
		}
		if n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64); err == nil && (!ok || n < least) {
			least, ok = n, true
		}
	}
	return least, ok
}
