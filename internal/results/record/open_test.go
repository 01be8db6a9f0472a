package record

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quorumbench/quorumbench/internal/measure"
)

func TestOpenExplainsErrors(t *testing.T) {
	tests := []struct{ contents, want string }{
		{"", "not the JSON of a run"},
		{`{"schema":`, "not the JSON of a run"},
		{`[]`, "not the JSON of a run"},
		{`{}`, `its schema is "" instead of "quorumbench/run/2"`},
		{`{"schema":"quorumbench/trial/1"}`, "its schema is"},
		{`{"schema":"quorumbench/run/0"}`, "its schema is"},
		{`{"schema":"quorumbench/run/3"}`, `its schema is "quorumbench/run/3" instead of "quorumbench/run/2"; read the run with the version of quorumbench that wrote it, or repeat it`},
		{`{"schema":"quorumbench/run/2","trials":[{"schema":"x"}]}`, "trial 1: its schema is"},
		{`{"schema":"quorumbench/run/2","trials":[{"schema":"quorumbench/trial/1"}]}`, `trial 1: its schema is "quorumbench/trial/1"`},
		{`{"schema":"quorumbench/run/2","clusters":[{"members":[{"id":"m1"}]}]}`, "hexadecimal"},
	}
	for _, tt := range tests {
		dir := t.TempDir()
		must(t, os.WriteFile(filepath.Join(dir, runFile), []byte(tt.contents), 0o644))
		_, err := Open(dir)
		sentence(t, err, tt.want)
	}
	_, err := Open(t.TempDir())
	sentence(t, err, "not a run directory")
}

// A later version may add fields without changing the schema's number; see docs/upgrading.md.
func TestOpenIgnoresFieldsOfLaterVersions(t *testing.T) {
	dir := t.TempDir()
	const contents = `{"schema":"quorumbench/run/2","state":"complete","name":"later","new":{"a":[1]},"trials":[{"schema":"quorumbench/trial/2","new":1,"name":"put"}]}`
	must(t, os.WriteFile(filepath.Join(dir, runFile), []byte(contents), 0o644))
	run, err := Open(dir)
	must(t, err)
	if run.Name != "later" || len(run.Trials) != 1 || run.Trials[0].Name != "put" {
		t.Errorf("%+v", run)
	}
}

func TestFoldersOutsideTheDirectoryAreNotRead(t *testing.T) {
	dir := t.TempDir()
	run := Run{Schema: RunSchema, State: Complete, Trials: []Trial{{Schema: TrialSchema, State: Complete, Folder: "../else"}}}
	b, err := encode(run)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, runFile), b, 0o644))
	back, err := Open(dir)
	must(t, err)
	if len(back.Problems) != 1 || !strings.Contains(back.Problems[0], "is not in the run directory") {
		t.Errorf("problems: %v", back.Problems)
	}
	_, err = OpenTrial(dir, "../else")
	sentence(t, err, "not a folder in the run directory")
}

func TestDamagedFilesCauseClearErrors(t *testing.T) {
	head := names((&Row{}).written())
	tests := []struct{ file, contents, want string }{
		{hlogFile, "Tag=measured.lateness,0.0,1.0\n", "line 1 of the histogram log: it has 3 fields"},
		{hlogFile, "#x\nTag=other,0,1,1,HIST\n", "line 2 of the histogram log: \"other\" is not a tag"},
		{hlogFile, "Tag=measured.lateness,0,1,1,HISTgarbage\n", "cannot decode"},
		{hlogFile, "Tag=measured.lateness,a,1,1,x\n", "not a valid number of seconds"},
		{hlogFile, "#[BaseTime: x]\n", "an invalid base time"},
		{timelineFile, "a,b\n", `no column "time"`},
		{timelineFile, strings.Join(head, ",") + "\nx\n", "wrong number of fields"},
		{timelineFile, strings.Join(head, ",") + "\n" + strings.Repeat(",", len(head)-1) + "\n", "row 1 of the timeline"},
		{eventsFile, "{\n", "cannot read event 1"},
	}
	for _, tt := range tests {
		dir := t.TempDir()
		must(t, os.Mkdir(filepath.Join(dir, "trial"), 0o755))
		must(t, os.WriteFile(filepath.Join(dir, "trial", tt.file), []byte(tt.contents), 0o644))
		_, err := OpenTrial(dir, "trial")
		sentence(t, err, tt.want)
	}
}

