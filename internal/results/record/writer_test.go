package record

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/quorumbench/quorumbench/internal/measure"
)

func TestRunsInTheSameFolderAreRefused(t *testing.T) {
	root := t.TempDir()
	w, err := Create(root, "quick run/1", noon, Run{})
	must(t, err)
	if got, want := filepath.Base(w.Dir()), "20260301T120000Z-quick-run-1"; got != want {
		t.Errorf("the folder is %s, want %s", got, want)
	}
	_, err = Create(root, "quick run/1", noon.Add(time.Millisecond), Run{})
	sentence(t, err, "started in the same second")

	_, err = CreateAt(w.Dir(), noon, Run{})
	sentence(t, err, "contains another run")
	other := filepath.Join(root, "other")
	must(t, os.MkdirAll(filepath.Join(other, "things"), 0o755))
	_, err = CreateAt(other, noon, Run{})
	sentence(t, err, "is not empty")

	for _, fresh := range []string{filepath.Join(root, "a", "b"), t.TempDir()} {
		if _, err := CreateAt(fresh, noon, Run{}); err != nil {
			t.Errorf("%s: %v", fresh, err)
		}
	}
}

func TestOneOfTwoSimultaneousRunsBegins(t *testing.T) {
	dir := t.TempDir()
	errs := make([]error, 8)
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() { _, errs[i] = CreateAt(dir, noon, Run{}) })
	}
	all.Wait()
	began := 0
	for _, err := range errs {
		if err == nil {
			began++
		} else {
			sentence(t, err, "another run")
		}
	}
	if began != 1 {
		t.Errorf("%d runs began in one folder", began)
	}
}

func TestFoldersThatCannotBeWritten(t *testing.T) {
	inTheWay := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(inTheWay, nil, 0o644))
	_, err := Create(inTheWay, "quick", noon, Run{})
	sentence(t, err, "cannot write "+inTheWay)
	_, err = CreateAt(filepath.Join(inTheWay, "out"), noon, Run{})
	sentence(t, err, "not a directory")

	if os.Geteuid() == 0 {
		return // root may write everywhere
	}
	closed := t.TempDir()
	must(t, os.Chmod(closed, 0o500))
	_, err = Create(closed, "quick", noon, Run{})
	sentence(t, err, "choose a folder that you may write to")
}

func TestFoldersOfRepeats(t *testing.T) {
	w := newRun(t)
	for repeat := 1; repeat <= 2; repeat++ {
		c := conditions()
		c.Number, c.Name, c.Repeat, c.Repeats = 12, "get: all", repeat, 2
		tw, err := w.Trial(c, noon)
		must(t, err)
		if got, want := filepath.Base(tw.Dir()), fmt.Sprintf("trial-12-get--all-r%d", repeat); got != want {
			t.Errorf("the folder is %s, want %s", got, want)
		}
	}
	_, err := w.Trial(Conditions{Number: 12, Name: "get: all", Repeat: 1, Repeats: 2}, noon)
	sentence(t, err, "file exists")
}

// If the process is killed at any moment, the directory can be opened afterwards. It contains
// everything that was written before, and is marked as incomplete.
func TestDirectoryIsReadableAtEveryMoment(t *testing.T) {
	w := newRun(t)
	says := func(want ...string) {
		t.Helper()
		run, err := Open(w.Dir())
		must(t, err)
		if run.State != Incomplete || run.Finished != nil || run.Name != "quick" || run.Seed != 42 {
			t.Errorf("the run is %+v", run)
		}
		for _, text := range want {
			if !strings.Contains(strings.Join(run.Problems, "\n"), text) {
				t.Errorf("the problems %q do not say %q", run.Problems, text)
			}
		}
		if run.Verdict() != "invalid" {
			t.Errorf("an incomplete run is %s", run.Verdict())
		}
	}
	says("did not finish")
	must(t, w.AddCluster(Cluster{ID: "c1", Store: "etcd", Members: []Member{{ID: leaderID, Name: "m1"}}}))
	tw, err := w.Trial(conditions(), noon)
	must(t, err)
	says("did not finish", "Trial trial-01-put-leader did not finish")

	l := newLoad(1, 0, true)
	l.phase(measure.Measured, 3, 100)
	must(t, tw.Begin(measure.Measured, noon))
	for i, s := range l.seconds {
		must(t, tw.Second(s))
		must(t, tw.Event(Event{Time: noon, Kind: "election", Member: "m1", Text: "m1 leads", Duration: time.Second}))
		files, err := OpenTrial(w.Dir(), "trial-01-put-leader")
		must(t, err)
		if len(files.Timeline) != i+1 || len(files.Events) != i+1 || len(files.Intervals) == 0 {
			t.Errorf("after %d seconds there are %d rows and %d events", i+1, len(files.Timeline), len(files.Events))
		}
	}
	says()

	// Simulate a system crash that left an incomplete line.
	for _, name := range []string{hlogFile, timelineFile, eventsFile} {
		path := filepath.Join(tw.Dir(), name)
		b := readFile(t, path)
		must(t, os.WriteFile(path, []byte(b[:len(b)-5]), 0o644))
	}
	says("The last line of trial-01-put-leader/latency.hlog is incomplete", "timeline.csv is incomplete", "events.jsonl is incomplete")
	files, err := OpenTrial(w.Dir(), "trial-01-put-leader")
	must(t, err)
	if len(files.Timeline) != 2 || len(files.Events) != 2 {
		t.Errorf("incomplete lines are read: %d rows, %d events", len(files.Timeline), len(files.Events))
	}
	must(t, os.RemoveAll(tw.Dir()))
	says("latency.hlog is missing")
}

