package agent

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/run/host"
)

// real returns the path of a temporary folder, without symbolic links, in the form that an agent
// uses.
func real(t *testing.T) folder {
	t.Helper()
	path, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return folder(path)
}

func traversals(inside string) []string {
	return []string{
		"", ".", "..", "a", "/", "/etc/passwd", inside + "/../x", inside + "/a/../../x", inside + "x", inside + "/./a", inside + "//a", inside + "/a/",
		"../" + inside, inside + "/\x00", inside + "/" + strings.Repeat("a/", 4000) + "b", filepath.Dir(inside), `\\` + inside, inside + "/..",
	}
}

func TestNoPathLeavesTheFolder(t *testing.T) {
	f := real(t)
	for _, path := range traversals(string(f)) {
		if err := f.check(path); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", path, err)
		}
	}
	for _, path := range []string{string(f), string(f) + "/a", string(f) + "/a/b/..c"} {
		if err := f.check(path); err != nil {
			t.Error(err)
		}
	}
}

// Every path that is sent to an agent is checked against the agent's folder.
func TestTraversalInEveryName(t *testing.T) {
	s, to := served(t, nil)
	s.launch = anything
	h := dialled(t, to).Host()
	ctx := t.Context()
	inside := string(s.folder)
	for _, path := range traversals(inside) {
		for name, do := range uses(ctx, h, inside, path, io.Discard) {
			if err := do(); err == nil || !strings.HasPrefix(err.Error(), "agent there: ") || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s %q: %v", name, path, err)
			}
		}
	}
	if left, err := os.ReadDir(inside); err != nil || len(left) != 0 {
		t.Errorf("the requests left %v, %v", left, err)
	}
	if err := h.WriteFile(ctx, filepath.Join(inside, "f"), []byte("x")); err != nil {
		t.Error(err)
	}
}

// uses returns a function for each request that opens a file or folder by its path.
func uses(ctx context.Context, h host.Host, inside, path string, read io.Writer) map[string]func() error {
	return map[string]func() error{
		"MakeDir":   func() error { return h.MakeDir(ctx, path) },
		"WriteFile": func() error { return h.WriteFile(ctx, path, []byte("x")) },
		"Claim":     func() error { _, err := h.Claim(ctx, path); return err },
		"Follow":    func() error { _, err := h.Follow(ctx, []string{inside, path}); return err },
		"Weigh":     func() error { _, _, err := h.MeasureFolders(ctx, []string{inside, path}); return err },
		"CopyLog":   func() error { _, err := h.CopyLog(ctx, path, read); return err },
		"Fsync":     func() error { _, err := h.Fsync(ctx, []string{inside, path}, 1); return err },
	}
}

// No request follows a symbolic link in the agent's folder, wherever the link leads.
func TestNoLinkIsFollowed(t *testing.T) {
	s, to := served(t, nil)
	s.launch = anything
	h := dialled(t, to).Host()
	inside := string(s.folder)
	if err := os.Mkdir(filepath.Join(inside, "a"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"out": "/etc", "up": "..", "dangling": "/nowhere/at/all", "in": "a"} {
		if err := os.Symlink(to, filepath.Join(inside, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"out", "out/passwd", "dangling", "dangling/x", "up/x", "in", "in/b"} {
		path = filepath.Join(inside, path)
		all := uses(t.Context(), h, inside, path, io.Discard)
		all["Start"] = func() error {
			_, err := h.Start(t.Context(), host.Command{Path: "sh", Dir: inside, LogFile: path})
			return err
		}
		for name, do := range all {
			if err := do(); err == nil || !strings.HasPrefix(err.Error(), "agent there: ") || !strings.Contains(err.Error(), "is a symbolic link, but must be a file or folder; remove the link") {
				t.Errorf("%s %q: %v", name, path, err)
			}
		}
	}
}

// No file is created outside an agent's folder, whatever name is requested and wherever symbolic
// links lead.
func TestFilesStayInTheFolder(t *testing.T) {
	s, to := served(t, nil)
	s.launch = anything
	h := dialled(t, to).Host()
	ctx := t.Context()
	inside, outside := string(s.folder), t.TempDir()
	victim := filepath.Join(outside, "victim")
	if err := os.WriteFile(victim, []byte("theirs"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"f.new": victim, "log": filepath.Join(outside, "made")} {
		if err := os.Symlink(target, filepath.Join(inside, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.WriteFile(ctx, inside, []byte("x")); err == nil || !strings.Contains(err.Error(), "its own folder") {
		t.Errorf("writing to the agent's folder itself returned: %v", err)
	}
	if _, err := os.Lstat(inside + ".new"); err == nil {
		t.Errorf("the file %s.new was created", inside)
	}
	if err := h.WriteFile(ctx, filepath.Join(inside, "f"), []byte("x")); err != nil {
		t.Error(err)
	}
	if b, err := os.ReadFile(victim); err != nil || string(b) != "theirs" {
		t.Errorf("the file outside is now %q, %v", b, err)
	}
	if err := h.WriteFile(ctx, filepath.Join(inside, "log"), []byte("x")); err == nil {
		t.Error("a write through a dangling link succeeded")
	}
}

func TestKeysStayOutsideTheFolder(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	for _, path := range []string{filepath.Join(dir, "k"), filepath.Join(elsewhere, "k")} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{filepath.Join(elsewhere, "in"): filepath.Join(dir, "k"), filepath.Join(dir, "out"): filepath.Join(elsewhere, "k"), filepath.Join(elsewhere, "dir"): dir} {
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
	}
	for path, ok := range map[string]bool{
		filepath.Join(elsewhere, "k"): true, filepath.Join(dir, "k"): false, filepath.Join(dir, "missing"): false,
		filepath.Join(elsewhere, "in"): false, filepath.Join(dir, "out"): false, filepath.Join(elsewhere, "dir", "k"): false,
	} {
		if err := CheckOutsideFolder(dir, path); (err == nil) != ok {
			t.Errorf("%s: %v", path, err)
		}
	}
	if err := CheckOutsideFolder(filepath.Join(elsewhere, "not", "yet"), filepath.Join(elsewhere, "k")); err != nil {
		t.Error(err)
	}
}

// A path is either within the folder or rejected.
func FuzzFolder(f *testing.F) {
	for _, path := range traversals("/srv/agent") {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		const inside = folder("/nowhere/agent")
		if inside.check(path) == nil {
			t.Errorf("the path %q was accepted although the agent's folder does not exist", path)
		}
		if inside.contains(path) && filepath.Clean(path) == path && !filepath.IsLocal(strings.TrimPrefix(strings.TrimPrefix(path, string(inside)), "/")) && path != string(inside) {
			t.Errorf("the path %q is outside the folder, but contains reports that it is inside", path)
		}
	})
}
