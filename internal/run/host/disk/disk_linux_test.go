package disk

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// mounted mounts a disk at a new folder.
func mounted(t *testing.T) *disk {
	t.Helper()
	if _, err := os.Stat("/dev/fuse"); err != nil {
		t.Skipf("this machine cannot mount a FUSE file system: %v", err)
	}
	dir := t.TempDir()
	at := filepath.Join(dir, "at")
	if err := os.Mkdir(at, 0o700); err != nil {
		t.Fatal(err)
	}
	d, err := mount(at, filepath.Join(dir, "files"))
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.unmount(); err != nil {
			t.Error(err)
		}
	})
	return d
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// tree returns all folders below dir, and all files with their contents.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	must(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil || name == "." {
			return err
		}
		if e.IsDir() {
			all[name] = "a folder"
			return nil
		}
		b, err := os.ReadFile(path)
		all[name] = string(b)
		return err
	}))
	return all
}

// model predicts what survives a power loss. Unlike the disk, which saves overwritten data, the
// model makes a complete copy of the data at each sync.
type model struct {
	next       int
	names      map[string]int // file number by path; -1 for a folder
	data       map[int]string
	synced     map[string]int
	syncedData map[int]string
	lying      bool
}

func (m *model) sync(file int) {
	if m.lying {
		return
	}
	if file >= 0 {
		m.syncedData[file] = m.data[file]
	}
	m.synced = maps.Clone(m.names)
}

func (m *model) writeBack() { m.synced, m.syncedData = maps.Clone(m.names), maps.Clone(m.data) }

func (m *model) powerLoss() {
	m.names, m.data = maps.Clone(m.synced), maps.Clone(m.syncedData)
}

func (m *model) tree() map[string]string {
	all := map[string]string{}
	for name, file := range m.names {
		if all[name] = m.data[file]; file < 0 {
			all[name] = "a folder"
		}
	}
	return all
}

// After a power loss, exactly the data that was synced or written back remains. Data that a lying
// disk only pretended to sync is lost.
func TestPowerLossKeepsSyncedData(t *testing.T) {
	for _, seed := range settle.Sample(t, 3, []int{0, 1, 2, 3, 4, 5, 6, 7}) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			d := mounted(t)
			r := rand.New(rand.NewPCG(uint64(seed), 1))
			m := &model{names: map[string]int{}, data: map[int]string{}, synced: map[string]int{}, syncedData: map[int]string{}}
			for step := range 400 {
				if m.lying = seed%2 == 1 && step%50 >= 30; step%50 == 30 {
					d.do(&request{Set: &Faults{Lying: m.lying}})
				}
				if step%50 == 20 && step%100 < 50 {
					if a := d.do(&request{WriteBack: true}); a.Error != "" {
						t.Fatal(a.Error)
					}
					m.writeBack()
				}
				what := m.step(t, r, d.mountPoint)
				if step%25 == 24 {
					if !maps.Equal(tree(t, d.mountPoint), m.tree()) {
						t.Fatalf("before power loss, step %d, %s: %s", step, what, differing(tree(t, d.mountPoint), m.tree()))
					}
				}
				if step%50 == 49 {
					_, err := d.powerLoss()
					must(t, err)
					m.powerLoss()
					d.do(&request{Set: &Faults{}})
					if got := tree(t, d.mountPoint); !maps.Equal(got, m.tree()) {
						t.Fatalf("after power loss at step %d: %s", step, differing(got, m.tree()))
					}
				}
			}
			if left := slices.Collect(maps.Keys(tree(t, d.names.trash))); len(d.names.pending) == 0 && len(left) > 0 {
				t.Errorf("removed files are still in the trash: %q", left)
			}
		})
	}
}

func differing(got, want map[string]string) string {
	var out []string
	for name := range want {
		if g, ok := got[name]; !ok || g != want[name] {
			out = append(out, fmt.Sprintf("%s has %d bytes (there: %v), and %d are expected", name, len(g), ok, len(want[name])))
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			out = append(out, name+" should not be there")
		}
	}
	return strings.Join(out, "; ")
}

