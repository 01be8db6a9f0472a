//go:build linux

package kubernetes_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// The binary needs no other files. In a root folder that contains only the binary and /proc,
// without a folder for temporary files, `bench` measures and leaves nothing behind.
func TestRunsWithOnlyTheBinary(t *testing.T) {
	needsNode(t)
	root := t.TempDir()
	binary, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "quorumbench"), binary, 0o755); err != nil {
		t.Fatal(err)
	}
	proc := filepath.Join(root, "proc") // every container has /proc
	if err := os.Mkdir(proc, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("proc", proc, "proc", 0, ""); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Unmount(proc, syscall.MNT_DETACH) }()
	c := exec.CommandContext(t.Context(), "/quorumbench", "bench", "put", "--endpoints", etcd, "--total", "200", "--clients", "2", "--prefix", "alone/", "--cleanup")
	c.Dir, c.Env, c.SysProcAttr = "/", []string{}, &syscall.SysProcAttr{Chroot: root}
	out, err := c.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "200") {
		t.Errorf("%v:\n%s", err, out)
	}
	names, err := filepath.Glob(filepath.Join(root, "*"))
	if err != nil || len(names) != 2 {
		t.Errorf("%v: the run left the files %v", err, names)
	}
}
