package probe

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Throttled reads how CPU limits held us back; ok is false where there is no
// control group to ask.
func Throttled() (Throttling, bool) { return throttled("/") }

// throttled reads below another root, for tests. A limit on a group above ours
// counts in that group's own file, so all up to the mount are added.
func throttled(root string) (t Throttling, ok bool) {
	for _, dir := range cpuGroups(root) {
		if b, err := os.ReadFile(filepath.Join(dir, "cpu.stat")); err == nil {
			ok = true
			t.add(b)
		}
	}
	return t, ok
}

// add adds the counters of one cpu.stat: version 1 counts nanoseconds in
// throttled_time, version 2 microseconds in throttled_usec.
func (t *Throttling) add(stat []byte) {
	lines := bufio.NewScanner(bytes.NewReader(stat))
	for lines.Scan() {
		key, text, _ := strings.Cut(lines.Text(), " ")
		value, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			continue
		}
		switch key {
		case "nr_periods":
			t.Periods += value
		case "nr_throttled":
			t.Throttled += value
		case "throttled_time":
			t.ThrottledNS += value
		case "throttled_usec":
			t.ThrottledNS += value * 1000
		}
	}
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
// hierarchy that may limit CPU time (cgroups(7)).
func cpuGroups(root string) []string {
	b, err := os.ReadFile(filepath.Join(root, "proc/self/cgroup"))
	if err != nil {
		return nil
	}
	mounts, err := os.ReadFile(filepath.Join(root, "proc/self/mountinfo"))
	if err != nil {
		return nil
	}
	var out []string
	for line := range strings.Lines(string(b)) {
		// hierarchy-ID:controllers:path; version 2 has no controllers.
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) != 3 {
			continue
		}
		controllers := strings.Split(fields[1], ",")
		if fields[1] != "" && !slices.Contains(controllers, "cpu") {
			continue
		}
		if mount, top, ok := findMount(string(mounts), fields[1] == ""); ok {
			out = append(out, upwards(filepath.Join(root, mount), top, fields[2])...)
		}
	}
	return out
}

// findMount finds where a hierarchy is mounted, and which group the mount
// shows as its root (proc_pid_mountinfo(5)).
func findMount(mountinfo string, version2 bool) (mount, top string, ok bool) {
	for line := range strings.Lines(mountinfo) {
		left, right, found := strings.Cut(line, " - ")
		place, kind := strings.Fields(left), strings.Fields(right)
		if !found || len(place) < 5 || len(kind) < 3 {
			continue
		}
		options := strings.Split(kind[2], ",")
		if version2 && kind[0] == "cgroup2" || !version2 && kind[0] == "cgroup" && slices.Contains(options, "cpu") {
			return place[4], place[3], true
		}
	}
	return "", "", false
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