// step performs a random operation on the files of two folders.
func (m *model) step(t *testing.T, r *rand.Rand, dir string) string {
	t.Helper()
	folders := []string{"", "a", "b"}
	folder := folders[r.IntN(3)]
	if _, ok := m.names[folder]; folder != "" && !ok {
		must(t, os.Mkdir(filepath.Join(dir, folder), 0o700))
		m.names[folder] = -1
		return "mkdir " + folder
	}
	name := filepath.Join(folder, fmt.Sprint("f", r.IntN(4)))
	path := filepath.Join(dir, name)
	file, there := m.names[name]
	switch what := r.IntN(10); {
	case !there:
		m.next++
		must(t, os.WriteFile(path, nil, 0o600))
		m.names[name], m.data[m.next] = m.next, ""
		return "create " + name
	case what < 4: // write somewhere
		p := make([]byte, 1+r.IntN(9000))
		for i := range p {
			p[i] = byte('a' + r.IntN(26))
		}
		at := r.IntN(len(m.data[file]) + 1)
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		must(t, err)
		_, err = f.WriteAt(p, int64(at))
		must(t, err)
		must(t, f.Close())
		old := m.data[file]
		m.data[file] = old[:at] + string(p) + old[min(len(old), at+len(p)):]
		return "write " + name
	case what < 6: // sync the file or its folder
		target := path
		if what == 5 {
			target, file = filepath.Dir(path), -1
		}
		f, err := os.Open(target)
		must(t, err)
		must(t, f.Sync())
		must(t, f.Close())
		m.sync(file)
		return "sync " + name
	case what == 6:
		size := r.IntN(12000)
		must(t, os.Truncate(path, int64(size)))
		old := m.data[file]
		m.data[file] = old[:min(size, len(old))] + strings.Repeat("\x00", max(0, size-len(old)))
		return "truncate " + name
	case what == 7:
		must(t, os.Remove(path))
		delete(m.names, name)
		return "remove " + name
	case what == 8:
		to := filepath.Join(folder, fmt.Sprint("f", r.IntN(4)))
		must(t, os.Rename(path, filepath.Join(dir, to)))
		delete(m.names, name)
		m.names[to] = file
		return "rename " + name + " " + to
	default:
		f, err := os.OpenFile(path, os.O_WRONLY|unix.O_DSYNC|os.O_TRUNC, 0)
		must(t, err)
		_, err = f.WriteString("synced at once")
		must(t, err)
		must(t, f.Close())
		m.data[file] = "synced at once"
		m.sync(file)
		return "write and sync " + name
	}
}

// If a file is mapped into memory, as databases do, the mapping must show data that is written to
// the file.
func TestMappedFileShowsWhatIsWritten(t *testing.T) {
	d := mounted(t)
	f, err := os.Create(filepath.Join(d.mountPoint, "db"))
	must(t, err)
	defer func() { _ = f.Close() }()
	must(t, unix.Fallocate(int(f.Fd()), 0, 0, 1<<16))
	mapped, err := unix.Mmap(int(f.Fd()), 0, 1<<16, unix.PROT_READ, unix.MAP_SHARED)
	must(t, err)
	defer func() { must(t, unix.Munmap(mapped)) }()
	for i := range 16 {
		page := bytes.Repeat([]byte{byte('a' + i)}, 4096)
		_, err := f.WriteAt(page, int64(i)*4096)
		must(t, err)
		must(t, unix.Fdatasync(int(f.Fd())))
		if !bytes.Equal(mapped[i*4096:(i+1)*4096], page) {
			t.Fatalf("page %d of the mapping differs from the written data", i)
		}
	}
}