func TestTrialsThatEndWithoutAResult(t *testing.T) {
	w := newRun(t)
	tw, err := w.Trial(conditions(), noon)
	must(t, err)
	must(t, tw.Abort(Failed, "Member m1 did not start."))
	must(t, w.Finish(Failed, "Member m1 did not start.", noon.Add(time.Second)))
	run, err := Open(w.Dir())
	must(t, err)
	if run.State != Failed || run.Failure == "" || run.Finished == nil || run.Trials[0].State != Failed || run.Trials[0].Failure == "" {
		t.Errorf("the run is %+v", run)
	}
	sentence(t, tw.Second(&measure.Second{}), "is closed")
	sentence(t, tw.Abort(Interrupted, ""), "is closed")
}

func TestMachines(t *testing.T) {
	w := newRun(t)
	tw, err := w.Trial(conditions(), noon)
	must(t, err)
	at := time.UnixMilli(1_763_818_441_250).UTC()
	whole := filledRow()
	bare := NewMachineRow(at, `a "quoted", name`)
	bare.User = 0.25
	must(t, tw.Machines([]*MachineRow{whole, bare}))
	later := NewMachineRow(at.Add(time.Second), "m1")
	must(t, tw.Machines([]*MachineRow{later}))
	head, rest, _ := strings.Cut(readFile(t, tw.Dir(), machinesFile), "\n")
	if !strings.HasPrefix(head, "unix_seconds,name,pid,cpu_user_seconds,cpu_system_seconds,cpu_steal_seconds,rss_bytes,") ||
		!strings.Contains(rest, "\n1763818441.250,\"a \"\"quoted\"\", name\",,0.25,,,") {
		t.Errorf("head %q, then %q", head, rest)
	}
	rows, err := readMachines([]byte(head + "\n" + rest))
	must(t, err)
	if diff := cmp.Diff([]MachineRow{*whole, *bare, *later}, rows, cmpopts.EquateNaNs()); diff != "" {
		t.Errorf("the rows that were read differ from those written:\n%s", diff)
	}
}

// filledRow returns a row with a different number in each column.
func filledRow() *MachineRow {
	r := NewMachineRow(time.UnixMilli(1_763_818_441_250).UTC(), "m1")
	for i, c := range r.columns() {
		if x, ok := c.target.(*float64); ok {
			*x = float64(i) + 0.5
		}
	}
	r.Cores = []float64{0.25, 7}
	return r
}

// The difference between two rows is the usage between them only if both describe the same process
// and no sample is missing between them.
func TestUsageIsComputedOnlyBetweenConsecutiveRows(t *testing.T) {
	before := *filledRow()
	after := func(change func(*MachineRow)) *MachineRow {
		r := before
		r.Time = r.Time.Add(time.Second)
		change(&r)
		return &r
	}
	for what, c := range map[string]struct {
		row  *MachineRow
		want bool
	}{
		"the next":                {after(func(*MachineRow) {}), true},
		"of no known process":     {after(func(r *MachineRow) { r.PID, r.ProcessStart = math.NaN(), math.NaN() }), true},
		"late":                    {after(func(r *MachineRow) { r.Time = r.Time.Add(time.Second) }), true},
		"after a gap":             {after(func(r *MachineRow) { r.Time = r.Time.Add(2 * time.Second) }), false},
		"at the same time":        {after(func(r *MachineRow) { r.Time = before.Time }), false},
		"of another process":      {after(func(r *MachineRow) { r.PID++ }), false},
		"of one of the same name": {after(func(r *MachineRow) { r.ProcessStart++ }), false},
		"reset":                   {after(func(r *MachineRow) { r.User = 0 }), false},
	} {
		if got := c.row.Follows(&before); got != c.want {
			t.Errorf("%s: %v", what, got)
		}
	}
}

