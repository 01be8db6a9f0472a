package record

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
)

// incompleteFolder is the folder into which the folders of incomplete trials are moved. These
// trials were running when the run was killed or interrupted. The new name of a trial's folder
// begins with the number of the start in which the trial ran.
const incompleteFolder = "cut-off"

// trialFolders is the prefix of the names of all trial folders.
const trialFolders = "trial-"

// Resumption is a run that is being resumed. The run directory is locked until Close is called. If
// a Writer was created, the directory is locked until the Writer has finished.
type Resumption struct {
	// Run is the run as it was recorded. Its texts may contain unprintable characters, because they
	// have not been changed.
	Run       *Run
	Completed []Trial // the completed trials, which are the first trials of the run

	dir  string
	lock *os.File
}

// Resume opens a run directory to resume the run. It does not yet change the directory. If the run
// cannot be resumed, the error is a sentence with the reason.
func Resume(dir string) (_ *Resumption, err error) {
	r := &Resumption{dir: dir}
	if err := checkDirectory(dir); err != nil {
		return nil, err
	}
	switch r.lock, err = lockRun(dir); {
	case errors.Is(err, errLocked):
		return nil, fmt.Errorf("another process is executing the run in %s; wait until that process has ended", dir)
	case err != nil:
		return nil, unreadableRunError(dir, err)
	}
	defer func() {
		if err != nil {
			r.Close()
		}
	}()
	if err := r.read(); err != nil {
		return nil, err
	}
	switch {
	case r.Run.State == Complete:
		return nil, fmt.Errorf("the run in %s is complete, so nothing is left to resume", dir)
	case len(r.Run.Starts) == 0:
		return nil, fmt.Errorf("the record of the run in %s has no start time, so the run cannot be resumed; run its scenario again", dir)
	case r.Run.Scenario == "":
		return nil, fmt.Errorf("the run in %s was defined by flags and has no scenario, so it cannot be resumed; repeat the command", dir)
	}
	return r, r.findCompleted()
}

// checkDirectory returns an error if a folder belongs to another user, if other users can write to
// it, or if it contains links. A resumed run writes to files in this folder. In all three cases,
// another user could redirect these writes. A run itself creates no links.
func checkDirectory(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return unreadableRunError(dir, err)
	}
	if s, ok := info.Sys().(*syscall.Stat_t); ok && int(s.Uid) != os.Geteuid() {
		return fmt.Errorf("the run in %s belongs to another user (uid %d), and only that user can resume it", dir, s.Uid)
	}
	if info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("other users can write to %s, so its run cannot be resumed; remove their permission first (chmod go-w)", dir)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return unreadableRunError(dir, err)
	}
	for _, e := range entries {
		if e.Type()&fs.ModeSymlink != 0 {
			return fmt.Errorf("%s is a symbolic link, but a run creates no links; remove the link to resume the run", filepath.Join(dir, e.Name()))
		}
	}
	return nil
}

// read reads the run without changing its texts, so that the writer later writes the same texts.
func (r *Resumption) read() (err error) {
	if r.Run, err = readRun(r.dir); err != nil {
		return err
	}
	if r.Run.State == Incomplete {
		if err := r.Run.readJournal(r.dir); err != nil {
			return fmt.Errorf("%s: %w", filepath.Join(r.dir, journalFile), err)
		}
	}
	return nil
}

// findCompleted determines which trials are completed. Invariant: only the last trial of a run can
// be incomplete.
func (r *Resumption) findCompleted() error {
	trials := r.Run.Trials
	n := slices.IndexFunc(trials, func(t Trial) bool { return t.State != Complete })
	if n < 0 {
		n = len(trials)
	}
	if len(trials) > n+1 {
		return fmt.Errorf("cannot resume the run in %s: it has trials after an incomplete trial", r.dir)
	}
	r.Completed = trials[:n]
	for i := range r.Completed {
		folder := r.Completed[i].Folder
		if !strings.HasPrefix(folder, trialFolders) || filepath.Base(folder) != folder {
			return fmt.Errorf("cannot resume the run in %s: %q is not the folder of a trial", r.dir, folder)
		}
		if info, err := os.Lstat(filepath.Join(r.dir, folder)); err != nil || !info.IsDir() {
			return fmt.Errorf("cannot resume the run in %s: the folder %s of a completed trial is missing", r.dir, folder)
		}
	}
	return nil
}

