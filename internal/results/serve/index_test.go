package serve

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestIndexListsTheNewestRunFirst(t *testing.T) {
	dir := t.TempDir()
	put(t, short("old", 0, "3.6.0"), dir, "old")
	put(t, short("new", 2, "3.7.3"), dir, "nightly", "new")
	put(t, short("middle", 1, ""), dir, "middle")
	x := scanned(t, dir)
	if got := ids(x.Runs()); got != "nightly/new middle old" {
		t.Fatalf("the runs are %q", got)
	}
	s := x.Runs()[2]
	if s.Name != "old" || s.State != "complete" || strings.Join(s.Stores, " ") != "etcd" || strings.Join(s.Versions, " ") != "3.6.0" || len(s.Machines) != 1 || s.Planned != 1 || len(s.Trials) != 1 {
		t.Errorf("the summary is %+v", s)
	}
	trial := s.Trials[0]
	if trial.PerSecond == nil || *trial.PerSecond < 100 || trial.P99NS == nil || trial.Throughput == "-" || trial.P99 == "-" || trial.Verdict == "" {
		t.Errorf("the trial is %+v", trial)
	}
	if path, _, ok := x.Find("nightly/new"); !ok || path != filepath.Join(dir, "nightly", "new") {
		t.Errorf("for nightly/new, Find returns %q, %v", path, ok)
	}
	for _, id := range []string{"", ".", "..", "nightly", "../" + filepath.Base(dir) + "/old", "nightly/../old", "/" + dir + "/old"} {
		if path, _, ok := x.Find(id); ok {
			t.Errorf("the ID %q leads to %q", id, path)
		}
	}
}

func TestIndexFileSavesReading(t *testing.T) {
	dir, cache := t.TempDir(), filepath.Join(t.TempDir(), "cache")
	put(t, short("a", 0, ""), dir, "a")
	put(t, short("b", 1, ""), dir, "b")
	scan := func(want int) *Index {
		t.Helper()
		x, err := NewIndex(dir, cache, time.Now)
		must(t, err)
		read, err := x.Scan()
		must(t, err)
		if read != want {
			t.Errorf("%d runs were read, want %d", read, want)
		}
		return x
	}
	before := scan(2)
	x := scan(0)
	if got, want := encoded(t, x), encoded(t, before); got != want {
		t.Errorf("the index file changed the list from\n%s to\n%s", want, got)
	}
	if got := x.Runs()[0].Trials[0].Throughput; got != before.Runs()[0].Trials[0].Throughput {
		t.Errorf("the throughput is %q after a restart", got)
	}

	// One run changes, one is added, and one is removed.
	must(t, os.Chtimes(filepath.Join(dir, "a", "run.json"), time.Now(), time.Now()))
	put(t, short("c", 2, ""), dir, "c")
	must(t, os.RemoveAll(filepath.Join(dir, "b")))
	if x = scan(2); ids(x.Runs()) != "c a" {
		t.Errorf("the runs are %q", ids(x.Runs()))
	}

	files, err := filepath.Glob(filepath.Join(cache, "*"))
	must(t, err)
	if len(files) != 1 {
		t.Fatalf("the cache contains the files %q, want one file", files)
	}
	good, err := os.ReadFile(files[0])
	must(t, err)
	for _, bad := range []string{"", "{", `{"schema":"other"}`, string(good[:len(good)/2]), `{"schema":"quorumbench/index/1","dir":` + quoted(t, dir) + `,"runs":[null,{},{"summary":{"id":"../x"}}]}`} {
		must(t, os.WriteFile(files[0], []byte(bad), 0o600))
		if x := scan(2); ids(x.Runs()) != "c a" {
			t.Errorf("with the index file %.40q, the runs are %q", bad, ids(x.Runs()))
		}
	}
	if x := scan(0); ids(x.Runs()) != "c a" {
		t.Errorf("the runs are %q after the index file was written again", ids(x.Runs()))
	}
}

func quoted(t *testing.T, v any) string {
	b, err := json.Marshal(v)
	must(t, err)
	return string(b)
}

// encoded returns the list of runs as JSON.
func encoded(t *testing.T, x *Index) string {
	t.Helper()
	return quoted(t, x.Runs())
}

func TestIndexWithoutAWritableFile(t *testing.T) {
	dir, cache := t.TempDir(), filepath.Join(t.TempDir(), "file")
	put(t, short("a", 0, ""), dir, "a")
	write(t, "", cache) // a file in place of the folder
	x, err := NewIndex(dir, cache, time.Now)
	must(t, err)
	if _, err := x.Scan(); err == nil || !strings.Contains(err.Error(), "cannot write the index") {
		t.Errorf("the error is %v", err)
	}
	if ids(x.Runs()) != "a" {
		t.Errorf("the runs are %q", ids(x.Runs()))
	}
}

func TestIndexListsUnreadableRuns(t *testing.T) {
	dir := t.TempDir()
	write(t, "{", dir, "broken", "run.json")
	write(t, `{"schema":"quorumbench/run/9"}`, dir, "future", "run.json")
	must(t, os.MkdirAll(filepath.Join(dir, "link"), 0o700))
	must(t, os.Symlink("/etc/hostname", filepath.Join(dir, "link", "run.json")))
	must(t, os.Symlink(short("elsewhere", 0, "").Record(t, t.TempDir()), filepath.Join(dir, "away")))
	x := scanned(t, dir)
	if got := ids(x.Runs()); got != "broken future link" {
		t.Fatalf("the runs are %q", got)
	}
	for _, s := range x.Runs() {
		if s.State != "unreadable" || s.Problem == "" {
			t.Errorf("%s: %+v", s.ID, s)
		}
	}
	if _, err := (&Index{dir: filepath.Join(dir, "none"), now: time.Now}).Scan(); err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("the error for a missing folder is %v", err)
	}
}

