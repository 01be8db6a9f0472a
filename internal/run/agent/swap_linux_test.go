package agent

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/quorumbench/quorumbench/internal/run/host"
)

const secret = "not the agent's"

// victim creates a folder that looks like a member's folder but is outside the agent's folder. The
// function `check` reports an error if this folder has changed.
func victim(t *testing.T) (dir string, check func()) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "m1")
	for _, file := range []string{"log", "data/keep", "f"} {
		path := filepath.Join(dir, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(secret+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir, func() {
		t.Helper()
		var all []string
		err := fs.WalkDir(os.DirFS(dir), ".", func(path string, e fs.DirEntry, err error) error {
			if err == nil && !e.IsDir() {
				b, _ := os.ReadFile(filepath.Join(dir, path))
				path += "=" + strings.TrimSpace(string(b))
			}
			all = append(all, path)
			return err
		})
		if got, want := strings.Join(all, ","), ".,data,data/keep=X,f=X,log=X"; err != nil || got != strings.ReplaceAll(want, "X", secret) {
			t.Errorf("the folder outside the agent's folder contains %s, %v", got, err)
		}
	}
}

// member creates a member's folder in a claimed folder.
func member(t *testing.T, h host.Host, in string) (c host.Claim, dir string) {
	t.Helper()
	c, err := h.Claim(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(c.Path(), "m1")
	if err := h.MakeDir(t.Context(), filepath.Join(dir, "data")); err != nil {
		t.Fatal(err)
	}
	return c, dir
}

// When the folder of a running member is replaced by a symbolic link, an agent reads, writes and
// removes nothing outside its own folder.
func TestSwappedLinkIsNotFollowed(t *testing.T) {
	s, to := served(t, nil)
	s.launch = anything
	h := dialled(t, to).Host()
	ctx := t.Context()
	outside, unchanged := victim(t)
	c, m1 := member(t, h, string(s.folder))
	log := filepath.Join(m1, "log")
	p, err := h.Start(ctx, host.Command{Path: "sh", Args: []string{"-c", "echo ready; exec cat"}, Dir: m1, LogFile: log, Lifeline: "A=b"})
	if err != nil {
		t.Fatal(err)
	}
	followed, err := h.Follow(ctx, []string{log})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(m1, m1+".kept"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, m1); err != nil {
		t.Fatal(err)
	}
	refused := func(name string, err error) {
		t.Helper()
		if err == nil || !strings.HasPrefix(err.Error(), "agent there: ") || !strings.Contains(err.Error(), m1+" is a symbolic link") {
			t.Errorf("%s: %v", name, err)
		}
	}
	var read bytes.Buffer
	for name, do := range uses(ctx, h, string(s.folder), log, &read) {
		if name != "WriteFile" { // rejected because the path is in a data folder, whether it is a link or not
			refused(name, do())
		}
	}
	refused("Empty", h.Empty(ctx, filepath.Join(m1, "data")))
	_, err = h.Disk(ctx, "", filepath.Join(m1, "data"))
	refused("Disk", err)
	_, err = h.Start(ctx, host.Command{Path: "sh", Dir: m1})
	refused("Start", err)
	_, err = h.Start(ctx, host.Command{Path: "sh", Dir: c.Path(), LogFile: log})
	refused("Start with a log", err)
	lines, _, err := followed.Read(ctx)
	for _, line := range lines {
		read.Write(line.Text)
	}
	if err != nil {
		t.Error(err)
	}
	if err := p.Signal(ctx, host.Kill); err != nil {
		t.Error(err)
	}
	<-p.Exited()
	read.WriteString(strings.Join(p.Exit().Tail, "\n"))
	if strings.Contains(read.String(), secret) {
		t.Errorf("a file outside the agent's folder was read: %q", read.String())
	}
	unchanged()
	if err := c.Release(ctx); err != nil {
		t.Error(err)
	}
	unchanged()
	if _, err := os.Lstat(c.Path()); err == nil {
		t.Errorf("the folder %s was not removed", c.Path())
	}
}

// An agent is also safe if folders are replaced by symbolic links while requests are running.
func TestLinksSwappedConcurrently(t *testing.T) {
	s, to := served(t, nil)
	h := dialled(t, to).Host()
	ctx := t.Context()
	outside, unchanged := victim(t)
	link := filepath.Join(string(s.folder), "link")
	if err := os.Symlink(outside, link); err != nil {
		t.Fatal(err)
	}
	c, m1 := member(t, h, string(s.folder))
	plain := filepath.Join(string(s.folder), "plain")
	if err := h.MakeDir(ctx, plain); err != nil {
		t.Fatal(err)
	}
	over, swapped := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			for _, dir := range []string{m1, plain} {
				for range 2 { // exchange the two names, and then restore them
					if err := unix.Renameat2(unix.AT_FDCWD, link, unix.AT_FDCWD, dir, unix.RENAME_EXCHANGE); err != nil {
						swapped <- err
						return
					}
				}
			}
			select {
			case <-over:
				swapped <- nil
				return
			default:
			}
		}
	}()
	var read bytes.Buffer
	for range 150 {
		_ = h.MakeDir(ctx, filepath.Join(plain, "new"))
		_ = h.WriteFile(ctx, filepath.Join(plain, "f"), []byte("x"))
		_, _ = h.CopyLog(ctx, filepath.Join(plain, "log"), &read)
		_ = h.Empty(ctx, filepath.Join(m1, "data"))
		if d, err := h.Claim(ctx, plain); err == nil {
			_ = d.Release(ctx)
		}
	}
	close(over)
	if err := <-swapped; err != nil {
		t.Skipf("names cannot be exchanged here: %v", err)
	}
	if strings.Contains(read.String(), secret) {
		t.Errorf("a file outside the agent's folder was read: %q", read.String())
	}
	unchanged()
	if err := c.Release(ctx); err != nil {
		t.Error(err)
	}
	unchanged()
}
