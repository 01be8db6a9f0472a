package agent

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// An agent empties folders, and mounts disks on them, only below the session's data folders.
func TestEmptiesOnlyDataFolders(t *testing.T) {
	s, to := served(t, nil)
	h := dialled(t, to).Host()
	ctx := t.Context()
	sibling := filepath.Join(string(s.folder), "sibling")
	if err := h.MakeDir(ctx, filepath.Join(sibling, "sub")); err != nil {
		t.Fatal(err)
	}
	c, err := h.Claim(ctx, filepath.Join(string(s.folder), "data"))
	if err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(c.Path(), "m1", "data")
	if err := h.MakeDir(ctx, filepath.Join(data, "member")); err != nil {
		t.Fatal(err)
	}
	empty := func(dir string) error { return h.Empty(ctx, dir) }
	disk := func(dir string) error {
		d, err := h.Disk(ctx, "", dir)
		if err == nil {
			d.Close()
		}
		return err
	}
	for _, dir := range []string{sibling, c.Path(), string(s.folder), filepath.Dir(string(s.folder)), c.Path() + "/../../sibling", "/", ""} {
		for _, err := range []error{empty(dir), disk(dir)} {
			if err == nil || !strings.Contains(err.Error(), "data folder of this session") && !strings.Contains(err.Error(), "outside the agent's folder") || strings.Contains(err.Error(), "\n") {
				t.Errorf("%q: %v", dir, err)
			}
		}
	}
	if _, err := os.Stat(filepath.Join(sibling, "sub")); err != nil {
		t.Error(err)
	}
	if err := empty(data); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(data, "member")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the data folder was not emptied: %v", err)
	}
	if err := empty(filepath.Join(c.Path(), "nothing")); err == nil {
		t.Error("a missing folder was emptied")
	}
	if err := c.Release(ctx); err != nil {
		t.Fatal(err)
	}
	if err := empty(data); err == nil {
		t.Error("a released folder was emptied")
	}
}
