//go:build linux

package e2e_test

import (
	"io/fs"
	"path/filepath"
	"testing"

	"github.com/quorumbench/quorumbench/internal/results/record"
)

// Only the user can read or change a run directory, because it contains addresses, paths and
// members' logs.
func TestRunDirectoryIsPrivate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const one = `
trials:
  - {store: etcd, members: 1, operation: put, clients: 1, key-space: 10, total: 20, warmup: 0s}
`
	w.run(t, "run", w.file(t, "one.yaml", one), "--out", w.path("run"))
	openRun(t, w.path("run"), record.Complete)
	var logs int
	err := filepath.WalkDir(w.path("run"), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		if filepath.Ext(path) == ".log" {
			logs++
		}
		return err
	})
	if err != nil || logs == 0 {
		t.Errorf("the run has %d log files, %v", logs, err)
	}
}
