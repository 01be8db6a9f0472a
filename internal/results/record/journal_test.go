package record

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// large returns a trial that takes 40 KiB in run.json.
func large(n int) (Conditions, Trial) {
	c := Conditions{Number: n + 1, Name: fmt.Sprintf("put-%d", n), Repeat: 1, Repeats: 1, Cluster: fmt.Sprintf("c%d", n)}
	t := Trial{Schema: TrialSchema, State: Complete, Conditions: c}
	for range 10 {
		t.Notes = append(t.Notes, strings.Repeat("n", 4000))
	}
	return c, t
}

// recordLarge records the trials from `from` to `to`-1. It returns the number of bytes written: the
// sizes of all versions of run.json, plus the growth of the journal.
func recordLarge(t *testing.T, w *Writer, from, to int) (written int64) {
	t.Helper()
	last := map[string]os.FileInfo{}
	look := func() {
		for _, name := range []string{runFile, journalFile} {
			info, err := os.Stat(filepath.Join(w.Dir(), name))
			if err != nil {
				delete(last, name)
				continue
			}
			switch before := last[name]; {
			case before == nil || !os.SameFile(before, info):
				written += info.Size()
			default:
				written += info.Size() - before.Size()
			}
			last[name] = info
		}
	}
	for n := from; n < to; n++ {
		c, result := large(n)
		must(t, w.AddCluster(Cluster{ID: c.Cluster}))
		look()
		tw, err := w.Trial(c, noon)
		must(t, err)
		look()
		must(t, tw.Finish(result))
		look()
	}
	return written
}

// A writer may replace run.json and remove the journal after a reader has read the old run.json. The
// reader then reads both files again, so that no trial is missing.
func TestOpenDuringReplacementOfTheJournal(t *testing.T) {
	settle.SkipUnderRace(t)
	w, err := Create(t.TempDir(), "large", noon, Run{Name: "large"})
	must(t, err)
	recordLarge(t, w, 0, 40)
	if w.journal == nil {
		t.Fatal("the run has no journal")
	}
	reads := 0
	run, err := readUnchanged(w.Dir(), func(dir string) (*Run, error) {
		run, err := readRun(dir)
		must(t, err)
		if reads++; reads == 1 {
			must(t, w.writeRun())
		}
		return run, run.readJournal(dir)
	})
	if err != nil || len(run.Trials) != 40 || reads != 2 {
		t.Errorf("the run has %d trials after %d reads, want 40 trials after 2 reads; the error is %v", len(run.Trials), reads, err)
	}
	reads = 0
	if _, err := readUnchanged(w.Dir(), func(string) (*Run, error) {
		reads++
		must(t, os.WriteFile(filepath.Join(w.Dir(), runFile), make([]byte, reads), 0o600))
		return run, nil
	}); err != nil || reads != maxReads {
		t.Errorf("a file that changes all the time is read %d times, want %d; the error is %v", reads, maxReads, err)
	}
}

// If the process crashes during a large run, every trial and cluster is either in run.json or in
// the journal, and readers ignore an incomplete last line. The number of bytes written is
// proportional to the size of the run. A finished run has no journal.
func TestJournalOfALargeRun(t *testing.T) {
	settle.SkipUnderRace(t)
	w, err := Create(t.TempDir(), "large", noon, Run{Name: "large", Planned: 200})
	must(t, err)
	written := recordLarge(t, w, 0, 130)
	info, err := os.Stat(filepath.Join(w.Dir(), runFile))
	must(t, err)
	journal, err := os.ReadFile(filepath.Join(w.Dir(), journalFile))
	if err != nil || len(journal) < 1<<20 {
		t.Fatalf("the journal has %d bytes and run.json has %d: %v", len(journal), info.Size(), err)
	}
	check := func(trials int, state State, problems int) *Run {
		t.Helper()
		run, err := Open(w.Dir())
		must(t, err)
		if run.State != state || len(run.Trials) != trials || len(run.Clusters) != trials || len(run.Problems) != problems {
			t.Fatalf("the run is %s, with %d trials (want %d), %d clusters and the problems %q", run.State, len(run.Trials), trials, len(run.Clusters), run.Problems)
		}
		for i := range run.Trials {
			if one := &run.Trials[i]; one.Name != fmt.Sprintf("put-%d", i) || one.State != Complete || len(one.Notes) != 10 {
				t.Fatalf("trial %d is named %s, is %s and has %d notes", i, one.Name, one.State, len(one.Notes))
			}
		}
		return run
	}
	check(130, Incomplete, 1)
	must(t, os.WriteFile(filepath.Join(w.Dir(), journalFile), append(journal, `{"index":130,"trial":{"schema":"`...), 0o600))
	check(130, Incomplete, 1)
	must(t, os.WriteFile(filepath.Join(w.Dir(), journalFile), journal, 0o600))
	written += recordLarge(t, w, 130, 200)
	must(t, w.Finish(Complete, "", noon.Add(time.Hour)))
	check(200, Complete, 0)
	if _, err := os.Stat(filepath.Join(w.Dir(), journalFile)); err == nil {
		t.Error("a finished run still has a journal")
	}
	if info, err = os.Stat(filepath.Join(w.Dir(), runFile)); err != nil || written > 12*info.Size() {
		t.Errorf("%d MiB were written for a run.json of %d MiB: %v", written>>20, info.Size()>>20, err)
	}
}