// Clusters returns the highest number of any cluster in the run's record or in its logs.
func (r *Resumption) Clusters() (highest int) {
	names := make([]string, 0, len(r.Run.Clusters))
	for i := range r.Run.Clusters {
		names = append(names, r.Run.Clusters[i].ID)
	}
	logs, _ := os.ReadDir(filepath.Join(r.dir, "logs")) // the folder may be missing
	for _, e := range logs {
		names = append(names, e.Name())
	}
	for _, name := range names {
		var n int
		if _, err := fmt.Sscanf(name, "cluster-%d", &n); err == nil && n < maxTrials {
			highest = max(highest, n)
		}
	}
	return highest
}

// Writer returns a writer for the run, and adds a start to the record. It keeps the completed
// trials, and moves the folders of all other trials to incompleteFolder.
func (r *Resumption) Writer(now time.Time, machines []measure.Machine, hosts []Host) (*Writer, error) {
	w := &Writer{dir: r.dir, open: openFile, run: *r.Run, lock: r.lock}
	r.lock = nil
	fail := func(err error) (*Writer, error) {
		w.unlock()
		return nil, err
	}
	// Write all changes from the journal to run.json first. Otherwise, a reader that applies the
	// journal later would undo the following changes.
	if err := w.writeRun(); err != nil {
		return fail(err)
	}
	if err := os.Remove(filepath.Join(r.dir, journalFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fail(writeError(journalFile, err))
	}
	aside, err := r.moveIncomplete()
	if err != nil {
		return fail(err)
	}
	run := &w.run
	run.Starts = slices.Clone(run.Starts)
	last := &run.Starts[len(run.Starts)-1]
	last.State, last.Failure, last.Finished, last.SetAsideFolders = run.State, run.Failure, run.Finished, append(last.SetAsideFolders, aside...)
	run.Starts = append(run.Starts, Start{At: now.UTC(), TrialsBefore: len(r.Completed), Machines: orEmpty(machines)})
	run.State, run.Failure, run.Finished = Incomplete, "", nil
	run.Trials, run.Hosts = slices.Clone(r.Completed), hosts
	if err := w.writeRun(); err != nil {
		return fail(err)
	}
	return w, nil
}

// moveIncomplete moves the folders of incomplete trials to incompleteFolder. It returns the new
// paths of these folders, relative to the run directory.
func (r *Resumption) moveIncomplete() (aside []string, err error) {
	root, err := os.OpenRoot(r.dir)
	if err != nil {
		return nil, writeError(r.dir, err)
	}
	defer func() { _ = root.Close() }() // it was only read
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil, writeError(r.dir, err)
	}
	for _, e := range entries {
		name := e.Name()
		kept := func(t Trial) bool { return t.Folder == name }
		if !strings.HasPrefix(name, trialFolders) || slices.ContainsFunc(r.Completed, kept) {
			continue
		}
		if err := root.Mkdir(incompleteFolder, folderMode); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, writeError(filepath.Join(r.dir, incompleteFolder), err)
		}
		to := filepath.Join(incompleteFolder, fmt.Sprintf("%d-%s", len(r.Run.Starts), name))
		if err := root.Rename(name, to); err != nil {
			return nil, writeError(filepath.Join(r.dir, to), err)
		}
		aside = append(aside, to)
	}
	if aside == nil {
		return nil, nil
	}
	return aside, errors.Join(syncFolder(filepath.Join(r.dir, incompleteFolder)), syncFolder(r.dir))
}

// Close unlocks the directory, unless a writer has taken over the lock.
func (r *Resumption) Close() {
	if r.lock != nil {
		_ = r.lock.Close() // the file was opened only for its lock
		r.lock = nil
	}
}

// errLocked is the error that lockRun returns if another process has locked the run directory.
var errLocked = errors.New("it is locked")

// lockRun locks a run directory. The lock is held until the returned file is closed or the process
// exits. If the file system does not support locks, lockRun returns neither a file nor an error.
func lockRun(dir string) (*os.File, error) { return flock(dir, syscall.LOCK_EX) }

// shareRun locks a run directory like lockRun, but shares the lock with other readers.
func shareRun(dir string) (*os.File, error) { return flock(dir, syscall.LOCK_SH) }

func flock(dir string, kind int) (*os.File, error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	switch err := syscall.Flock(int(d.Fd()), kind|syscall.LOCK_NB); {
	case err == nil:
		return d, nil
	case errors.Is(err, syscall.EWOULDBLOCK):
		return nil, errors.Join(errLocked, d.Close())
	}
	return nil, d.Close()
}
