package record

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// cutOff returns the directory of a run that was killed during the third of its trials. No process
// has locked the directory.
func cutOff(t *testing.T) (dir string) {
	t.Helper()
	w, err := Create(t.TempDir(), "quick", noon, Run{Name: "quick", Seed: 42, Planned: 4, Scenario: "trials: []\n", Machines: []measure.Machine{{Name: "vm", CPUs: 2}}})
	must(t, err)
	for i, name := range []string{"put", "get", "list"} {
		l := newLoad(uint64(i), 0, false)
		l.phase(measure.Warmup, 1, 20)
		l.phase(measure.Measured, 1, 20)
		c := conditions()
		c.Number, c.Name = i+1, name
		tw, err := w.Trial(c, noon)
		must(t, err)
		l.write(t, tw)
		if name != "list" {
			o := Observed{Started: noon.Add(time.Duration(i) * time.Minute), Opened: noon.Add(time.Duration(i)*time.Minute + time.Second)}
			must(t, tw.Finish(NewTrial(c, o, l.totals[measure.Measured], l.totals[measure.Warmup], roles)))
		}
	}
	w.unlock() // the kernel does the same when a process is killed
	return w.Dir()
}

// listFiles returns the contents of all files in a folder and its subfolders, by name.
func listFiles(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	must(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			all[path] = readFile(t, path)
		}
		return err
	}))
	return all
}

// rawTrials returns the text of each trial in run.json.
func rawTrials(t *testing.T, dir string) (all []string) {
	t.Helper()
	var run struct{ Trials []json.RawMessage }
	must(t, json.Unmarshal([]byte(readFile(t, dir, runFile)), &run))
	for _, r := range run.Trials {
		all = append(all, string(r))
	}
	return all
}

func TestResumedRunKeepsCompletedTrials(t *testing.T) {
	settle.SkipUnderRace(t)
	dir := cutOff(t)
	put, before := filepath.Join(dir, "trial-01-put"), rawTrials(t, dir)
	was := listFiles(t, put)

	r, err := Resume(dir)
	must(t, err)
	if len(r.Completed) != 2 || r.Completed[1].Name != "get" {
		t.Fatalf("%d trials are kept", len(r.Completed))
	}
	later := noon.Add(24 * time.Hour)
	w, err := r.Writer(later, []measure.Machine{{Name: "vm", CPUs: 2}}, nil)
	must(t, err)
	r.Close() // does not release the lock, because the writer has taken it over
	_, err = Resume(dir)
	sentence(t, err, "another process is executing the run")

	c := conditions()
	c.Number, c.Name = 3, "list"
	tw, err := w.Trial(c, later) // its folder has the same name as the folder that was moved
	must(t, err)
	must(t, tw.Abort(Interrupted, "context canceled"))
	must(t, w.Finish(Interrupted, "", later.Add(time.Minute)))

	if diff := cmp.Diff(was, listFiles(t, put)); diff != "" {
		t.Errorf("a completed trial changed:\n%s", diff)
	}
	if diff := cmp.Diff(before[:2], rawTrials(t, dir)[:2]); diff != "" {
		t.Errorf("a completed trial's figures changed:\n%s", diff)
	}
	run, err := Open(dir)
	must(t, err)
	if len(run.Trials) != 3 || run.Trials[2].State != Interrupted || !run.Started.Equal(noon) {
		t.Errorf("the run has %d trials and began %v", len(run.Trials), run.Started)
	}
	aside := []string{"cut-off/1-trial-03-list"}
	machines := []measure.Machine{{Name: "vm", CPUs: 2}}
	want := []Start{{At: noon, Machines: machines, State: Incomplete, SetAsideFolders: aside}, {At: later, TrialsBefore: 2, Machines: machines}}
	if diff := cmp.Diff(want, run.Starts); diff != "" {
		t.Error(diff)
	}
	if _, err := os.Stat(filepath.Join(dir, aside[0], timelineFile)); err != nil {
		t.Error(err)
	}

	r, err = Resume(dir)
	must(t, err)
	w, err = r.Writer(later.Add(time.Hour), nil, nil)
	must(t, err)
	must(t, w.Finish(Complete, "", later.Add(2*time.Hour)))
	run, err = Open(dir)
	must(t, err)
	if s := run.Starts[1]; len(run.Starts) != 3 || s.State != Interrupted || !s.Finished.Equal(later.Add(time.Minute)) || !slices.Equal(s.SetAsideFolders, []string{"cut-off/2-trial-03-list"}) {
		t.Errorf("%+v", run.Starts)
	}
	_, err = Resume(dir)
	sentence(t, err, "is complete, so nothing is left to resume")
}

// If a killed run is resumed, the completed trial in its journal is kept, and the incomplete trial
// in the journal does not reappear later. The folder of the incomplete trial, and a folder that
// run.json does not mention, are moved to incompleteFolder.
func TestResumedRunIncludesTheJournal(t *testing.T) {
	dir := cutOff(t)
	run, err := Open(dir)
	must(t, err)
	get, list := run.Trials[1], run.Trials[2]
	run.Trials = run.Trials[:1]
	b, err := encode(run)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, runFile), b, fileMode))
	var journal []byte
	for i, trial := range []Trial{get, list} {
		line, err := json.Marshal(entry{Index: i + 1, Trial: &trial})
		must(t, err)
		journal = append(append(journal, line...), '\n')
	}
	must(t, os.WriteFile(filepath.Join(dir, journalFile), journal, fileMode))
	must(t, os.Mkdir(filepath.Join(dir, "trial-04-made-and-no-more"), folderMode))

	r, err := Resume(dir)
	must(t, err)
	w, err := r.Writer(noon.Add(time.Hour), nil, nil)
	must(t, err)
	w.unlock()
	run, err = Open(dir)
	must(t, err)
	if len(run.Trials) != 2 || run.Trials[1].Name != "get" || run.Trials[1].Due != get.Due {
		t.Errorf("the resumed run has %d trials, want put and get with their results", len(run.Trials))
	}
	if want := []string{"cut-off/1-trial-03-list", "cut-off/1-trial-04-made-and-no-more"}; !slices.Equal(run.Starts[0].SetAsideFolders, want) {
		t.Errorf("the folders of cut-off trials are %q", run.Starts[0].SetAsideFolders)
	}
}

