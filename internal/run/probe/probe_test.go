package probe

import (
	"math"
	"os"
	"testing"
	"time"
)

func TestFsync(t *testing.T) {
	dir := t.TempDir()
	r, err := Fsync(t.Context(), root(t, dir), 40)
	if err != nil {
		t.Fatal(err)
	}
	if r.Count < 1 || r.Count > 40 || r.P50.Known != (r.Count >= 20) || r.P50.Known && r.P50.NS <= 0 || r.P99.Known || r.FileSystem == "" {
		t.Errorf("result %+v", r)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

// The number of free bytes is at most the largest number in a record, even if a file system reports
// that it has no limit.
func TestFreeBytesAreLimited(t *testing.T) {
	for _, c := range []struct{ blocks, size, want int64 }{
		{0, 4096, 0}, {-3, 4096, 0}, {7, 4096, 28672}, {1 << 41, 4096, 1 << 53}, {1 << 43, 1 << 20, 1 << 53}, {math.MaxInt64, 1 << 20, 1 << 53},
	} {
		if got := freeBytes(c.blocks, c.size); got != c.want {
			t.Errorf("%d free blocks of %d bytes count as %d bytes, want %d", c.blocks, c.size, got, c.want)
		}
	}
}

// A thousand writes are enough for a p99. On a slow disk, the measurement makes as many writes as
// the time limit permits. On a very slow disk, it also ends.
func TestFsyncBounds(t *testing.T) {
	made := func(each time.Duration) (n int) {
		for b := newFsyncBounds(FsyncWrites); b.needsMore(n, time.Duration(n)*each); n++ {
		}
		return n
	}
	for each, want := range map[time.Duration]int{
		100 * time.Microsecond: 1000, 3 * time.Millisecond: 1000, 10 * time.Millisecond: 300,
		50 * time.Millisecond: 100, time.Second: 10, time.Minute: 1,
	} {
		if got := made(each); got != want {
			t.Errorf("with syncs of %v, the number of writes is %d, want %d", each, got, want)
		}
	}
}

func TestDevice(t *testing.T) {
	dir := t.TempDir()
	a, err := Device(dir)
	b, err2 := Device(dir + "/..")
	if err != nil || err2 != nil || a != b {
		t.Errorf("the devices of a folder and its parent are %d and %d, %v, %v", a, b, err, err2)
	}
	if _, err := Device(dir + "/none"); err == nil {
		t.Error("a missing folder has a device")
	}
}

func TestFsyncRefuses(t *testing.T) {
	if _, err := Fsync(t.Context(), root(t, t.TempDir()), 0); err == nil {
		t.Error("a measurement of 0 writes succeeded")
	}
}

func root(t *testing.T, dir string) *os.Root {
	t.Helper()
	r, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() }) // nothing was written to the file
	return r
}

// A percentile is unknown if fewer than ten values are greater: the largest of 100 values is not
// their p99.
func TestNearestRank(t *testing.T) {
	upTo := func(n int) (all []int64) {
		for i := range n {
			all = append(all, int64(i+1))
		}
		return all
	}
	for _, c := range []struct {
		n, p int
		want float64 // 0 if unknown
	}{
		{1, 50, 0}, {19, 50, 0}, {20, 50, 10}, {21, 50, 11}, {100, 50, 50}, {100, 99, 0}, {999, 99, 0}, {1000, 99, 990}, {2000, 99, 1980},
	} {
		if got := nearestRank(upTo(c.n), c.p); got.Known != (c.want > 0) || got.NS != c.want {
			t.Errorf("p%d of 1 to %d is %+v, not %v", c.p, c.n, got, c.want)
		}
	}
}

func TestMachine(t *testing.T) {
	m := Machine()
	if m.Name == "" || m.CPUs < 1 || m.Kernel == "" || m.System == "" || m.Architecture == "" {
		t.Errorf("%+v", m)
	}
}

func TestSelfCountsWork(t *testing.T) {
	before := Self()
	if before.MaxRSS < 1<<20 {
		t.Errorf("%+v", before)
	}
	after := before
	for x := 1; after.CPUSeconds-before.CPUSeconds < 0.01; x++ { // until the time is measurable
		if x%1_000_000 == 0 {
			after = Self()
		}
	}
	if after.MaxRSS < before.MaxRSS {
		t.Errorf("%+v, then %+v", before, after)
	}
}

func TestSub(t *testing.T) {
	a := SystemCPU{1, 2, 3, 4, 5, 6, 7, 8}
	if d := a.Sub(a); d != (SystemCPU{}) || a.Total() != 36 || a.Sub(SystemCPU{}) != a {
		t.Errorf("system %+v", d)
	}
	if d := (Sched{50, 30, 10}).Sub(Sched{5, 3, 1}); d != (Sched{45, 27, 9}) {
		t.Errorf("sched %+v", d)
	}
}
