package probe

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"
)

// CPUGroups holds the folders of the control groups whose limits apply to this process.
// Finding them requires reading all mounts, which takes long on a node with many
// containers, so it is done once and not while time is measured.
type CPUGroups []string

// OurCPUGroups returns our control group and the visible groups above it, or none.
func OurCPUGroups() CPUGroups { return cpuGroups("/") }

// cpuGroups returns the groups of this process below another root, for tests.
func cpuGroups(root string) CPUGroups { return groupsOf(root, "self").cpu }

// Throttled returns how long CPU limits have held back the groups, in nanoseconds; ok is
// false if that is unknown. A limit on a group above ours is counted in that group's file,
// so all are added.
func (g CPUGroups) Throttled() (ns int64, ok bool) {
	for _, dir := range g {
		if b, err := os.ReadFile(filepath.Join(dir, "cpu.stat")); err == nil {
			ok = true
			ns += heldBack(b)
		}
	}
	return ns, ok
}

// heldBack parses a cpu.stat: version 1 counts nanoseconds in throttled_time, version 2
// microseconds in throttled_usec.
func heldBack(stat []byte) (ns int64) {
	return max(valueOf(stat, "throttled_time"), 0) + 1000*max(valueOf(stat, "throttled_usec"), 0)
}

// cpuLimit returns how many processors our control groups permit, by the smallest quota; ok
// is false without a quota.
func cpuLimit(root string) (least float64, ok bool) {
	for _, dir := range cpuGroups(root) {
		if limit, has := quota(dir); has && (!ok || limit < least) {
			least, ok = limit, true
		}
	}
	return least, ok
}

// quota returns a group's quota. Version 2 has "QUOTA PERIOD" in cpu.max, version 1 a file
// for each, all in microseconds; "max" and -1 mean no limit.
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

// groups holds a process's control groups.
type groups struct {
	cpu CPUGroups // its group and those above it, in each hierarchy that can limit CPU time
	own string    // its group of version 2; empty if none
}

// groupsOf returns the groups of a process, given by its number or "self" (cgroups(7)),
// below another root for tests. The result is valid until the process is moved.
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
				all := upwards(filepath.Join(root, m.MountPoint), m.Root, g.Path)
				if out.cpu = append(out.cpu, all...); version2 {
					out.own = all[0]
				}
				break
			}
		}
	}
	return out
}

// use reads how long the groups were held back or waited.
func (g *groups) use(f *kernelFile) GroupUsage {
	out := unknownGroup
	for _, dir := range g.cpu {
		if b, ok := f.read(filepath.Join(dir, "cpu.stat")); ok {
			out.Throttled = max(out.Throttled, 0) + float64(heldBack(b))/1e9
		}
	}
	if g.own != "" {
		out.Pressure = f.pressure(filepath.Join(g.own, "%s.pressure"))
	}
	return out
}

// upwards lists the folders of a group and of those above it, up to the mount.
func upwards(mount, top, group string) []string {
	relative, err := filepath.Rel(top, group)
	if err != nil || relative == ".." || strings.HasPrefix(relative, "../") {
		relative = "." // our group is outside the mount
	}
	out := []string{filepath.Join(mount, relative)}
	for relative != "." {
		relative = filepath.Dir(relative)
		out = append(out, filepath.Join(mount, relative))
	}
	return out
}