func TestNamesOfRows(t *testing.T) {
	for name, want := range map[string]RowKind{
		"m1": MemberRow, "m1-etcd": MemberRow, GeneratorName: GeneratorRow, MachineName: WholeMachineRow, OtherMachine("b"): WholeMachineRow,
		PartName(DiskRow, "vda", MachineName): DiskRow, PartName(NetworkRow, "gen1", MachineName): NetworkRow, PartName(ProgramRow, "disk x", OtherMachine("b")): ProgramRow,
	} {
		if got := KindOf(name); got != want {
			t.Errorf("%q is %v, not %v", name, got, want)
		}
	}
	if got := PartName(DiskRow, "vda", OtherMachine("b")); got != "disk vda of b" {
		t.Error(got)
	}
}

func TestSecondsNeedABeginning(t *testing.T) {
	w := newRun(t)
	tw, err := w.Trial(conditions(), noon)
	must(t, err)
	sentence(t, tw.Second(&measure.Second{Phase: measure.Measured}), "no start time")
}

// fullDisk is a file on a disk with limited room. If a write needs more room than is left, it
// writes only as many bytes as fit.
type fullDisk struct {
	file
	room *int
}

func (f fullDisk) Write(b []byte) (int, error) {
	if len(b) <= *f.room {
		*f.room -= len(b)
		return f.file.Write(b)
	}
	n, _ := f.file.Write(b[:*f.room])
	*f.room = 0
	return n, &os.PathError{Op: "write", Path: "the file", Err: syscall.ENOSPC}
}

func TestFullDisk(t *testing.T) {
	for _, room := range []int{10, 5_000, 20_000} {
		t.Run(fmt.Sprint(room), func(t *testing.T) {
			w := newRun(t)
			left := room
			w.open = func(path string, flag int) (file, error) {
				f, err := openFile(path, flag)
				return fullDisk{f, &left}, err
			}
			first := fillDisk(w)
			sentence(t, first, "the disk is full")
			// The writer returns the same error even if space becomes free later.
			left = 1 << 30
			for what, err := range map[string]error{
				"Err": w.Err(), "AddCluster": w.AddCluster(Cluster{}), "Finish": w.Finish(Complete, "", noon),
			} {
				if !errors.Is(err, syscall.ENOSPC) {
					t.Errorf("%s does not return the error: %v", what, err)
				}
			}
			// The files contain everything that was recorded, and no incomplete line.
			run, err := Open(w.Dir())
			must(t, err)
			if run.State != Incomplete {
				t.Errorf("the run is %s", run.State)
			}
			for _, p := range run.Problems {
				if strings.Contains(p, "is incomplete") {
					t.Error(p)
				}
			}
			for i := range run.Trials {
				_, err := OpenTrial(w.Dir(), run.Trials[i].Folder)
				must(t, err)
			}
		})
	}
}

// fillDisk records trials until the disk is full.
func fillDisk(w *Writer) error {
	for n := 1; ; n++ {
		c := conditions()
		c.Number = n
		tw, err := w.Trial(c, noon)
		if err != nil {
			return err
		}
		l := newLoad(uint64(n), 0.1, true)
		l.phase(measure.Measured, 2, 200)
		errs := []error{tw.Begin(measure.Measured, noon)}
		for _, s := range l.seconds {
			errs = append(errs, tw.Second(s), tw.Event(Event{Kind: "x"}))
		}
		result := NewTrial(c, Observed{}, l.totals[measure.Measured], nil, nil)
		last := tw.Finish(result)
		if err := errors.Join(errs...); err != nil && !errors.Is(last, syscall.ENOSPC) {
			return fmt.Errorf("a write failed, but Finish did not return the error: %w", err)
		}
		if last != nil {
			return last
		}
	}
}

func TestSlug(t *testing.T) {
	for name, want := range map[string]string{
		"": "run", "../..": "run", "put leader": "put-leader", "a/b\\c:d": "a-b-c-d", "ü": "run", "v1.2": "v1.2",
		strings.Repeat("x", 100): strings.Repeat("x", 60),
	} {
		if got := Slug(name); got != want {
			t.Errorf("Slug(%q) = %q, want %q", name, got, want)
		}
	}
}

// sentence checks that the text of an error is a single line that contains `want`.
func sentence(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error; want one that contains %q", want)
	}
	if s := err.Error(); !strings.Contains(s, want) || strings.Contains(s, "\n") {
		t.Errorf("the error is %q, want one line that contains %q", s, want)
	}
}
