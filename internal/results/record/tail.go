package record

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Tail reads a run directory while a run writes it. It follows the newest trial. The run does not
// notice its readers and never waits for them.
//
// Invariant: every complete line of the newest trial's files is returned exactly once.
type Tail struct {
	dir   string
	stamp Stamp
	run   *Run
	trial int // index of the trial that is followed; -1 before the first trial

	timeline, events, machines tailFile
}

// Update holds what a run recorded between two calls of Tail.Next.
type Update struct {
	Run   *Run
	Trial *Trial // the trial that recorded the rows and events; nil before the first trial
	Rows  []Row
	// Events and Machines are in the order of the files, which is not always the order of time.
	Events   []Event
	Machines []MachineRow
}

// Empty reports whether the update contains no records.
func (u *Update) Empty() bool { return len(u.Rows)+len(u.Events)+len(u.Machines) == 0 }

// NewTail returns a Tail for a run directory. It returns the errors of Open.
func NewTail(dir string) (*Tail, error) {
	t := &Tail{dir: dir, trial: -1}
	return t, t.reload()
}

// reload reads run.json again if the run has replaced or extended it.
func (t *Tail) reload() error {
	stamp, err := StampOf(t.dir)
	if err != nil || stamp == t.stamp {
		return err
	}
	run, err := Open(t.dir)
	if err != nil {
		return err
	}
	t.run, t.stamp = run, stamp
	return nil
}

// Next returns what the run recorded since the previous call. When a new trial has begun, the
// remaining records of the previous trial come first, in a separate Update. The first call returns
// everything that the newest trial recorded so far.
func (t *Tail) Next() (*Update, error) {
	if err := t.reload(); err != nil {
		return nil, err
	}
	newest := len(t.run.Trials) - 1
	if t.trial >= 0 && t.trial <= newest { // a resumed run may have fewer trials than before
		if u, err := t.read(); err != nil || !u.Empty() || t.trial == newest {
			return u, err
		}
	}
	t.trial, t.timeline, t.events, t.machines = newest, tailFile{}, tailFile{}, tailFile{}
	if newest < 0 {
		return &Update{Run: t.run}, nil
	}
	return t.read()
}

// read returns the new records of the trial that is followed.
func (t *Tail) read() (u *Update, err error) {
	trial := &t.run.Trials[t.trial]
	u = &Update{Run: t.run, Trial: trial}
	if trial.Folder == "" || !filepath.IsLocal(trial.Folder) {
		return u, nil // Open has reported the problem
	}
	if u.Rows, err = timelineRows.readAppended(&t.timeline, t.dir, trial.Folder); err != nil {
		return nil, err
	}
	if u.Events, err = eventLines.readAppended(&t.events, t.dir, trial.Folder); err != nil {
		return nil, err
	}
	u.Machines, err = machineRows.readAppended(&t.machines, t.dir, trial.Folder)
	return u, err
}

// Stamp identifies a state of a run's run.json and journal. Two stamps differ if the run wrote one
// of these files between them.
type Stamp struct {
	Modified, JournalModified int64 // Unix time in nanoseconds
	Size, JournalSize         int64 // bytes
}

// StampOf returns the stamp of a run directory.
func StampOf(dir string) (s Stamp, err error) {
	if s.Size, s.Modified, err = stampOfFile(dir, runFile); err != nil {
		return s, err
	}
	s.JournalSize, s.JournalModified, err = stampOfFile(dir, journalFile)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return s, err
}

func stampOfFile(dir, name string) (size, modified int64, err error) {
	info, err := os.Lstat(filepath.Join(dir, name))
	if err != nil {
		return 0, 0, err
	}
	return info.Size(), info.ModTime().UnixNano(), nil
}

// Active reports whether a process is writing a run directory. If the file system does not support
// locks, a run counts as active for one minute after its last write to run.json or to the journal.
func Active(dir string, now time.Time) bool {
	lock, err := shareRun(dir)
	if lock != nil {
		_ = lock.Close() // it was opened only for its lock
		return false
	}
	if errors.Is(err, errLocked) {
		return true
	}
	stamp, err := StampOf(dir)
	return err == nil && now.Sub(time.Unix(0, max(stamp.Modified, stamp.JournalModified))) < time.Minute
}
