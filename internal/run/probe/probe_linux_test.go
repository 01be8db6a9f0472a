package probe

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

func TestFileSystemsAreNamed(t *testing.T) {
	info, err := os.Stat("/dev/shm")
	if err != nil || !info.IsDir() {
		t.Skip("there is no /dev/shm")
	}
	r, err := Fsync(t.Context(), root(t, "/dev/shm"), 5)
	if err != nil {
		t.Skip(err)
	}
	if r.FileSystem != "tmpfs" || r.Durable {
		t.Errorf("/dev/shm is %+v", r)
	}
}

func TestSystemAndThread(t *testing.T) {
	cpu, ok := ReadSystemCPU()
	if !ok || cpu.Total() <= 0 || cpu.User <= 0 {
		t.Errorf("system %+v, %v", cpu, ok)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	tid := unix.Gettid()
	before, ok := ThreadSched(tid)
	if !ok {
		t.Skip("this kernel has no scheduling statistics")
	}
	after := before
	for x := 1; after.Sub(before).CPU < 5_000_000; x++ { // until the time is measurable
		if x%1_000_000 == 0 {
			after, _ = ThreadSched(tid)
		}
	}
	if d := after.Sub(before); d.RunDelay < 0 || d.Slices < 0 {
		t.Errorf("sched %+v", d)
	}
	if _, ok := ThreadSched(1 << 30); ok {
		t.Error("a missing thread has scheduling statistics")
	}
}

// write creates files in a temporary file system root, in which the test is process 1.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, contents := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(contents), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(root, "proc"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("1", filepath.Join(root, "proc", "self")); err != nil {
		t.Fatal(err)
	}
	return root
}

const (
	mountsV1 = "30 23 0:26 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n" +
		"31 23 0:27 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid shared:11 - cgroup cgroup rw,cpu,cpuacct\n"
	mountsV2        = "29 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
	mountsContainer = "31 23 0:27 /docker/abc /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n"
)

func TestThrottled(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  int64
		ok    bool
	}{
		"version 1, the limit on the group above": {map[string]string{
			"proc/1/cgroup":                                    "4:memory:/x\n3:cpu,cpuacct:/job/step\n0::/\n",
			"proc/1/mountinfo":                                 mountsV1,
			"sys/fs/cgroup/cpu,cpuacct/cpu.stat":               "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n",
			"sys/fs/cgroup/cpu,cpuacct/job/cpu.stat":           "nr_periods 10\nnr_throttled 4\nthrottled_time 5000\n",
			"sys/fs/cgroup/cpu,cpuacct/job/step/cpu.stat":      "nr_periods 1\nnr_throttled 1\nthrottled_time 7\n",
			"sys/fs/cgroup/cpu,cpuacct/job/neighbour/cpu.stat": "nr_periods 9\nnr_throttled 9\nthrottled_time 9\n",
		}, 5007, true},
		"version 2": {map[string]string{
			"proc/1/cgroup":                         "0::/user.slice/app\n",
			"proc/1/mountinfo":                      mountsV2,
			"sys/fs/cgroup/user.slice/app/cpu.stat": "usage_usec 99\nnr_periods 3\nnr_throttled 2\nthrottled_usec 5\n",
		}, 5000, true},
		"a container that sees its own group as the mount": {map[string]string{
			"proc/1/cgroup":                    "3:cpu:/docker/abc/inner\n",
			"proc/1/mountinfo":                 mountsContainer,
			"sys/fs/cgroup/cpu/cpu.stat":       "nr_periods 2\nnr_throttled 2\nthrottled_time 20\n",
			"sys/fs/cgroup/cpu/inner/cpu.stat": "nr_periods 1\nnr_throttled 1\nthrottled_time 1\n",
		}, 21, true},
		"a group outside of the mount": {map[string]string{
			"proc/1/cgroup":              "3:cpu:/../other\n",
			"proc/1/mountinfo":           mountsContainer,
			"sys/fs/cgroup/cpu/cpu.stat": "nr_periods 2\nnr_throttled 1\nthrottled_time 3\n",
		}, 3, true},
		"nothing mounted": {map[string]string{"proc/1/cgroup": "0::/\n", "proc/1/mountinfo": ""}, 0, false},
		"no proc":         {nil, 0, false},
	} {
		got, ok := cpuGroups(write(t, c.files)).Throttled()
		if got != c.want || ok != c.ok {
			t.Errorf("%s: %+v, %v", name, got, ok)
		}
	}
}

func TestCPULimit(t *testing.T) {
	const group = "proc/1/cgroup"
	for name, c := range map[string]struct {
		files map[string]string
		want  float64
		ok    bool
	}{
		"version 1, the tightest is above": {map[string]string{
			group: "3:cpu,cpuacct:/job/step\n", "proc/1/mountinfo": mountsV1,
			"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us":           "-1\n",
			"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us":          "100000\n",
			"sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us":       "150000\n",
			"sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us":      "100000\n",
			"sys/fs/cgroup/cpu,cpuacct/job/step/cpu.cfs_quota_us":  "200000\n",
			"sys/fs/cgroup/cpu,cpuacct/job/step/cpu.cfs_period_us": "50000\n",
		}, 1.5, true},
		"version 2": {map[string]string{
			group: "0::/user.slice/app\n", "proc/1/mountinfo": mountsV2,
			"sys/fs/cgroup/user.slice/cpu.max": "max 100000\n", "sys/fs/cgroup/user.slice/app/cpu.max": "10000 100000\n",
		}, 0.1, true},
		"no limit": {map[string]string{
			group: "0::/app\n", "proc/1/mountinfo": mountsV2, "sys/fs/cgroup/app/cpu.max": "max 100000\n",
		}, 0, false},
		"no controller": {map[string]string{group: "0::/app\n", "proc/1/mountinfo": mountsV2}, 0, false},
		"damaged": {map[string]string{
			group: "0::/app\n", "proc/1/mountinfo": mountsV2, "sys/fs/cgroup/app/cpu.max": "10000 0\n",
		}, 0, false},
	} {
		if got, ok := cpuLimit(write(t, c.files)); got != c.want || ok != c.ok {
			t.Errorf("%s: %v, %v", name, got, ok)
		}
	}
}

func TestWholeDisk(t *testing.T) {
	block := filepath.Join(write(t, map[string]string{"nvme0n1/stat": "", "loop0/stat": "", "dm-0/stat": "", "cciss!c0d0/stat": ""}))
	for name, want := range map[string]bool{"nvme0n1": true, "nvme0n1p1": false, "loop0": false, "dm-0": false, "cciss/c0d0": true} {
		if got := wholeDisk(block, name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
