package files

import (
	"bytes"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// If the path is not a regular file, Open and Read return an error at once. The error contains the
// type of the file.
func TestOnlyRegularFiles(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := syscall.Mkfifo(at("pipe"), 0o600); err != nil {
		t.Skipf("no pipe can be created here: %v", err)
	}
	if err := os.Symlink("pipe", at("link")); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", at("socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	for path, want := range map[string]string{
		at("pipe"): "a pipe", at("link"): "a pipe", at("socket"): "a socket", dir: "a folder", "/dev/zero": "a device",
	} {
		_, err := Open(path)
		_, again := Read(path, 100)
		if err == nil || again == nil || err.Error() != "read "+path+": it is "+want+" and not a regular file" {
			t.Errorf("%s: Open returned the error %v, and Read returned %v", path, err, again)
		}
	}
	if _, err := Read(at("nothing"), 100); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}

// ReadIn never reads a file outside the folder, whatever the name is and wherever links point.
func TestReadInStaysInTheFolder(t *testing.T) {
	out := t.TempDir()
	dir := filepath.Join(out, "in")
	for _, path := range []string{filepath.Join(dir, "sub"), filepath.Join(out, "other")} {
		if err := os.MkdirAll(path, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"in/sub/f", "other/f"} {
		if err := os.WriteFile(filepath.Join(out, path), []byte(path), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"in/link": "../other", "in/sub/file": "../../other/f", "in/absolute": filepath.Join(out, "other"), "in/inside": "sub"} {
		if err := os.Symlink(to, filepath.Join(out, link)); err != nil {
			t.Skip(err)
		}
	}
	for name, good := range map[string]bool{
		"sub/f": true, "inside/f": true, "../other/f": false, "link/f": false, "sub/file": false, "absolute/f": false, "sub/../../other/f": false,
	} {
		b, err := ReadIn(dir, name, 100)
		if good != (err == nil) || good && string(b) != "in/sub/f" {
			t.Errorf("%s: ReadIn returned %q, error %v", name, b, err)
		}
	}
}

// An error of OpenIn blames a symbolic link only if the target of this link is outside the folder.
func TestOpenInNamesTheLinkThatLeavesTheFolder(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "sub", "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"inside": "sub", "sub/out": "../../other", "loop": "loop", "none": "sub/none"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Skip(err)
		}
	}
	for name, want := range map[string]string{
		"inside/folder":     "it is a folder and not a regular file",
		"inside/out/file":   "inside/out is a symbolic link to a target outside " + dir,
		"sub/out":           "sub/out is a symbolic link to a target outside " + dir,
		"loop":              "too many levels of symbolic links",
		"none":              "no such file or directory",
		"../other":          "path escapes from parent",
		"inside/folder/x/y": "no such file or directory",
	} {
		_, err := OpenIn(dir, name)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(want, "link") && strings.Contains(err.Error(), "symbolic link") {
			t.Errorf("%s: the error is %v, want %q", name, err, want)
		}
	}
}

func TestReadHasALimit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte("12345"), 0o600); err != nil {
		t.Fatal(err)
	}
	if b, err := Read(path, 5); err != nil || string(b) != "12345" {
		t.Errorf("Read returned %q, error %v", b, err)
	}
	if _, err := Read(path, 4); err == nil || !strings.Contains(err.Error(), "it is larger than 4 bytes") {
		t.Errorf("a file that is one byte larger than the limit: %v", err)
	}
	if err := os.Truncate(path, 1<<40); err != nil {
		t.Skipf("this file system cannot hold a file of 1 TiB: %v", err)
	}
	if _, err := Read(path, 1<<20); err == nil || !strings.Contains(err.Error(), "larger than 1 MiB") {
		t.Errorf("1 TiB: %v", err)
	}
	if _, err := ReadAll(bytes.NewReader(make([]byte, 1<<11)), 1<<10); err == nil || !strings.Contains(err.Error(), "larger than 1 KiB") {
		t.Errorf("2 KiB: %v", err)
	}
}