func FuzzOpen(f *testing.F) {
	f.Add([]byte(`{}`))
	f.Add([]byte(`{"schema":"quorumbench/run/2","state":"incomplete","trials":[]}`))
	f.Add([]byte(`{"schema":"quorumbench/run/2","trials":[{"schema":"quorumbench/trial/2","errors":3,"response_time_ns":{"count":2}}]}`))
	f.Add([]byte(`{"schema":"quorumbench/run/2","trials":[{"schema":"quorumbench/trial/2","load":{"mix":[{"operation":"put","weight":1}],"clients":7,"key-space":9}}]}`))
	f.Add([]byte(`{"schema":"quorumbench/run/2","trials":[{"schema":"quorumbench/trial/2","load":{"target":"x","arrival":"y"}}]}`))
	l := newLoad(1, 0.3, true)
	l.phase(measure.Measured, 1, 500)
	trial := NewTrial(conditions(), Observed{Started: noon}, l.totals[measure.Measured], nil, roles)
	whole, err := encode(Run{Schema: RunSchema, State: Complete, Started: noon, Trials: []Trial{trial}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Fuzz(func(t *testing.T, b []byte) {
		run, err := Parse(b)
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("%q is not one line", err)
			}
			return
		}
		// If a run that was read is written and read again, the result is the same run.
		again, err := encode(run)
		if err != nil {
			t.Fatal(err)
		}
		back, err := Parse(again)
		if err != nil {
			t.Fatalf("%v in %s", err, again)
		}
		for i := range back.Trials {
			if was, now := run.Trials[i].Load, back.Trials[i].Load; was.Clients != now.Clients || was.KeySpace != now.KeySpace || len(was.Mix) != len(now.Mix) {
				t.Errorf("the load %+v reads back as %+v", was, now)
			}
		}
		third, err := encode(back)
		if err != nil || !bytes.Equal(again, third) {
			t.Errorf("after the second encoding, the run is\n%s\nwant\n%s (%v)", third, again, err)
		}
		_ = run.Verdict()
	})
}

// A figure can be missing because it depends on failed operations, or because there are too few
// samples. Writing and reading preserves this reason.
func TestTimesPreserveFailures(t *testing.T) {
	for _, n := range []uint64{0, 1, 9, 10, 50, 100, 999, 1000, 10_000} {
		for _, failed := range []uint64{0, 1, 10, 11, n / 100, n / 2, n} {
			if failed > n {
				continue
			}
			var h *measure.Histogram
			for i := range n - failed {
				add(&h, int64(1000+i))
			}
			trial := Trial{Counts: Counts{Due: n, Operations: n - failed, Errors: failed}}
			trial.ResponseTime = Times{measure.Summarize(h, failed)}
			trial.SuccessResponseTime = Times{measure.Summarize(h, 0)}
			trial.ServiceTime = trial.ResponseTime
			trial.ByRole = []Served{{Errors: failed, ResponseTime: trial.ResponseTime, ServiceTime: trial.ResponseTime}}
			b, err := json.Marshal(trial)
			must(t, err)
			var back Trial
			must(t, json.Unmarshal(b, &back))
			for what, times := range map[string][2]Times{
				"response": {trial.ResponseTime, back.ResponseTime}, "success": {trial.SuccessResponseTime, back.SuccessResponseTime},
				"service": {trial.ServiceTime, back.ServiceTime}, "role": {trial.ResponseTime, back.ByRole[0].ResponseTime},
			} {
				if diff := cmp.Diff(rounded(times[0].Summary), times[1].Summary); diff != "" {
					t.Errorf("%d operations, %d failed, %s:\n%s", n, failed, what, diff)
				}
			}
		}
	}
}
