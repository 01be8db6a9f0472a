package cluster

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/run/host"
)

// bystander starts a process of this user that is not a member. mark may be empty.
func bystander(t *testing.T, dir, mark string) host.Process {
	t.Helper()
	c := host.Command{Path: "/bin/sleep", Args: []string{"1000"}, Dir: dir}
	if mark != "" {
		c.Env = []string{mark}
	}
	p, err := host.NewLocal(nil, nil).Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Signal(context.Background(), host.Kill); <-p.Exited() })
	return p
}

// refused checks that Down does nothing and returns a one-line reason.
func refused(t *testing.T, dir string, says string) {
	t.Helper()
	s, err := Down(t.Context(), dir)
	if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "\n") || len(s.StoppedMembers)+len(s.ExitedMembers) > 0 {
		t.Errorf("Down in %s returned %+v, %v", dir, s, err)
	}
	if _, err := os.Stat(filepath.Join(dir, stateFile)); err != nil {
		t.Errorf("the state file was removed: %v", err)
	}
}

// If a state file was edited to list folders that Up does not create, or if the folders that Up
// created were replaced, Down removes nothing.
func TestDownRemovesOnlyWhatUpMade(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, p *Playground) error{
		"the folder itself": func(_ *testing.T, p *Playground) error { p.Members[0].Name = "./"; return nil },
		"around a corner":   func(_ *testing.T, p *Playground) error { p.Members[1].Name = "m1/.."; return nil },
		"outside":           func(_ *testing.T, p *Playground) error { p.Members[1].Name = "../precious"; return nil },
		"a foreign folder":  func(_ *testing.T, p *Playground) error { p.Members[1].Name = "foreigndir"; return nil },
		"a foreign member": func(_ *testing.T, p *Playground) error {
			p.Members = append(p.Members, PlaygroundMember{Name: "m3"})
			return os.MkdirAll(filepath.Join(p.Dir, "m3", "precious"), 0o700)
		},
		"a name twice": func(_ *testing.T, p *Playground) error { p.Members[1].Name = "m1"; return nil },
		"too many members": func(_ *testing.T, p *Playground) error {
			for i := len(p.Members); i <= kv.MaxMembers; i++ {
				p.Members = append(p.Members, PlaygroundMember{Name: memberName(i)})
			}
			return nil
		},
		"a link": func(t *testing.T, p *Playground) error {
			m1 := filepath.Join(p.Dir, "m1")
			return errors.Join(os.Remove(m1), os.Symlink(filepath.Join(p.Dir, "foreigndir"), m1))
		},
		"another folder": func(t *testing.T, p *Playground) error {
			m1 := filepath.Join(p.Dir, "m1")
			return errors.Join(os.Rename(m1, m1+"-old"), os.Mkdir(m1, 0o700))
		},
		"a file": func(t *testing.T, p *Playground) error {
			m1 := filepath.Join(p.Dir, "m1")
			return errors.Join(os.Rename(m1, m1+"-old"), os.WriteFile(m1, nil, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			p := asLeft(t, dir, 2)
			precious := []string{filepath.Join(dir, "foreigndir", "thesis"), filepath.Join(dir, "thesis"), filepath.Join(dir, "m2", "thesis")}
			if err := os.Mkdir(filepath.Dir(precious[0]), 0o700); err != nil {
				t.Fatal(err)
			}
			for _, path := range precious {
				if err := os.WriteFile(path, nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := spoil(t, p); err != nil {
				t.Fatal(err)
			}
			rewrite(t, p)
			refused(t, dir, "")
			for _, path := range precious {
				if _, err := os.Stat(path); err != nil {
					t.Errorf("%v", err)
				}
			}
		})
	}
}

// The state file lists a running process that does not belong to the cluster.
func TestDownEndsOnlyProvenMembers(t *testing.T) {
	dir := t.TempDir()
	p := asLeft(t, dir, 1)
	foreign := bystander(t, t.TempDir(), p.Mark.Env())
	p.Members[0].Process = foreign.Identity()
	rewrite(t, p)
	refused(t, dir, "it is not certain that the process is this member")
	p.Members[0].Process = bystander(t, filepath.Join(dir, "m1"), "").Identity()
	rewrite(t, p)
	refused(t, dir, "it is not certain that the process is this member")
	if !foreign.Identity().Running() || !p.Members[0].Process.Running() {
		t.Error("a process that is not a member was ended")
	}
}

// Up was killed after it had started a member and before it recorded the member's process.
func TestDownEndsUnrecordedMembers(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "play")
	p := asLeft(t, dir, 3)
	member := bystander(t, filepath.Join(dir, "m2"), p.Mark.Env())
	if err := checkVacant(dir); !errors.Is(err, ErrAlreadyRunning) || !strings.Contains(err.Error(), "1 of 3 members") {
		t.Errorf("Up returned while a member was running: %v", err)
	}
	s, err := Down(t.Context(), dir)
	if err != nil || strings.Join(s.StoppedMembers, ",") != "m2" || strings.Join(s.ExitedMembers, ",") != "m1,m3" {
		t.Errorf("Down returned %+v, %v", s, err)
	}
	<-member.Exited()
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder was not removed: %v", err)
	}
}

