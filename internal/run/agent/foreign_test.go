package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/run/host"
)

// An agent rejects a folder that contains files that no agent created.
func TestFoldersWithForeignFilesAreRefused(t *testing.T) {
	for _, dir := range []string{"/", "/etc"} {
		if err := rejectForeignEntries(opened(t, dir)); err == nil || !strings.Contains(err.Error(), "specify an empty folder with --dir") {
			t.Errorf("%s: %v", dir, err)
		}
	}
	dir := t.TempDir()
	for _, own := range []string{"quorumbench-data-1", "ssh.abc", "lost+found"} {
		if err := os.Mkdir(filepath.Join(dir, own), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := rejectForeignEntries(opened(t, dir)); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "\x1b[31mred"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := rejectForeignEntries(opened(t, dir)); err == nil || strings.Contains(err.Error(), "\x1b") {
		t.Errorf("a folder with a foreign file returned: %v", err)
	}
}

func opened(t *testing.T, dir string) *host.Folder {
	t.Helper()
	f, err := host.OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f
}
