package files

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFullDiskIsReported checks that Close returns the error of a block that did not fit on the
// disk.
func TestFullDiskIsReported(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("there is no /dev/full")
	}
	w, err := CreateBlocks(filepath.Join(t.TempDir(), "a"), "test\n", "the test", "header", 1<<16)
	if err != nil {
		t.Fatal(err)
	}
	_ = w.f.Close()
	w.f = full
	n := w.Bytes()
	w.WriteBlock([]byte("block"), 1)
	w.WriteBlock([]byte("block"), 1)
	if err := w.Close(true); err == nil || !strings.Contains(err.Error(), "cannot write the test: ") || !strings.Contains(err.Error(), "no space left") || w.Bytes() != n {
		t.Errorf("%d bytes were written after the header; the error is %v", w.Bytes()-n, err)
	}
}
