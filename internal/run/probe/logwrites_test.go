package probe

import (
	"context"
	"math"
	"os"
	"strings"
	"testing"
	"time"
)

func TestLogWritesAreCountedAndRemoved(t *testing.T) {
	dir := t.TempDir()
	w := LogWrites{Dir: dir, RecordBytes: 2300, Records: 50, Duration: time.Minute}
	r, err := w.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if r.Records != 50 || r.Sync.Count != 50 || r.WriteAndSync.Count != 50 || r.Seconds <= 0 || r.Interrupted || r.FileSystem == "" {
		t.Errorf("%+v", r)
	}
	if r.WriteAndSync.Max.NS < r.Sync.Max.NS || r.WriteAndSync.Mean.NS < r.Sync.Mean.NS {
		t.Errorf("a write with its sync took less time than the sync alone: %+v", r)
	}
	empty(t, dir)
}

func TestLogWritesEndWithTheirContext(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	w := LogWrites{Dir: dir, RecordBytes: 10, Records: 1 << 22, Duration: time.Hour, Progress: func(int, time.Duration) { cancel() }}
	r, err := w.Run(ctx)
	if err != nil || !r.Interrupted || r.Records == 0 {
		t.Errorf("%+v, %v", r, err)
	}
	empty(t, dir)
}

// The file is preallocated, so a file that needs more than half of the free space is refused before
// anything is written. The file in this test is larger than a file can be, so that the test never
// fills a disk.
func TestLogWritesLeaveRoomForTheStore(t *testing.T) {
	dir := t.TempDir()
	w := LogWrites{Dir: dir, RecordBytes: 1 << 29, Records: math.MaxInt32, Duration: time.Nanosecond}
	if r, err := w.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "the same amount must remain free") {
		t.Errorf("writes of an exbibyte returned %d records and the error %v, want an error that names the free space", r.Records, err)
	}
	empty(t, dir)
}

func TestLogWritesInAMissingFolder(t *testing.T) {
	w := LogWrites{Dir: t.TempDir() + "/none", RecordBytes: 1, Records: 1, Duration: time.Second}
	if _, err := w.Run(t.Context()); err == nil {
		t.Error("writing to a missing folder succeeded")
	}
}

func empty(t *testing.T, dir string) {
	t.Helper()
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("the folder still contains %v, %v", left, err)
	}
}
