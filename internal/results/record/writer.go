package record

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// runFile is the name of the file in the run directory that describes the whole run.
const runFile = "run.json"

// Writer writes a run directory. Its methods are safe for concurrent use. After the first error,
// every later call returns this error and writes nothing.
type Writer struct {
	dir      string
	open     opener
	observer Observer

	mu      sync.Mutex
	run     Run
	err     error
	size    int64  // size of run.json
	journal *lines // nil if run.json is up to date
	lock    *os.File
}

// Create creates a run directory, <root>/<UTC time>-<name>. It contains a run.json that marks the
// run as incomplete. The parameter `run` holds everything that is known at the start: name, tool,
// seed, scenario, planned trials and machines.
func Create(root, name string, now time.Time, run Run) (*Writer, error) {
	if err := checkRoot(root); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(root, folderMode); err != nil {
		return nil, writeError(root, err)
	}
	if err := checkRoot(root); err != nil { // in the meantime, another process may have created the folder
		return nil, err
	}
	dir := filepath.Join(root, DirName(name, now))
	if err := os.Mkdir(dir, folderMode); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("the run directory %s already exists, because another run with this name started in the same second; run the command again", dir)
		}
		return nil, writeError(dir, err)
	}
	return begin(dir, now, run, openFile)
}

// DirName returns the name of the run directory of a run that starts now: <UTC time>-<name>.
func DirName(name string, now time.Time) string {
	return now.UTC().Format("20060102T150405Z") + "-" + Slug(name)
}

// CreateAt works like Create, but uses a folder that the user has chosen. This folder must be
// empty, or must not exist yet.
func CreateAt(dir string, now time.Time, run Run) (*Writer, error) {
	if err := os.MkdirAll(dir, folderMode); err != nil {
		return nil, writeError(dir, err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, writeError(dir, err)
	}
	if len(entries) > 0 {
		return nil, notEmptyError(dir, entries)
	}
	return begin(dir, now, run, openFile)
}

func notEmptyError(dir string, entries []os.DirEntry) error {
	what := "it is not empty"
	if slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == runFile }) {
		what = "it contains another run"
	}
	return fmt.Errorf("cannot record into %s: %s; choose a folder that is empty or does not exist yet", dir, what)
}

func begin(dir string, now time.Time, run Run, open opener) (*Writer, error) {
	run.Schema, run.State, run.Started = RunSchema, Incomplete, now.UTC()
	run.Machines, run.Clusters, run.Trials = orEmpty(run.Machines), orEmpty(run.Clusters), orEmpty(run.Trials)
	run.Starts = []Start{{At: run.Started, Machines: run.Machines}}
	b, err := encode(&run)
	if err != nil {
		return nil, fmt.Errorf("cannot record the run: %w", err)
	}
	w := &Writer{dir: dir, open: open, run: run, size: int64(len(b))}
	switch w.lock, err = lockRun(dir); {
	case errors.Is(err, errLocked):
		return nil, alreadyBegunError(dir)
	case err != nil:
		return nil, writeError(dir, err)
	}
	// If two runs found the folder empty, only one of them can create this file.
	path := filepath.Join(dir, runFile)
	if err := open.write(path, os.O_EXCL, b); err != nil {
		w.unlock()
		if errors.Is(err, fs.ErrExist) {
			return nil, alreadyBegunError(dir)
		}
		return nil, err
	}
	return w, nil
}

func alreadyBegunError(dir string) error {
	return fmt.Errorf("cannot record into %s: another run has just started in this folder; choose another folder", dir)
}

// unlock releases the lock on the run directory.
func (w *Writer) unlock() {
	if w.lock != nil {
		_ = w.lock.Close() // the file was opened only for its lock
		w.lock = nil
	}
}

// Abandon releases the lock on the run directory without ending the run, as the kernel does when a
// process is killed.
func (w *Writer) Abandon() { w.unlock() }

// Dir returns the run directory.
func (w *Writer) Dir() string { return w.dir }

// Err returns the first error of all writes, or nil if there was none.
func (w *Writer) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// AddCluster records a cluster. Trials refer to it by its ID. If there is already a cluster with
// this ID, AddCluster replaces it.
func (w *Writer) AddCluster(c Cluster) error {
	c.Members, c.Notes = orEmpty(c.Members), orEmpty(c.Notes)
	return w.applyChange(func(r *Run) entry {
		r.addCluster(c)
		return entry{Cluster: &c}
	})
}

func (r *Run) addCluster(c Cluster) {
	if i := slices.IndexFunc(r.Clusters, func(o Cluster) bool { return o.ID == c.ID }); i >= 0 {
		r.Clusters[i] = c
	} else {
		r.Clusters = append(r.Clusters, c)
	}
}

// SetHosts replaces the record of the scenario's hosts. It is called at the end of the run.
func (w *Writer) SetHosts(all []Host) error {
	return w.update(func(r *Run) { r.Hosts = all })
}

// Finish writes how the run ended. If state is Failed, failure must be one sentence, and otherwise
// it must be empty. Trials that have not finished remain incomplete.
func (w *Writer) Finish(state State, failure string, now time.Time) error {
	defer w.unlock()
	finished := now.UTC()
	return w.update(func(r *Run) { r.State, r.Failure, r.Finished = state, failure, &finished })
}

// update applies a change to the run and rewrites run.json.
func (w *Writer) update(change func(*Run)) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	change(&w.run)
	return w.keepFirstError(w.writeRun())
}

// keepFirstError stores err if no error is stored yet. It returns the stored error. The caller must
// hold mu.
func (w *Writer) keepFirstError(err error) error {
	if w.err == nil {
		w.err = err
	}
	return w.err
}

// fail stores err if no error is stored yet. It returns the stored error.
func (w *Writer) fail(err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.keepFirstError(err)
}

// maxSlug is the maximum length of a slug.
const maxSlug = 60

// Slug converts a name to text that can be a part of a file name. The result contains only letters,
// digits, points and dashes.
func Slug(name string) string {
	safe := func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '-' {
			return r
		}
		return '-'
	}
	s := strings.Trim(strings.Map(safe, name), "-.")
	if len(s) > maxSlug {
		s = strings.TrimRight(s[:maxSlug], "-.")
	}
	if s == "" {
		return "run"
	}
	return s
}

// checkRoot returns an error if the folder for run directories, or a link in its place, belongs to
// a user other than root and the current user. In a folder such as /tmp, to which everybody can
// write, another user could create this folder or link. That user could then replace a run
// directory while a run writes to it. A missing folder is accepted.
func checkRoot(root string) error {
	for _, look := range []func(string) (fs.FileInfo, error){os.Lstat, os.Stat} { // check the link and its target
		info, err := look(root)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return writeError(root, err)
		}
		s, ok := info.Sys().(*syscall.Stat_t)
		if !ok || s.Uid == 0 || int(s.Uid) == os.Geteuid() {
			continue
		}
		what := "the folder"
		if info.Mode()&fs.ModeSymlink != 0 {
			what = "the link"
		}
		return fmt.Errorf("cannot record into %s: %s belongs to another user (uid %d); choose a folder that belongs to you (--runs-dir), or set the run directory itself (--out)", root, what, s.Uid)
	}
	return nil
}
