package record

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/quorumbench/quorumbench/internal/files"
	"github.com/quorumbench/quorumbench/internal/text"
)

// journalFile contains the changes since run.json was last written, one change per line. In a run
// with thousands of trials, run.json has many megabytes. Without the journal, rewriting run.json
// after each trial would take longer than the load.
const journalFile = "run-more.jsonl"

// smallRun is a size of run.json in bytes. If run.json is smaller, it is rewritten at each change.
// Otherwise, changes are added to the journal, and run.json is rewritten when the journal has
// become as large as run.json. Therefore, the total number of bytes that are written in a run is
// only a few times the final size of run.json, regardless of the number of trials.
const smallRun = 1 << 20

// entry is one line of the journal. It contains a cluster, or a trial and its index in the run's
// trials.
type entry struct {
	Cluster *Cluster `json:"cluster,omitempty"`
	Index   int      `json:"index"`
	Trial   *Trial   `json:"trial,omitempty"`
}

// applyChange applies a change to the run. It then either rewrites run.json or appends the entry
// that the function `change` returns to the journal.
func (w *Writer) applyChange(change func(*Run) entry) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	e := change(&w.run)
	if w.size < smallRun || w.journal != nil && w.journal.size >= w.size {
		return w.keepFirstError(w.writeRun())
	}
	return w.keepFirstError(w.append(&e))
}

// append appends a line to the journal and syncs it.
func (w *Writer) append(e *entry) (err error) {
	if w.journal == nil {
		if w.journal, err = w.open.lines(filepath.Join(w.dir, journalFile)); err != nil {
			return err
		}
		if err := syncFolder(w.dir); err != nil {
			return err
		}
	}
	b, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("cannot record the run: %w", err)
	}
	if _, err := w.journal.Write(append(text.PrintableBytes(b), '\n')); err != nil {
		return err
	}
	if err := w.journal.f.Sync(); err != nil {
		return writeError(w.journal.path, err)
	}
	return nil
}

// writeRun writes run.json and then removes the journal. If the process crashes between these two
// steps, the journal contains changes that are already in run.json. Applying these changes again
// does no harm.
func (w *Writer) writeRun() error {
	b, err := encode(&w.run)
	if err != nil {
		return fmt.Errorf("cannot record the run: %w", err)
	}
	if err := w.open.replace(filepath.Join(w.dir, runFile), b); err != nil {
		return err
	}
	w.size = int64(len(b))
	if w.journal == nil {
		return nil
	}
	path := w.journal.path
	err = w.journal.close()
	w.journal = nil
	if err != nil {
		return err
	}
	if err := os.Remove(path); err != nil {
		return writeError(path, err)
	}
	return nil
}

// maxEntry is the maximum length of a line in the journal, in bytes. All real entries are shorter.
const maxEntry = 16 << 20

// readJournal applies the changes in the journal to a run that did not finish. It ignores an
// incomplete last line.
func (r *Run) readJournal(dir string) error {
	f, err := files.OpenIn(dir, journalFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was only read
	lines := bufio.NewScanner(newAllowance(f, maxTrials))
	lines.Buffer(nil, maxEntry)
	lines.Split(completeLine)
	for n := 1; lines.Scan(); n++ {
		var e entry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return fmt.Errorf("line %d is not an entry: %w", n, err)
		}
		if err := r.apply(&e); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
	if err := lines.Err(); !errors.Is(err, bufio.ErrTooLong) {
		return err
	}
	return fmt.Errorf("a line is longer than %d MiB", maxEntry>>20)
}

func (r *Run) apply(e *entry) error {
	if e.Cluster != nil {
		if len(r.Clusters) >= maxTrials {
			return fmt.Errorf("the journal has more than %d clusters", maxTrials)
		}
		r.addCluster(*e.Cluster)
	}
	if e.Trial == nil {
		return nil
	}
	if err := checkSchema(e.Trial.Schema, TrialSchema); err != nil {
		return err
	}
	switch n := len(r.Trials); {
	case e.Index < 0 || e.Index > n || e.Index == maxTrials:
		return fmt.Errorf("it changes trial %d, but the run has only %d trials", e.Index+1, n)
	case e.Index == n:
		r.Trials = append(r.Trials, *e.Trial)
	default:
		r.Trials[e.Index] = *e.Trial
	}
	return nil
}
