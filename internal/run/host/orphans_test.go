package host

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// exitedIdentity returns the identity of an earlier process that had our process ID and has exited.
func exitedIdentity(t *testing.T) Identity {
	t.Helper()
	id, err := Identify(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	id.Start = "1"
	return id
}

// orphan creates a folder below root in the state in which a killed run would leave it.
func orphan(t *testing.T, root string, o owner) string {
	t.Helper()
	dir := filepath.Join(root, claimPrefix+"1")
	if err := os.MkdirAll(filepath.Join(dir, "m1"), 0o700); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, ownerFile), b, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func cleaned(t *testing.T, root string) bool {
	t.Helper()
	removed, err := CleanOrphans(root, OrphanDepth)
	if err != nil {
		t.Logf("%v", err)
	}
	return len(removed) == 1
}

// worker starts a process that works in the folder. The argument `mark` may be empty.
func worker(t *testing.T, dir, mark string) Process {
	t.Helper()
	c := Command{Path: "/bin/sleep", Args: []string{"1000"}, Dir: dir}
	if mark != "" {
		c.Env = []string{mark}
	}
	return start(t, c)
}

func TestRemovesOrphanAndKillsItsProcesses(t *testing.T) {
	root, mark := t.TempDir(), NewMark()
	dir := orphan(t, root, owner{Place: CurrentPlace(), Owner: exitedIdentity(t), Mark: mark})
	p := worker(t, filepath.Join(dir, "m1"), mark.Env()) // the owner file does not list this process
	if !cleaned(t, root) || exists(dir) {
		t.Error("the orphan was not removed")
	}
	waitFor(t, "the exit of the process in the orphan", p.Exited())
}

// In each case, the owner file lists one of this user's processes, but the process lacks the mark
// or does not work in the folder.
func TestKillsOnlyProcessesWithMarkAndFolder(t *testing.T) {
	mark := NewMark()
	elsewhere := t.TempDir()
	for name, c := range map[string]struct{ at, mark string }{
		"neither":                    {elsewhere, ""},
		"only the mark":              {elsewhere, mark.Env()},
		"only the folder":            {"", ""},
		"the folder, another's mark": {"", NewMark().Env()},
	} {
		root := t.TempDir()
		dir := orphan(t, root, owner{})
		if c.at == "" {
			c.at = filepath.Join(dir, "m1")
		}
		p := worker(t, c.at, c.mark)
		orphan(t, root, owner{Place: CurrentPlace(), Owner: exitedIdentity(t), Mark: mark, Processes: []Identity{p.Identity()}})
		if removed, err := CleanOrphans(root, OrphanDepth); len(removed) > 0 || !errors.Is(err, errNotProven) {
			t.Errorf("%s: removed %v, %v", name, removed, err)
		}
		if !p.Identity().Running() || !exists(filepath.Join(dir, "m1")) {
			t.Errorf("%s: the process was killed, or its folder was removed", name)
		}
	}
}

// A malformed mark, such as an empty one, matches no process.
func TestIgnoresMalformedMarks(t *testing.T) {
	if m := NewMark(); !m.Valid() || m == NewMark() {
		t.Errorf("%s", m)
	}
	for _, m := range []Mark{"", "1", Mark(strings.Repeat("A", 32)), Mark(strings.Repeat("0", 31) + "\n"), Mark(strings.Repeat("0", 34))} {
		if m.Valid() || FindMarked(m, "/") != nil {
			t.Errorf("the malformed mark %q was accepted", m)
		}
	}
}

func TestKeepsFolderOfAnUnreachableOwner(t *testing.T) {
	here := CurrentPlace()
	for name, c := range map[string]struct {
		place Place
		goes  bool
	}{
		"another machine":       {Place{Machine: "other", Boot: "other", PIDs: here.PIDs}, false},
		"another PID namespace": {Place{Machine: here.Machine, Boot: here.Boot, PIDs: "pid:[1]"}, true}, // the owner file is not locked, so the owner has exited
		"before the last boot":  {Place{Machine: here.Machine, Boot: "other", PIDs: here.PIDs}, true},
	} {
		root := t.TempDir()
		orphan(t, root, owner{Place: c.place, Owner: Identity{PID: 1, Start: "1"}, Mark: NewMark()})
		if cleaned(t, root) != c.goes {
			t.Errorf("%s: want the folder to be removed: %v", name, c.goes)
		}
	}
}

// CleanOrphans ignores files that another user may have written, linked or replaced.
func TestIgnoresFoldersThatOthersCanChange(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, root, dir string) error{
		"the folder is open to others": func(_ *testing.T, _, dir string) error { return os.Chmod(dir, 0o777) },
		"and to its group":             func(_ *testing.T, _, dir string) error { return os.Chmod(dir, 0o770) },
		"the file is open to others":   func(_ *testing.T, _, dir string) error { return os.Chmod(filepath.Join(dir, ownerFile), 0o666) },
		"the root is open to others":   func(_ *testing.T, root, _ string) error { return os.Chmod(root, 0o777) },
		"the file has a second name": func(_ *testing.T, root, dir string) error {
			return os.Link(filepath.Join(dir, ownerFile), filepath.Join(root, "x"))
		},
		"the file is a link": func(_ *testing.T, root, dir string) error {
			return errors.Join(os.Rename(filepath.Join(dir, ownerFile), filepath.Join(root, "x")), os.Symlink(filepath.Join(root, "x"), filepath.Join(dir, ownerFile)))
		},
		"the file is a FIFO": func(_ *testing.T, _, dir string) error {
			return errors.Join(os.Remove(filepath.Join(dir, ownerFile)), exec.Command("mkfifo", "-m", "600", filepath.Join(dir, ownerFile)).Run())
		},
		"the folder is a link": func(t *testing.T, _, dir string) error {
			away := filepath.Join(t.TempDir(), "x")
			return errors.Join(os.Rename(dir, away), os.Symlink(away, dir))
		},
		"the folder is another user's": func(t *testing.T, _, dir string) error {
			asRoot(t)
			return os.Chown(dir, unprivilegedUser, unprivilegedUser)
		},
		"the file is another user's": func(t *testing.T, _, dir string) error {
			asRoot(t)
			return os.Chown(filepath.Join(dir, ownerFile), unprivilegedUser, unprivilegedUser)
		},
		"the root is another user's": func(t *testing.T, root, _ string) error {
			asRoot(t)
			return os.Chown(root, unprivilegedUser, unprivilegedUser)
		},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			dir := orphan(t, root, owner{Place: CurrentPlace(), Owner: exitedIdentity(t), Mark: NewMark()})
			if err := spoil(t, root, dir); err != nil {
				t.Fatal(err)
			}
			if cleaned(t, root) || !exists(dir) {
				t.Error("a folder that another user can change was removed")
			}
		})
	}
}