func TestDownRefusesUnreachableMembers(t *testing.T) {
	dir := t.TempDir()
	p := asLeft(t, dir, 1)
	here := p.Place
	p.Place.PIDs = "pid:[1]"
	rewrite(t, p)
	refused(t, dir, "another PID namespace")
	if err := checkVacant(dir); !errors.Is(err, ErrAlreadyRunning) {
		t.Errorf("Up returned: %v", err)
	}
	p.Place = host.Place{Machine: "other", Boot: "other"}
	rewrite(t, p)
	refused(t, dir, "another machine")

	p.Place = here
	self, err := host.Identify(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	p.Starter = &self
	rewrite(t, p)
	refused(t, dir, "is starting the cluster")

	p.Starter = nil
	p.Place.Boot, p.Folder.Device, p.Members[0].Folder.Device = "before", 0, 0 // device numbers may change when the machine is rebooted
	rewrite(t, p)
	if s, err := Down(t.Context(), dir); err != nil || strings.Join(s.ExitedMembers, ",") != "m1" {
		t.Errorf("Down after a reboot returned %+v, %v", s, err)
	}
}

// A folder that existed before Up remains. Everything that Up created is removed.
func TestDownLeavesTheUsersFolder(t *testing.T) {
	for name, made := range map[string]bool{"the user's": false, "ours": true} {
		dir := filepath.Join(t.TempDir(), "play")
		if !made {
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		asLeft(t, dir, 1)
		if _, err := Down(t.Context(), dir); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(dir); (err == nil) == made {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRefusesFolderThatOthersCanWrite(t *testing.T) {
	dir := t.TempDir()
	asLeft(t, dir, 1)
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	refused(t, dir, "other users have write access to")
	empty := t.TempDir()
	if err := os.Chmod(empty, 0o777); err != nil {
		t.Fatal(err)
	}
	p := &Playground{Dir: empty}
	if _, err := p.create(); !errors.Is(err, ErrForeign) {
		t.Errorf("Up returned: %v", err)
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can give a folder to another user")
	}
	if err := errors.Join(os.Chmod(dir, 0o755), os.Chown(dir, 65534, 65534)); err != nil {
		t.Fatal(err)
	}
	refused(t, dir, "belongs to another user")
	if _, err := Load(dir); !errors.Is(err, ErrForeign) {
		t.Errorf("Status returned: %v", err)
	}
}

// Whatever a state file contains, Down removes only files and folders that Up creates, and kills no
// other process.
func FuzzStateFile(f *testing.F) {
	const mark = `"mark":"0123456789abcdef0123456789abcdef"`
	for _, state := range []string{
		"", "{", "null", `{"schema":1}`, `{"schema":2,` + mark + `}`,
		`{"schema":2,` + mark + `,"members":[{"name":"m1"},{"name":"m2","process":{"pid":1,"start":"1"}}]}`,
		`{"schema":2,` + mark + `,"members":[{"name":"./"}]}`,
		`{"schema":2,` + mark + `,"members":[{"name":"m1/.."}],"made":[{"path":"/","id":{"device":1,"inode":2}}]}`,
	} {
		f.Add([]byte(state), true)
	}
	f.Fuzz(func(t *testing.T, state []byte, known bool) {
		parent := t.TempDir()
		dir := filepath.Join(parent, "play")
		p := asLeft(t, dir, 2)
		for _, path := range []string{filepath.Join(dir, "thesis"), filepath.Join(parent, "thesis")} {
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if known { // fill in the parts that a fuzzer cannot guess
			if edited, err := parse(state, dir); err == nil && edited.Mark != "" {
				edited.Place, edited.Folder = p.Place, p.Folder
				for i := range min(len(p.Members), len(edited.Members)) {
					edited.Members[i].Folder = p.Members[i].Folder
				}
				state, _ = edited.encode()
			}
		}
		if err := os.WriteFile(filepath.Join(dir, stateFile), state, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Down(t.Context(), dir)
		if len(s.StoppedMembers) > 0 || err == nil && !s.Existed {
			t.Errorf("Down returned %+v, %v", s, err)
		}
		for _, path := range []string{filepath.Join(dir, "thesis"), filepath.Join(parent, "thesis")} {
			if _, err := os.Stat(path); err != nil {
				t.Errorf("%v", err)
			}
		}
	})
}
