package probe

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"
)

// CPUGroups are the folders of the control groups whose limits hold for this
// process. To find them takes a reading of all mounts, which on a node of many
// containers is long: it is done once, and not where time is measured.
type CPUGroups []string

// OurCPUGroups finds our group and those above it that we can see; none where
// there are none to ask.
func OurCPUGroups() CPUGroups { return cpuGroups("/") }

// cpuGroups are those of this process, below another root for tests.
func cpuGroups(root string) CPUGroups { return groupsOf(root, "self").cpu }

// Throttled is how long CPU limits have held the groups back, in nanoseconds; ok
// is false where none says. A limit on a group above ours counts in that group's
// own file, so all are added.
func (g CPUGroups) Throttled() (ns int64, ok bool) {
	for _, dir := range g {
		if b, err := os.ReadFile(filepath.Join(dir, "cpu.stat")); err == nil {
			ok = true
			ns += heldBack(b)
		}
	}
	return ns, ok
}

// heldBack is what one cpu.stat counts: version 1 nanoseconds in throttled_time,
// version 2 microseconds in throttled_usec.
func heldBack(stat []byte) (ns int64) {
	return max(valueOf(stat, "throttled_time"), 0) + 1000*max(valueOf(stat, "throttled_usec"), 0)
}

// cpuLimit is how many processors our control groups let us use, the tightest
// quota of them; ok is false where there is none.
func cpuLimit(root string) (least float64, ok bool) {
	for _, dir := range cpuGroups(root) {
		if limit, has := quota(dir); has && (!ok || limit < least) {
			least, ok = limit, true
		}
	}
	return least, ok
}

// quota is a group's own: version 2 has "QUOTA PERIOD" in cpu.max, version 1 a
// file for each, all in microseconds; "max" and -1 are no limit.
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

// groups are a process's control groups.
type groups struct {
	cpu CPUGroups // its own and those above it, for each hierarchy that may limit CPU time
	own string    // of version 2; empty without any
}

// groupsOf finds the groups of a process, by its number or self (cgroups(7)), below
// another root for tests. What it finds holds until the process is moved.
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

// use reads what the groups waited for.
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

// upwards lists the folders from a group to the mount.
func upwards(mount, top, group string) []string {
	relative, err := filepath.Rel(top, group)
	if err != nil || relative == ".." || strings.HasPrefix(relative, "../") {
		relative = "." // our group is outside of what is mounted
	}
	out := []string{filepath.Join(mount, relative)}
	for relative != "." {
		relative = filepath.Dir(relative)
		out = append(out, filepath.Join(mount, relative))
	}
	return out
}
