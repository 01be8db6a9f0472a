package hosts

import (
	"context"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/run/probe"
)

// survey tests that the host measures its limits, its disk and the network, and leaves no file.
func (s suite) survey(t *testing.T) {
	p, err := s.Limits(t.Context(), s.dir)
	if err != nil || p.FileSystem == "" || p.FreeBytes == 0 || p.MemoryBytes == 0 {
		t.Errorf("%+v, %v", p, err)
	}
	dir := filepath.Join(s.dir, "survey")
	if err := s.MakeDir(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	w := probe.PacedWrites{Sizes: []int{2300, 4120}, Interval: 10 * time.Millisecond, Duration: 3 * time.Second}
	var all []measure.WrittenSecond
	err = s.WriteLog(t.Context(), dir, w, func(one measure.WrittenSecond) bool {
		all = append(all, one)
		return len(all) < 2
	})
	if err != nil || len(all) < 2 || len(all[0].WaitNS) != 100 || slices.Min(all[0].WaitNS) <= 0 || all[1].First != 100 {
		t.Errorf("WriteLog reported %d seconds of writes: %v", len(all), err)
	}
	s.isEmpty(t, dir)
	ctx, cancel := context.WithCancel(t.Context())
	if err := s.WriteLog(ctx, dir, w, func(measure.WrittenSecond) bool { cancel(); return true }); err != nil {
		t.Errorf("WriteLog returned an error after its context was cancelled: %v", err)
	}
	s.isEmpty(t, dir)
	if err := s.WriteLog(t.Context(), dir, probe.PacedWrites{}, func(measure.WrittenSecond) bool { return true }); err == nil {
		t.Error("writes without a size were accepted")
	}
	e, err := s.Echo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	trips, err := s.RoundTrips(t.Context(), e.Address, e.Token, 10)
	if e.Close(); err != nil || len(trips.NS) != 10 {
		t.Errorf("%+v, %v", trips, err)
	}
}

// isEmpty tests that a folder on the host contains no files. It accepts a small size, because even
// an empty folder occupies some space.
func (s suite) isEmpty(t *testing.T, dir string) {
	t.Helper()
	sizes, _, err := s.MeasureFolders(t.Context(), []string{dir})
	if err != nil || sizes[0] > 64<<10 {
		t.Errorf("the size of the folder %s is %v bytes, %v", dir, sizes, err)
	}
}
