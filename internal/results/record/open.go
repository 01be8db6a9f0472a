package record

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/quorumbench/quorumbench/internal/files"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Open reads a run directory in any state. It returns an error only if nothing can be shown. The
// text of the error is one sentence. Less severe damage is reported in the run's Problems.
func Open(dir string) (*Run, error) {
	run, err := readUnchanged(dir, readWithJournal)
	if err != nil {
		return nil, err
	}
	run.makePrintable()
	if run.State == Incomplete {
		run.addProblem("The run did not finish: it is still running, or it was killed.")
	}
	run.Dir = dir
	for i := range run.Trials {
		run.Trials[i].Dir = dir
		for j := range run.Trials[i].Faults {
			run.Trials[i].Faults[j].Recovery = Recovery{} // only figures.ReadTrialFiles sets it
		}
		run.Trials[i].Calibration = run.Calibration.forMachine(run.Trials[i].Machine)
		run.inspect(dir, &run.Trials[i])
	}
	return run, nil
}

// maxReads is the maximum number of attempts to read a run while a process writes it.
const maxReads = 3

// readUnchanged calls the function read until run.json did not change during the call, but at most
// maxReads times. It is needed because a writer that has replaced run.json removes the journal. If
// both happened between the reading of run.json and of the journal, the run would lack trials.
func readUnchanged(dir string, read func(dir string) (*Run, error)) (run *Run, err error) {
	for range maxReads {
		size, modified, _ := stampOfFile(dir, runFile) // read returns the error
		if run, err = read(dir); err != nil {
			return nil, err
		}
		if nowSize, nowModified, _ := stampOfFile(dir, runFile); nowSize == size && nowModified == modified {
			break
		}
	}
	return run, nil
}

// readWithJournal reads run.json and the journal without changing their texts. If the journal cannot
// be read, the run has a problem.
func readWithJournal(dir string) (*Run, error) {
	run, err := readRun(dir)
	if err == nil && run.State == Incomplete {
		if err := run.readJournal(dir); err != nil {
			run.addProblem("Cannot read %s: %v.", journalFile, err)
		}
	}
	return run, err
}

// readRun reads run.json without changing its texts.
func readRun(dir string) (*Run, error) {
	f, err := files.OpenIn(dir, runFile)
	if err != nil {
		return nil, unreadableRunError(dir, err)
	}
	defer func() { _ = f.Close() }() // it was only read
	run, err := parse(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, runFile), err)
	}
	return run, nil
}

// unreadableRunError returns an error with the reason why a run cannot be read.
func unreadableRunError(dir string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is not a run directory, because it has no %s; specify a run directory, which is the --out folder or a folder inside --runs-dir", dir, runFile)
	}
	return fmt.Errorf("cannot read the run in %s: %w", dir, err)
}

// makePrintable makes all texts in a run printable. It must be called after a run was read.
func (r *Run) makePrintable() {
	source := text.Lines(r.Scenario) // keep the line breaks of the scenario
	text.SanitizeFields(r)
	r.Scenario = source
}

// checkSchema returns an error if the schema `actual` differs from `expected`.
func checkSchema(actual, expected string) error {
	if actual != expected {
		return fmt.Errorf("its schema is %q instead of %q", actual, expected)
	}
	return nil
}

func (r *Run) addProblem(format string, args ...any) {
	r.Problems = append(r.Problems, text.Line(fmt.Sprintf(format, args...), text.MaxField))
}

// inspect adds a sentence to the run's Problems for everything that is missing or damaged in a
// trial's folder.
func (r *Run) inspect(dir string, t *Trial) {
	if t.State == Incomplete {
		r.addProblem("Trial %s did not finish; its files contain only the data that was recorded before it stopped.", t.Folder)
	}
	if t.Folder == "" || !filepath.IsLocal(t.Folder) {
		r.addProblem("The folder of trial %s is not in the run directory.", t.Name)
		return
	}
	names := []string{hlogFile, timelineFile, eventsFile}
	if countInjected(t.Faults) > 0 {
		names = append(names, slotsFile)
	}
	for _, name := range names {
		switch half, err := endsMidLine(dir, filepath.Join(t.Folder, name)); {
		case errors.Is(err, fs.ErrNotExist):
			r.addProblem("%s is missing.", filepath.Join(t.Folder, name))
		case err != nil:
			r.addProblem("Cannot read %s: %v.", filepath.Join(t.Folder, name), err)
		case half:
			r.addProblem("The last line of %s is incomplete.", filepath.Join(t.Folder, name))
		}
	}
}

// endsMidLine reports whether a file ends without a newline.
func endsMidLine(dir, name string) (bool, error) {
	f, err := files.OpenIn(dir, name)
	if err != nil {
		return false, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return false, err
	}
	last := make([]byte, 1)
	if _, err := f.ReadAt(last, info.Size()-1); err != nil {
		return false, err
	}
	return last[0] != '\n', nil
}

// Files holds the contents of the files in a trial's folder. It does not include the trial's
// result, which is in run.json.
type Files struct {
	Intervals []Interval
	Timeline  []Row
	Events    []Event
}

// OpenTrial reads a trial's folder in a run directory. A killed trial can leave a file with an
// incomplete last line, or no file at all. OpenTrial ignores an incomplete line, and returns no
// data for a missing file.
func OpenTrial(dir, folder string) (*Files, error) {
	f := &Files{}
	var intervals, rows, events error
	intervals = ReadIntervals(dir, folder, func(Tag) bool { return true }, func(i *Interval) error {
		one := *i
		one.Steps = one.Clone()
		f.Intervals = append(f.Intervals, one)
		return nil
	})
	f.Timeline, rows = OpenTimeline(dir, folder)
	f.Events, events = eventLines.open(dir, folder)
	return f, cmp.Or(intervals, rows, events)
}