// A full disk accepts only writes that overwrite existing data, and a failing disk accepts no
// writes. Both disks work normally after the fault has ended.
func TestFullAndFailingDisks(t *testing.T) {
	d := mounted(t)
	f, err := os.Create(filepath.Join(d.mountPoint, "f"))
	must(t, err)
	defer func() { _ = f.Close() }()
	write := func(at int64) error { _, err := f.WriteAt([]byte("text"), at); return err }
	must(t, write(0))
	for name, c := range map[string]struct {
		faults                          Faults
		replace, grow, sync, make, room error
	}{
		"none":    {},
		"full":    {faults: Faults{Full: true}, grow: unix.ENOSPC, make: unix.ENOSPC},
		"failing": {faults: Faults{Failing: true}, replace: unix.EIO, grow: unix.EIO, sync: unix.EIO, make: unix.EIO},
	} {
		d.do(&request{Set: &c.faults})
		size, err := f.Stat()
		must(t, err)
		other := filepath.Join(d.mountPoint, name)
		got := [...]error{write(0), write(size.Size()), f.Sync(), os.Mkdir(other, 0o700)}
		for i, want := range [...]error{c.replace, c.grow, c.sync, c.make} {
			if !errors.Is(got[i], want) {
				t.Errorf("%s: operation %d returned %v, want %v", name, i, got[i], want)
			}
		}
	}
	d.do(&request{Set: &Faults{}})
	must(t, f.Sync())
}

// SyncDelay delays syncs but not writes.
func TestSlowSyncs(t *testing.T) {
	d := mounted(t)
	f, err := os.Create(filepath.Join(d.mountPoint, "f"))
	must(t, err)
	defer func() { _ = f.Close() }()
	d.do(&request{Set: &Faults{SyncDelay: 100 * time.Millisecond}})
	_, err = f.WriteString("text")
	must(t, err)
	began := time.Now()
	must(t, f.Sync())
	if took := time.Since(began); took < 100*time.Millisecond {
		t.Errorf("a sync took only %v", took)
	}
}

// Serve unmounts the disk when its input is closed.
func TestServeEndsWithItsInput(t *testing.T) {
	d := mounted(t) // this skips the test if no disk can be mounted
	at := filepath.Join(t.TempDir(), "at")
	must(t, os.Mkdir(at, 0o700))
	in, requests := io.Pipe()
	var out bytes.Buffer
	ended := make(chan error, 1)
	go func() { ended <- Serve(at, filepath.Join(filepath.Dir(at), "files"), in, &out) }()
	_, err := requests.Write([]byte(`{"set":{"full":true}}` + "\n" + `{"power_loss":true}` + "\n"))
	must(t, err)
	must(t, requests.Close())
	must(t, <-ended)
	if got := out.String(); got != "{}\n{}\n{}\n" {
		t.Errorf("the server answered %q", got)
	}
	mounts, err := os.ReadFile("/proc/self/mounts")
	must(t, err)
	if strings.Contains(string(mounts), at) {
		t.Error("the disk is still mounted")
	}
	_ = d
}

// Several writers repeatedly overwrite and sync different parts of one file, until the power fails.
// All data whose sync was acknowledged survives.
func TestConcurrentSyncsSurvivePowerLoss(t *testing.T) {
	d := mounted(t)
	const writers, part = 4, 6000 // neighboring parts share a block
	for round := range 5 {
		f, err := os.OpenFile(filepath.Join(d.mountPoint, "f"), os.O_RDWR|os.O_CREATE, 0o600)
		must(t, err)
		var acknowledged [writers]byte
		var all sync.WaitGroup
		for w := range writers {
			all.Go(func() {
				for n := range byte(20) {
					if _, err := f.WriteAt(bytes.Repeat([]byte{n + 1}, part), int64(w*part)); err != nil {
						t.Error(err)
					}
					if n%3 == 0 {
						if err := unix.Fdatasync(int(f.Fd())); err != nil {
							t.Error(err)
						}
						acknowledged[w] = n + 1
					}
				}
			})
		}
		all.Wait()
		must(t, f.Close())
		lost, err := d.powerLoss()
		if err != nil || lost > 1 {
			t.Fatalf("%d files lost data: %v", lost, err)
		}
		b, err := os.ReadFile(filepath.Join(d.mountPoint, "f"))
		must(t, err)
		if len(b) != writers*part {
			t.Fatalf("round %d: the file has %d bytes after the power loss", round, len(b))
		}
		for w, least := range acknowledged {
			for i, got := range b[w*part : (w+1)*part] {
				if got < least {
					t.Fatalf("round %d: writer %d synced the value %d, but byte %d of its part is %d", round, w, least, i, got)
				}
			}
		}
	}
}