// If a journal contains a bad line, for example from another program, the run's Problems report
// this line. The entries before the line are used.
func TestBadJournalIsReported(t *testing.T) {
	for line, want := range map[string]string{
		`[]`: "Cannot read run-more.jsonl: line 2 is not an entry: ",
		`{"index":5,"trial":{"schema":"quorumbench/trial/2"}}`:  "Cannot read run-more.jsonl: line 2: it changes trial 6, but the run has only 1 trials.",
		`{"index":-1,"trial":{"schema":"quorumbench/trial/2"}}`: "Cannot read run-more.jsonl: line 2: it changes trial 0, but the run has only 1 trials.",
		`{"index":1,"trial":{"schema":"quorumbench/trial/9"}}`:  `Cannot read run-more.jsonl: line 2: its schema is "quorumbench/trial/9"`,
		strings.Repeat(" ", maxEntry+1):                         "Cannot read run-more.jsonl: a line is longer than 16 MiB.",
	} {
		w, err := Create(t.TempDir(), "r", noon, Run{Name: "r"})
		must(t, err)
		journal := `{"index":0,"trial":{"schema":"quorumbench/trial/2","name":"put\u001b"}}` + "\n" + line + "\n"
		must(t, os.WriteFile(filepath.Join(w.Dir(), journalFile), []byte(journal), 0o600))
		run, err := Open(w.Dir())
		must(t, err)
		if len(run.Trials) != 1 || strings.Contains(run.Trials[0].Name, "\x1b") || !strings.HasPrefix(run.Problems[0], want) {
			t.Errorf("%d trials, and %q, not %q", len(run.Trials), run.Problems, want)
		}
	}
}

// The maximum size of a run.json depends on the number of trials in it, and this number is also
// limited.
func TestRunFileSizeIsLimitedByItsTrials(t *testing.T) {
	settle.SkipUnderRace(t)
	trial := []byte(`{"schema":"` + TrialSchema + `","notes":["` + strings.Repeat("n", 14<<10) + `"]},`)
	head := `{"schema":"` + RunSchema + `","trials":[`
	many := append([]byte(head), bytes.Repeat(trial, 60)...)
	many = append(many[:len(many)-1], "]}"...)
	const base = 64 << 10 // used instead of maxRun
	run, err := decode(&allowance{bytes.NewReader(many), base})
	must(t, err)
	if len(run.Trials) != 60 {
		t.Errorf("the run has %d trials", len(run.Trials))
	}
	many = bytes.Replace(many, []byte(`{"schema":"`+TrialSchema), fmt.Appendf(nil, `{"name":"%s","schema":"%s`, strings.Repeat("n", base), TrialSchema), 1)
	if _, err := decode(&allowance{bytes.NewReader(many), base}); err == nil || err.Error() != errTooLarge.Error() {
		t.Errorf("a trial above the size limit is accepted: %v", err)
	}
	for text, want := range map[string]string{
		head + strings.Repeat(`{"schema":"`+TrialSchema+`"},`, maxTrials) + `{"schema":"` + TrialSchema + `"}]}`: "it is not the JSON of a run: it has more than 20,000 trials, the limit for a run",
		head + `{"schema":"` + TrialSchema + `"}`:      "it is not the JSON of a run: unexpected EOF",
		`{"schema":"` + RunSchema + `","Trials":[{}]}`: `trial 1: its schema is "" instead of "quorumbench/trial/2"`,
		`{"trials":[]}`: `its schema is "" instead of "quorumbench/run/2"`,
		`{"schema":"` + RunSchema + `","trials":{}}`:                       "it is not the JSON of a run: the list of trials begins with { instead of [",
		`{"schema":"` + RunSchema + `"} {}`:                                "it is not the JSON of a run: there is text after the object",
		`{"schema":"quorumbench/run/9","trials":[{"number":"of another"}]`: `its schema is "quorumbench/run/9" instead of "quorumbench/run/2"; read the run with the version of quorumbench that wrote it, or repeat it`,
	} {
		if _, err := Parse([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("%.80s: %v, not %s", text, err, want)
		}
	}
	if run, err := Parse([]byte(`{"schema":"` + RunSchema + `","trials":null}`)); err != nil || len(run.Trials) != 0 {
		t.Errorf("parsing a run without trials returns %v", err)
	}
}