// The reason why a run cannot be read may disappear without a change of the stamp. Scan tries to read
// such a run again, but writes the index file again only if the result is different.
func TestIndexReadsUnreadableRunsAgain(t *testing.T) {
	dir, cache := t.TempDir(), t.TempDir()
	file := filepath.Join(put(t, short("a", 0, ""), dir, "a"), "run.json")
	good, err := os.ReadFile(file)
	must(t, err)
	at := time.Now()
	replace := func(contents []byte) {
		t.Helper()
		must(t, os.WriteFile(file, contents, 0o600))
		must(t, os.Chtimes(file, at, at))
	}
	replace([]byte("{" + strings.Repeat(" ", len(good)-1)))
	x, err := NewIndex(dir, cache, time.Now)
	must(t, err)
	for range 2 {
		if read, err := x.Scan(); err != nil || read != 1 || x.Runs()[0].State != "unreadable" {
			t.Fatalf("%d runs were read, want 1; the error is %v; the run is %+v", read, err, x.Runs()[0])
		}
		must(t, os.RemoveAll(x.file))
	}
	if _, err := x.Scan(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(x.file); err == nil {
		t.Error("Scan wrote the index file again, although the run is unreadable for the same reason")
	}
	replace(good)
	if read, err := x.Scan(); err != nil || read != 1 || x.Runs()[0].State != "complete" {
		t.Errorf("after the repair, %d runs were read, want 1; the error is %v; the run is %+v", read, err, x.Runs()[0])
	}
}

func TestIndexRefusesARunDirectory(t *testing.T) {
	dir := t.TempDir()
	run := put(t, short("a", 0, ""), dir, "a")
	x, err := NewIndex(run, "", time.Now)
	must(t, err)
	want := run + " is a run directory, but the server needs a folder of run directories; give its parent folder with --runs " + dir
	if _, err := x.Scan(); err == nil || err.Error() != want {
		t.Errorf("the error is %v, want %q", err, want)
	}
}

func TestActiveRunIsRunningUntilItEnds(t *testing.T) {
	dir := t.TempDir()
	active := short("active", 0, "").Start(t, dir)
	x := scanned(t, dir)
	check := func(state string, begun int) {
		t.Helper()
		_, err := x.Scan()
		must(t, err)
		s := x.Runs()[0]
		if s.State != state || s.BegunTrials != begun {
			t.Errorf("the state is %q with %d trials, want %q with %d", s.State, s.BegunTrials, state, begun)
		}
		// A run has no verdict before a trial has a result.
		if ended := len(s.Trials) > 0 && s.Trials[0].PerSecond != nil; (s.Verdict != "") != ended {
			t.Errorf("state %s with %d trials: the verdict is %q", state, begun, s.Verdict)
		}
		if list := encoded(t, x); regexp.MustCompile(`"(stores|versions|labels|machines|trials)":null`).MatchString(list) {
			t.Errorf("a list is null, not empty: %s", list)
		}
	}
	check("running", 0)
	active.Begin()
	check("running", 1)
	for active.Next() {
	}
	check("running", 1)
	active.Finish()
	check("complete", 1)

	must(t, os.RemoveAll(filepath.Join(dir, "active")))
	killed := short("killed", 1, "").Start(t, dir)
	killed.Begin()
	killed.Kill()
	check("incomplete", 1)
}

// BenchmarkListOfTenThousandRuns measures a request for the list, with an index of 10,000 runs.
func BenchmarkListOfTenThousandRuns(b *testing.B) {
	s := newServer(b, b.TempDir(), Options{Now: func() time.Time { return time.Unix(0, 0) }})
	template := summaryForBenchmark()
	list := make([]*Summary, 0, 10_000)
	for i := range 10_000 {
		run := *template
		run.ID = run.ID + string(rune('a'+i%26))
		run.Started = run.Started.Add(time.Duration(i) * time.Hour)
		list = append(list, &run)
	}
	s.index.summaries.Store(&list)
	for _, path := range []string{"/", "/?q=etcd+put&store=etcd&from=2026-06-01", "/?page=50", "/runs.json?q=nothing"} {
		b.Run(path, func(b *testing.B) {
			for b.Loop() {
				if w := get(b, s, path); w.Code != 200 {
					b.Fatal(w.Code, w.Body)
				}
			}
		})
	}
}

func summaryForBenchmark() *Summary {
	ops, p99 := 12345.6, 3.4e6
	s := &Summary{ID: "20261129T142029Z-quick", Name: "quick", Started: time.Unix(1.78e9, 0), State: "complete", Verdict: "valid", Stores: []string{"etcd"}, Versions: []string{"3.7.3"}, Machines: []string{"m"}, Planned: 7, BegunTrials: 7}
	for range 7 {
		s.Trials = append(s.Trials, TrialSummary{Name: "put-leader", Store: "etcd 3.7.3", Verdict: "valid", PerSecond: &ops, P99NS: &p99, TimeKind: "service time"})
	}
	s.format()
	return s
}
