package upload

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestFullDisk checks that the folder contains only complete files if the disk is full.
func TestFullDisk(t *testing.T) {
	there := t.TempDir()
	if err := syscall.Mount("tmpfs", there, "tmpfs", 0, "size=1m"); err != nil {
		t.Skip("a small file system cannot be mounted: ", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(there, 0); err != nil {
			t.Error(err)
		}
	})
	dir := aRun(t, "run", 2, 4<<20)
	refused(t, parse(t, "file://"+there), dir, "the disk of "+there+" is full")
	for _, path := range listFiles(t, there) {
		if strings.HasPrefix(filepath.Base(path), "history") || filepath.Base(path) == manifestName {
			t.Errorf("the destination has the file %s", path)
		}
	}
}
