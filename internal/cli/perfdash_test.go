package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/cli/command"
)

// In a folder that other users can write to, another user can predict the name of the report and
// create a link with that name. The program must replace the link without changing its target.
func TestPerfdashReportFollowsNoLink(t *testing.T) {
	endpoints := startNullServer(t)
	dir := t.TempDir()
	t.Setenv("ARTIFACTS", dir)
	precious := filepath.Join(t.TempDir(), "precious")
	if err := os.WriteFile(precious, []byte("thesis"), 0o600); err != nil {
		t.Fatal(err)
	}
	for second := range 120 {
		at := time.Now().Add(time.Duration(second) * time.Second).UTC().Format(time.RFC3339)
		if err := os.Symlink(precious, filepath.Join(dir, fmt.Sprintf("EtcdAPI_benchmark_put_%s.json", at))); err != nil {
			t.Fatal(err)
		}
	}
	put := []string{"bench", "put", "--endpoints", endpoints, "--total", "1000", "--report-perfdash"}
	var stderr strings.Builder
	if code := Main(put, strings.NewReader(""), io.Discard, &stderr); code != command.ExitSuccess {
		t.Fatalf("exit code %d: %s", code, stderr.String())
	}
	_, path, found := strings.Cut(stderr.String(), "the perfdash report is in ")
	path, _, _ = strings.Cut(path, "\n")
	info, err := os.Lstat(path)
	if !found || err != nil || !info.Mode().IsRegular() {
		t.Errorf("%q: %v, %v", stderr.String(), info, err)
	}
	if text, err := os.ReadFile(precious); err != nil || string(text) != "thesis" {
		t.Errorf("the target of the link contains %q, %v", text, err)
	}

	// If the default folder is a link, the program does not follow it, either.
	t.Setenv("ARTIFACTS", "")
	t.Chdir(t.TempDir())
	away := t.TempDir()
	if err := os.Symlink(away, "_artifacts"); err != nil {
		t.Fatal(err)
	}
	stderr.Reset()
	if code := Main(put, strings.NewReader(""), io.Discard, &stderr); code != command.ExitFailed || !strings.Contains(stderr.String(), "symbolic link") {
		t.Errorf("exit code %d: %s", code, stderr.String())
	}
	if left, err := os.ReadDir(away); err != nil || len(left) > 0 {
		t.Errorf("the link was followed: %v, %v", left, err)
	}
}