// If another program may have created the directory, Resume rejects the directory before any file
// in it changes.
func TestResumeRejectsUnsuitableRuns(t *testing.T) {
	settle.SkipUnderRace(t)
	change := func(t *testing.T, dir string, with func(*Run)) {
		run, err := Open(dir)
		must(t, err)
		with(run)
		b, err := encode(run)
		must(t, err)
		must(t, os.WriteFile(filepath.Join(dir, runFile), b, fileMode))
	}
	for _, test := range []struct {
		name string
		do   func(t *testing.T, dir string)
		want string
	}{
		{"nothing", func(t *testing.T, dir string) { must(t, os.RemoveAll(dir)) }, "is not a run directory, because it has no run.json"},
		{"no run.json", func(t *testing.T, dir string) { must(t, os.Remove(filepath.Join(dir, runFile))) }, "is not a run directory"},
		{"no JSON", func(t *testing.T, dir string) { must(t, os.WriteFile(filepath.Join(dir, runFile), []byte("{"), 0o600)) }, "it is not the JSON of a run"},
		{"a link", func(t *testing.T, dir string) { must(t, os.Symlink("/etc", filepath.Join(dir, "logs"))) }, "logs is a symbolic link"},
		{"open to others", func(t *testing.T, dir string) { must(t, os.Chmod(dir, 0o777)) }, "other users can write to"},
		{"complete", func(t *testing.T, dir string) { change(t, dir, func(r *Run) { r.State = Complete }) }, "is complete"},
		{"no start", func(t *testing.T, dir string) { change(t, dir, func(r *Run) { r.Starts = nil }) }, "has no start time"},
		{"flags", func(t *testing.T, dir string) { change(t, dir, func(r *Run) { r.Scenario = "" }) }, "defined by flags"},
		{"a gap", func(t *testing.T, dir string) { change(t, dir, func(r *Run) { r.Trials[0].State = Interrupted }) }, "has trials after an incomplete trial"},
		{"a folder is gone", func(t *testing.T, dir string) { must(t, os.RemoveAll(filepath.Join(dir, "trial-02-get"))) }, "trial-02-get of a completed trial is missing"},
		{"a folder elsewhere", func(t *testing.T, dir string) { change(t, dir, func(r *Run) { r.Trials[0].Folder = "../x" }) }, `"../x" is not the folder of a trial`},
		{"a damaged journal", func(t *testing.T, dir string) {
			must(t, os.WriteFile(filepath.Join(dir, journalFile), []byte("[]\n"), 0o600))
		}, "line 1 is not an entry"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := cutOff(t)
			test.do(t, dir)
			before, _ := os.ReadDir(dir)
			_, err := Resume(dir)
			sentence(t, err, test.want)
			if after, _ := os.ReadDir(dir); len(after) != len(before) {
				t.Errorf("Resume changed the files from %v to %v", before, after)
			}
		})
	}
	if _, err := Resume(cutOff(t)); err != nil {
		t.Errorf("the unchanged run cannot be resumed: %v", err)
	}
}

// If incompleteFolder already contains files, none of them is overwritten.
func TestResumeOverwritesNothing(t *testing.T) {
	settle.SkipUnderRace(t)
	dir := cutOff(t)
	must(t, os.WriteFile(filepath.Join(dir, incompleteFolder), nil, fileMode))
	r, err := Resume(dir)
	must(t, err)
	_, err = r.Writer(noon, nil, nil)
	sentence(t, err, "cannot write")
	if r, err = Resume(dir); err != nil || len(r.Completed) != 2 {
		t.Errorf("after the failed attempt, Resume returns %v", err)
	}
}

// Active excludes the time between the end of one start and the next start.
func TestActiveExcludesPauses(t *testing.T) {
	minute := func(n int) time.Time { return noon.Add(time.Duration(n) * time.Minute) }
	trial := func(opened int) Trial {
		return Trial{Started: minute(opened), Opened: new(minute(opened)), Seconds: 60}
	}
	run := &Run{
		Starts: []Start{{At: minute(0)}, {At: minute(100), TrialsBefore: 2}, {At: minute(200), TrialsBefore: 2}, {At: minute(300), TrialsBefore: 2}},
		Trials: []Trial{trial(1), trial(3), trial(301)},
	}
	for n, want := range []time.Duration{0, 2 * time.Minute, 4 * time.Minute, 6 * time.Minute} {
		if got := run.Active(n); got != want {
			t.Errorf("the run with %d trials was active for %v, want %v", n, got, want)
		}
	}
	run.Starts[1].TrialsBefore, run.Trials[1].Seconds = -5, 1e300
	if got := run.Active(9); got < 0 {
		t.Errorf("a damaged record has the negative active time %v", got)
	}
}

func TestLockEndsWithTheWriter(t *testing.T) {
	w := newRun(t)
	if _, err := lockRun(w.Dir()); !errors.Is(err, errLocked) {
		t.Errorf("locking the run of an active writer returns %v, want errLocked", err)
	}
	must(t, w.Finish(Complete, "", noon))
	l, err := lockRun(w.Dir())
	must(t, err)
	must(t, l.Close())
}
