package probe

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"
)

// CPUGroups contains the folders of the control groups whose limits apply to this process. Finding
// them requires reading all mounts, which takes a long time on a node with many containers.
// Therefore the groups are found once, outside of measurements.
type CPUGroups []string

// OwnCPUGroups returns the control group of this process and all its parent groups that are
// visible. It returns nil if no group is visible.
func OwnCPUGroups() CPUGroups { return cpuGroups("/") }

// cpuGroups returns the groups of this process. The parameter `root` is the root folder of the file
// system; tests pass another folder.
func cpuGroups(root string) CPUGroups { return groupsOf(root, "self").cpu }

// Throttled returns the time in nanoseconds for which CPU limits have throttled the groups; ok is
// false if this time is unknown. The time for which a parent group's limit throttled a group is
// counted only in the parent group's file, so Throttled adds the times of all groups.
func (g CPUGroups) Throttled() (ns int64, ok bool) {
	for _, dir := range g {
		if b, err := os.ReadFile(filepath.Join(dir, "cpu.stat")); err == nil {
			ok = true
			ns += throttledTime(b)
		}
	}
	return ns, ok
}

// throttledTime parses a cpu.stat file. Version 1 counts nanoseconds in throttled_time, and version
// 2 counts microseconds in throttled_usec.
func throttledTime(stat []byte) (ns int64) {
	return max(findValue(stat, "throttled_time"), 0) + 1000*max(findValue(stat, "throttled_usec"), 0)
}

// cpuLimit returns the number of processors that our control groups permit, which is the smallest
// of their quotas; ok is false if no group has a quota.
func cpuLimit(root string) (least float64, ok bool) {
	for _, dir := range cpuGroups(root) {
		if limit, has := quota(dir); has && (!ok || limit < least) {
			least, ok = limit, true
		}
	}
	return least, ok
}

// quota returns a group's quota as a number of processors. In version 2, the file cpu.max contains
// "QUOTA PERIOD". In version 1, the quota and the period are in separate files. Both are in
// microseconds; "max" and -1 mean that the group has no limit.
func quota(dir string) (processors float64, ok bool) {
	b, err := os.ReadFile(filepath.Join(dir, "cpu.max"))
	if err != nil {
		quota, _ := os.ReadFile(filepath.Join(dir, "cpu.cfs_quota_us"))
		period, _ := os.ReadFile(filepath.Join(dir, "cpu.cfs_period_us"))
		b = append(append(quota, ' '), period...)
	}
	fields := strings.Fields(string(b))
	if len(fields) != 2 {
		return 0, false
	}
	of, err1 := strconv.ParseFloat(fields[0], 64)
	in, err2 := strconv.ParseFloat(fields[1], 64)
	if err1 != nil || err2 != nil || of <= 0 || in <= 0 {
		return 0, false
	}
	return of / in, true
}

// groups contains a process's control groups.
type groups struct {
	cpu CPUGroups // the process's group and its parents, in each hierarchy that can limit CPU time
	own string    // the process's group in version 2, or empty
}

// groupsOf returns the control groups (cgroups(7)) of a process. process is a process ID or "self".
// The parameter `root` is the root folder of the file system; tests pass another folder. The result
// is valid until the process is moved to another group.
func groupsOf(root, process string) (out groups) {
	dir := filepath.Join(root, "proc", process)
	fs, err := procfs.NewFS(filepath.Join(root, "proc"))
	if err != nil {
		return out
	}
	if link, err := os.Readlink(dir); err == nil {
		process = link
	}
	pid, err := strconv.Atoi(process)
	if err != nil {
		return out
	}
	proc, err := fs.Proc(pid)
	if err != nil {
		return out
	}
	member, err := proc.Cgroups()
	if err != nil {
		return out
	}
	mounts, err := proc.MountInfo()
	if err != nil {
		return out
	}
	for _, g := range member {
		version2 := len(g.Controllers) == 0
		if !version2 && !slices.Contains(g.Controllers, "cpu") {
			continue
		}
		for _, m := range mounts {
			_, cpu := m.SuperOptions["cpu"]
			if version2 && m.FSType == "cgroup2" || !version2 && m.FSType == "cgroup" && cpu {
				all := groupAndParents(filepath.Join(root, m.MountPoint), m.Root, g.Path)
				if out.cpu = append(out.cpu, all...); version2 {
					out.own = all[0]
				}
				break
			}
		}
	}
	return out
}

// readUsage reads the times for which the groups were throttled or stalled.
func (g *groups) readUsage(f *kernelFile) GroupUsage {
	out := unknownGroup
	for _, dir := range g.cpu {
		if b, ok := f.read(filepath.Join(dir, "cpu.stat")); ok {
			out.Throttled = max(out.Throttled, 0) + float64(throttledTime(b))/1e9
		}
	}
	if g.own != "" {
		out.Pressure = f.pressure(filepath.Join(g.own, "%s.pressure"))
	}
	return out
}

// groupAndParents returns the folders of a group and of its parents, up to the mount point.
func groupAndParents(mount, top, group string) []string {
	relative, err := filepath.Rel(top, group)
	if err != nil || relative == ".." || strings.HasPrefix(relative, "../") {
		relative = "." // the group is outside the mount
	}
	out := []string{filepath.Join(mount, relative)}
	for relative != "." {
		relative = filepath.Dir(relative)
		out = append(out, filepath.Join(mount, relative))
	}
	return out
}