// A process that is still running after a power loss cannot use its open files anymore, and cannot
// change the files on the disk when it is mounted again.
func TestPowerLossInvalidatesOpenFiles(t *testing.T) {
	d := mounted(t)
	f, err := os.Create(filepath.Join(d.mountPoint, "f"))
	must(t, err)
	_, err = f.WriteString("synced")
	must(t, err)
	must(t, f.Sync())
	_, err = f.WriteString(" and not synced")
	must(t, err)
	lost, err := d.powerLoss()
	if err != nil || lost != 1 {
		t.Fatalf("%d files lost data: %v", lost, err)
	}
	if _, err := f.WriteString("later"); err == nil {
		t.Error("a file that was open before the power loss can still be written")
	}
	_ = f.Close()
	if got := tree(t, d.mountPoint); got["f"] != "synced" {
		t.Errorf("after the power loss, the file contains %q", got["f"])
	}
}

// If a disk cannot be mounted again after a power loss, it can still be unmounted, and a later
// power loss can mount it.
func TestDiskThatCannotBeMountedAgain(t *testing.T) {
	d := mounted(t)
	mountPoint := d.mountPoint
	d.mountPoint = filepath.Join(mountPoint, "missing")
	if _, err := d.powerLoss(); err == nil || !strings.Contains(err.Error(), "cannot mount") {
		t.Errorf("the error of a disk without a mount point is %v", err)
	}
	d.mountPoint = mountPoint
	if err := d.unmount(); err != nil {
		t.Errorf("the disk that is not mounted cannot be unmounted: %v", err)
	}
	if _, err := d.powerLoss(); err != nil {
		t.Fatalf("the disk cannot be mounted again: %v", err)
	}
	must(t, os.WriteFile(filepath.Join(mountPoint, "f"), nil, 0o600))
}

// If one of a file's names is removed or replaced, a power loss still drops the data that was not
// synced.
func TestPowerLossOfAFileWithAnotherName(t *testing.T) {
	for what, remove := range map[string]func(dir string) error{
		"removed": func(dir string) error { return os.Remove(filepath.Join(dir, "f")) },
		"replaced": func(dir string) error {
			if err := os.WriteFile(filepath.Join(dir, "g"), nil, 0o600); err != nil {
				return err
			}
			return os.Rename(filepath.Join(dir, "g"), filepath.Join(dir, "f"))
		},
	} {
		d := mounted(t)
		f, err := os.Create(filepath.Join(d.mountPoint, "f"))
		must(t, err)
		_, err = f.WriteString("synced")
		must(t, err)
		must(t, os.Link(filepath.Join(d.mountPoint, "f"), filepath.Join(d.mountPoint, "link")))
		must(t, f.Sync())
		_, err = f.WriteString(" and not synced")
		must(t, err)
		must(t, f.Close())
		must(t, remove(d.mountPoint))
		folder, err := os.Open(d.mountPoint)
		must(t, err)
		must(t, folder.Sync())
		must(t, folder.Close())
		lost, err := d.powerLoss()
		if got := tree(t, d.mountPoint)["link"]; err != nil || lost != 1 || got != "synced" {
			t.Errorf("%s: after the power loss, the file contains %q, and %d files lost data: %v", what, got, lost, err)
		}
	}
}
