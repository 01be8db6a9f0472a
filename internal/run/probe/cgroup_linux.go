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

// Throttled is how long CPU limits have held the groups back, in nanoseconds; ok
// is false where none says. A limit on a group above ours counts in that group's
// own file, so all are added.
func (g CPUGroups) Throttled() (ns int64, ok bool) {
	for _, dir := range g {
		if b, err := os.ReadFile(filepath.Join(dir, "cpu.stat")); err == nil {
			ok = true
			ns += heldBack(string(b))
		}
	}
	return ns, ok
}

// heldBack is what one cpu.stat counts: version 1 nanoseconds in throttled_time,
// version 2 microseconds in throttled_usec.
func heldBack(stat string) (ns int64) {
	for line := range strings.Lines(stat) {
		key, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		unit, ok := map[string]int64{"throttled_time": 1, "throttled_usec": 1000}[key]
		if value, err := strconv.ParseInt(text, 10, 64); ok && err == nil {
			ns += value * unit
		}
	}
	return ns
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

// cpuGroups lists the folders of our group and of those above it, for each
// hierarchy that may limit CPU time (cgroups(7)), below another root for tests.
func cpuGroups(root string) (out CPUGroups) {
	proc, err := procfs.NewFS(filepath.Join(root, "proc"))
	if err != nil {
		return nil
	}
	self, err := proc.Self()
	if err != nil {
		return nil
	}
	groups, err := self.Cgroups()
	if err != nil {
		return nil
	}
	mounts, err := self.MountInfo()
	if err != nil {
		return nil
	}
	for _, g := range groups {
		version2 := len(g.Controllers) == 0
		if !version2 && !slices.Contains(g.Controllers, "cpu") {
			continue
		}
		for _, m := range mounts {
			_, cpu := m.SuperOptions["cpu"]
			if version2 && m.FSType == "cgroup2" || !version2 && m.FSType == "cgroup" && cpu {
				out = append(out, upwards(filepath.Join(root, m.MountPoint), m.Root, g.Path)...)
				break
			}
		}
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
