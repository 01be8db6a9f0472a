package probe

import (
	"os"
	"strings"
	"testing"
)

func TestFsync(t *testing.T) {
	dir := t.TempDir()
	r, err := Fsync(dir, 20)
	if err != nil {
		t.Fatal(err)
	}
	if r.Count < fsyncLeast || r.Count > 20 || r.P50 <= 0 || r.P99 < r.P50 || r.FileSystem == "" {
		t.Errorf("result %+v", r)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

func TestFsyncRefuses(t *testing.T) {
	if _, err := Fsync(t.TempDir(), 0); err == nil {
		t.Error("nothing was measured")
	}
	_, err := Fsync("/no/such/folder", 5)
	if err == nil || err.Error() != "fdatasync cannot be measured in /no/such/folder: no such file or directory" {
		t.Errorf("%v", err)
	}
}

func TestNearestRank(t *testing.T) {
	for _, c := range []struct {
		sorted []int64
		p      float64
		want   int64
	}{
		{[]int64{7}, 50, 7},
		{[]int64{7}, 99, 7},
		{[]int64{1, 2, 3, 4}, 50, 2},
		{[]int64{1, 2, 3, 4, 5}, 50, 3},
		{[]int64{1, 2, 3, 4}, 99, 4},
	} {
		if got := nearestRank(c.sorted, c.p); got != c.want {
			t.Errorf("p%v of %v is %d, not %d", c.p, c.sorted, got, c.want)
		}
	}
}

func TestMachine(t *testing.T) {
	m := Machine()
	if m.Cores < 1 || m.Kernel == "" || !strings.HasPrefix(m.Go, "go") || !strings.Contains(m.OS, "/") {
		t.Errorf("%+v", m)
	}
	if host, err := os.Hostname(); err == nil && len(host) > 3 && strings.Contains(m.CPU+m.Kernel, host) {
		t.Errorf("%+v names the host %s", m, host)
	}
}

func TestSelfCountsWork(t *testing.T) {
	before, ok := Self()
	if !ok {
		t.Skip("the system does not say")
	}
	var after SelfUsage
	for x := 1; after.CPUSeconds()-before.CPUSeconds() < 0.01; x++ { // work until it shows
		if x%1_000_000 == 0 {
			after, _ = Self()
		}
	}
	d := after.Sub(before)
	if d.UserNS+d.SystemNS < 10_000_000 || d.MaxRSS < 1<<20 || d.MaxRSS != after.MaxRSS || d.Voluntary < 0 {
		t.Errorf("%+v", d)
	}
}

func TestSub(t *testing.T) {
	a := SystemCPU{1, 2, 3, 4, 5, 6, 7, 8}
	if d := a.Sub(a); d != (SystemCPU{}) || a.Total() != 36 || a.Sub(SystemCPU{}) != a {
		t.Errorf("system %+v", d)
	}
	if d := (Throttling{5, 3, 100}).Sub(Throttling{1, 1, 60}); d != (Throttling{4, 2, 40}) {
		t.Errorf("throttling %+v", d)
	}
	if d := (Sched{50, 30, 10}).Sub(Sched{5, 3, 1}); d != (Sched{45, 27, 9}) {
		t.Errorf("sched %+v", d)
	}
}
