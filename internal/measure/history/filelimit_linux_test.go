package history_test

import (
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	ops "github.com/quorumbench/quorumbench/internal/measure/history"
)

// If the file cannot grow, the load continues without waiting for the file, and Close returns the
// error. A limit for the size of files simulates a full disk.
func TestFileThatCannotGrowIsReported(t *testing.T) {
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}
	signal.Ignore(syscall.SIGXFSZ) // so that the write fails, and the process does not end
	defer signal.Reset(syscall.SIGXFSZ)
	path := filepath.Join(t.TempDir(), "a")
	w, err := ops.Create(path, header())
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 4096, Max: before.Max}); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
			t.Error(err)
		}
	}()
	r := w.Recorder()
	for _, o := range sampleOps(1, 20_000) {
		r.Add(&o)
	}
	r.Flush()
	if err := w.Close(); err == nil || !strings.Contains(err.Error(), "file too large") {
		t.Errorf("Close returns %v", err)
	}
}
