package files

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
)

// An error of the disk is returned unchanged. It does not count as the end of the file.
func TestReadErrorsAreReturned(t *testing.T) {
	errDisk, errForeign := errors.New("input/output error"), errors.New("foreign")
	whole := appendFrame([]byte("sig"), []byte(`"header"`), 0, 8)
	for n := range len(whole) {
		var header string
		if err := ReadBlockHeader(io.MultiReader(bytes.NewReader(whole[:n]), iotest.ErrReader(errDisk)), "sig", errForeign, &header); !errors.Is(err, errDisk) {
			t.Errorf("after %d bytes, the error is %v, want %v", n, err, errDisk)
		}
		if err := ReadBlockHeader(bytes.NewReader(whole[:n]), "sig", errForeign, &header); err == nil || n < 3 && !errors.Is(err, errForeign) {
			t.Errorf("if the file ends after %d bytes, the error is %v", n, err)
		}
		var f Frame
		if err := f.Read(io.MultiReader(bytes.NewReader(whole[min(3, n):n]), iotest.ErrReader(errDisk))); !errors.Is(err, errDisk) {
			t.Errorf("after %d bytes, reading a frame returns %v, want %v", n, err, errDisk)
		}
		if err := f.Read(bytes.NewReader(whole[min(3, n):n])); !errors.Is(err, ErrIncomplete) {
			t.Errorf("if the file ends after %d bytes, reading a frame returns %v, want %v", n, err, ErrIncomplete)
		}
	}
}

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