// unprivilegedUser is the ID of a user that owns no files.
const unprivilegedUser = 65534

func asRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can give a file to another user")
	}
}

// CleanOrphans removes orphans from a sticky folder to which everyone can write, such as /tmp,
// because other users cannot replace orphans there.
func TestOrphanInAFolderLikeTmp(t *testing.T) {
	root := t.TempDir()
	if err := os.Chmod(root, 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
	orphan(t, root, owner{Place: CurrentPlace(), Owner: exitedIdentity(t), Mark: NewMark()})
	if !HasClaims(root) || !cleaned(t, root) || HasClaims(root) {
		t.Error("the orphan was not removed")
	}
}

// If another folder has taken the claimed folder's name, Release does not empty that other folder.
func TestReleaseRemovesOnlyWhatWasClaimed(t *testing.T) {
	parent := t.TempDir()
	c, err := NewLocal(nil, nil).Claim(t.Context(), parent)
	if err != nil {
		t.Fatal(err)
	}
	precious := filepath.Join(t.TempDir(), "precious")
	if err := errors.Join(os.Rename(c.Path(), filepath.Join(parent, "away")), os.MkdirAll(precious, 0o700),
		os.WriteFile(filepath.Join(precious, "thesis"), nil, 0o600), os.Symlink(precious, c.Path())); err != nil {
		t.Fatal(err)
	}
	if err := c.Release(t.Context()); err != nil {
		t.Log(err)
	}
	if !exists(filepath.Join(precious, "thesis")) || !exists(c.Path()) {
		t.Error("another user's folder was emptied, or its link removed")
	}
	if exists(filepath.Join(parent, "away", ownerFile)) {
		t.Error("the claimed folder was not removed")
	}
}

// RemoveCreatedFolders removes a folder only if it is empty and is the same folder that
// CreateFolders created.
func TestOnlyEmptyCreatedFoldersAreRemoved(t *testing.T) {
	root := t.TempDir()
	made, err := CreateFolders(filepath.Join(root, "a", "b", "c"))
	if err != nil || len(made) != 3 {
		t.Fatal(made, err)
	}
	if again, err := CreateFolders(filepath.Join(root, "a", "b")); err != nil || len(again) != 0 {
		t.Errorf("CreateFolders returned existing folders as created: %v, %v", again, err)
	}
	if err := errors.Join(os.Rename(made[2].Path, filepath.Join(root, "other")), os.Mkdir(made[2].Path, 0o700)); err != nil {
		t.Fatal(err)
	}
	if left := RemoveCreatedFolders(made); len(left) != 2 || !exists(made[2].Path) {
		t.Errorf("another folder with the same name was removed: %v", left)
	}
	if err := os.Remove(made[2].Path); err != nil {
		t.Fatal(err)
	}
	if left := RemoveCreatedFolders(made); len(left) != 0 || exists(made[0].Path) || !exists(root) {
		t.Errorf("RemoveCreatedFolders did not remove %v", left)
	}
}

func TestReach(t *testing.T) {
	here := Place{"machine", "boot", "pid:[1]"}
	for _, c := range []struct {
		place Place
		want  Visibility
	}{
		{here, SamePlace},
		{Place{"machine", "boot", "pid:[2]"}, OtherPIDNamespace},
		{Place{"renamed", "boot", "pid:[1]"}, SamePlace}, // the boot IDs are equal, so this is the same machine
		{Place{"machine", "later", "pid:[1]"}, Rebooted},
		{Place{"other", "later", "pid:[1]"}, OtherHost},
		{Place{}, OtherHost},
	} {
		if got := c.place.visibilityFrom(here); got != c.want {
			t.Errorf("%+v: %d, not %d", c.place, got, c.want)
		}
	}
	if CurrentPlace().Visibility() != SamePlace {
		t.Error("the current place is not recognized as the same place")
	}
}
