package record

import (
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// A Tail returns the same rows as one read of the whole file, even if the file grows in arbitrary
// pieces.
func TestTailReadsEveryLineOnce(t *testing.T) {
	settle.SkipUnderRace(t)
	w := newRun(t)
	tw, err := w.Trial(conditions(), time.Unix(1000, 0))
	must(t, err)
	l := newLoad(3, 0.1, true)
	l.phase(measure.Measured, 30, 50)
	l.write(t, tw)
	want, err := OpenTrial(w.Dir(), tw.folder)
	must(t, err)
	if len(want.Timeline) < 20 {
		t.Fatalf("only %d rows were recorded", len(want.Timeline))
	}
	path := filepath.Join(w.Dir(), tw.folder, timelineFile)
	whole, err := os.ReadFile(path)
	must(t, err)
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 1))
		must(t, os.Remove(path))
		tail, err := NewTail(w.Dir())
		must(t, err)
		var rows []Row
		for end := 0; ; {
			u, err := tail.Next()
			must(t, err)
			rows = append(rows, u.Rows...)
			if end == len(whole) {
				break
			}
			end = min(end+rng.IntN(1+rng.IntN(700)), len(whole))
			must(t, os.WriteFile(path, whole[:end], 0o600))
		}
		if diff := cmp.Diff(want.Timeline, rows); diff != "" {
			t.Fatalf("seed %d: the rows differ (- whole file, + tail):\n%s", seed, diff)
		}
	}
}

func TestTailFollowsTheNewestTrial(t *testing.T) {
	w := newRun(t)
	tail, err := NewTail(w.Dir())
	must(t, err)
	next := func(folder string, rows int) {
		t.Helper()
		u, err := tail.Next()
		must(t, err)
		got := ""
		if u.Trial != nil {
			got = u.Trial.Folder
		}
		if got != folder || len(u.Rows) != rows || u.Run == nil {
			t.Errorf("the trial %q has %d rows, want %q with %d", got, len(u.Rows), folder, rows)
		}
	}
	next("", 0)
	number := 0
	begin := func() (*TrialWriter, *load) {
		c := conditions()
		number++
		c.Number = number
		tw, err := w.Trial(c, time.Unix(1000, 0))
		must(t, err)
		l := newLoad(3, 0, true)
		l.phase(measure.Measured, 4, 20)
		return tw, l
	}
	first, l := begin()
	next(first.folder, 0)
	l.write(t, first)
	next(first.folder, len(l.seconds))
	next(first.folder, 0)
	second, l := begin()
	next(second.folder, 0)
	l.write(t, second)
	third, _ := begin()
	next(second.folder, len(l.seconds)) // the rest of the previous trial comes first
	next(third.folder, 0)
	if !Active(w.Dir(), time.Now()) {
		t.Error("the run is not active although a writer has locked it")
	}
	w.Abandon()
	if Active(w.Dir(), time.Now()) {
		t.Error("the run is active although its writer has released the lock")
	}
}

// A resumed run can have fewer trials than before. A Tail then follows the newest trial of the run.
func TestTailFollowsARunWithFewerTrials(t *testing.T) {
	w := newRun(t)
	_, err := w.Trial(conditions(), time.Unix(1000, 0))
	must(t, err)
	tail, err := NewTail(w.Dir())
	must(t, err)
	if u, err := tail.Next(); err != nil || u.Trial == nil {
		t.Fatalf("the update is %+v, and the error is %v, want a trial", u, err)
	}
	run := w.run
	run.Trials = []Trial{}
	b, err := encode(&run)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(w.Dir(), runFile), b, 0o600))
	if u, err := tail.Next(); err != nil || u.Trial != nil {
		t.Errorf("the update is %+v, and the error is %v, want no trial", u, err)
	}
}

func TestFindRunsSearchesThreeLevels(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{"a/run.json", "b/c/run.json", "b/c/d/run.json", "1/2/3/run.json", "1/2/3x/4/run.json", "file"} {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, path)), 0o700))
		must(t, os.WriteFile(filepath.Join(dir, path), nil, 0o600))
	}
	must(t, os.Symlink(filepath.Join(dir, "a"), filepath.Join(dir, "link")))
	got, _, err := FindRuns(dir)
	must(t, err)
	want := []string{filepath.Join(dir, "1/2/3"), filepath.Join(dir, "a"), filepath.Join(dir, "b/c")}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, _, err := FindRuns(filepath.Join(dir, "none")); err == nil {
		t.Error("FindRuns returns no error for a missing folder")
	}
	// A folder on a disk that fails does not hide the runs in other folders.
	got, skipped, err := findRuns(dir, func(name string) ([]fs.DirEntry, error) {
		if filepath.Base(name) == "b" {
			return nil, syscall.EIO
		}
		return os.ReadDir(name)
	})
	if diff := cmp.Diff(want[:2], got); diff != "" || err != nil || len(skipped) != 1 || skipped[0].Path != filepath.Join(dir, "b") {
		t.Error(diff, err, skipped)
	}
}
