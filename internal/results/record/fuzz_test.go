package record

import (
	"bufio"
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/store"
)

// seconds returns the contents of two files of a trial in which a few seconds of load were
// recorded.
func seconds(tb testing.TB) (hlog, timeline []byte) {
	tb.Helper()
	l := newLoad(1, 0.3, true)
	l.phase(measure.Measured, 2, 300)
	var log bytes.Buffer
	if err := hlogHead(&log, noon, noon.Truncate(time.Second)); err != nil {
		tb.Fatal(err)
	}
	rows := [][]string{names((&Row{}).written())}
	e, b := &encoder{}, log.Bytes()
	for i, s := range l.seconds {
		var err error
		if b, err = hlogSecond(b, e, s, float64(i), 1); err != nil {
			tb.Fatal(err)
		}
		rows = append(rows, cells(rowOf(s, noon.Add(time.Duration(i)*time.Second), 0, measure.NewHistogram()).written()))
	}
	var text strings.Builder
	for _, r := range rows {
		text.WriteString(strings.Join(r, ",") + "\n")
	}
	return b, []byte(text.String())
}

// oneLine checks that an error is one line of text.
func oneLine(t *testing.T, err error) {
	t.Helper()
	if err != nil && strings.ContainsAny(err.Error(), "\n\x00\x1b") {
		t.Errorf("%q is not one line of text", err)
	}
}

func FuzzHlog(f *testing.F) {
	whole, _ := seconds(f)
	first := bytes.Index(whole, []byte("\nTag=")) + 1
	short := whole[:first+bytes.IndexByte(whole[first:], '\n')+1] // one histogram
	f.Add(short)
	f.Add(short[:len(short)/2])
	f.Add([]byte("#[BaseTime: 1e300 (seconds since epoch)]\nTag=measured.lateness,1e300,-1,0,HISTFAAA\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		lines := bufio.NewScanner(bytes.NewReader(b))
		lines.Buffer(nil, maxHlogLine)
		err := scanHlog(lines, func(Tag) bool { return true }, func(i *Interval) error {
			if i.Total() < 0 || i.AddTo(nil).ByteSize() > 1<<19 || i.Length < 0 {
				t.Fatalf("the reader accepts an interval of the length %v with the steps %+v", i.Length, i.Steps)
			}
			if again, err := ParseTag(i.String()); err != nil || again != i.Tag {
				t.Errorf("the tag %v reads again as %v, %v", i.Tag, again, err)
			}
			return nil
		})
		oneLine(t, err)
	})
}

func FuzzTimeline(f *testing.F) {
	_, whole := seconds(f)
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Fuzz(func(t *testing.T, b []byte) {
		rows, err := readTimeline(b)
		oneLine(t, err)
		if len(rows) > bytes.Count(b, []byte{'\n'})+1 {
			t.Errorf("readTimeline returns %d rows for %d bytes", len(rows), len(b))
		}
	})
}

func FuzzMachines(f *testing.F) {
	const header = "unix_seconds,name,cpu_user_seconds,cpu_system_seconds,rss_bytes\n"
	f.Add([]byte(header + "1763818441,generator,1.5,0.25,41943040\n1763818441,m1,2,,1024\n"))
	f.Add([]byte(header + "1763818441,m1,NaN,-1,1e300\n"))
	f.Add([]byte("name,name\n\"m\n1\",2\n"))
	all := names((&MachineRow{}).columns())
	full := strings.Join(all, ",") + "\n"
	filled := cells(filledRow().columns())
	f.Add([]byte(full + strings.Join(filled, ",") + "\n" + "1,disk vda of x" + strings.Repeat(",", len(all)-2) + "\n"))
	f.Add([]byte(header[:len(header)-1] + ",core_busy_seconds,pid\n1,machine,1,1,,1.5 2e0 0,7\n1.001,machine,1,1,,1 NaN,-7\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		rows, err := readMachines(b)
		oneLine(t, err)
		if len(rows) > bytes.Count(b, []byte{'\n'})+1 || err != nil && rows != nil {
			t.Errorf("readMachines returns %d rows for %d bytes, with the error %v", len(rows), len(b), err)
		}
		for _, r := range rows {
			if r.Time.Unix() < 0 || len(r.Cores) > maxList || len(r.Cores) > len(b) {
				t.Errorf("readMachines accepts an impossible row: %+v", r)
			}
			for _, c := range r.columns() {
				if x, ok := c.target.(*float64); ok && !math.IsNaN(*x) && !isPossible(*x) {
					t.Errorf("readMachines accepts an impossible value: %s is %v", c.name, *x)
				}
			}
			if later := r; later.Follows(&r) {
				t.Errorf("a row follows itself: %+v", r)
			}
		}
	})
}

func FuzzStores(f *testing.F) {
	head := strings.Join(names((&StoreRow{}).columns(&[store.NumMetrics]store.Reading{})), ",") + "\n"
	f.Add([]byte(head + "1763818441.250,m1,h:1,0.0002,,0.003,,5,0.1,0.001:2 0.002:5 +Inf:5,,,,,,,1.5,2,41943040,1,9\n"))
	f.Add([]byte(head + "1763818441,m1,h:1,,refused,3,no answer,,,,,,,,,,,,,,\n"))
	f.Add([]byte(head + "1,m1,,,,,,1,1,0.1:9 0.1:8,,,,,,,NaN,-1,1e300,,\n"))
	f.Add([]byte("name,unix_seconds,fsync_count,fsync_buckets\nm1,1,1,:: 1: :1 -1:1 NaN:NaN\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		rows, err := readStores(b)
		oneLine(t, err)
		if len(rows) > bytes.Count(b, []byte{'\n'})+1 || err != nil && rows != nil {
			t.Errorf("readStores returns %d rows for %d bytes, with the error %v", len(rows), len(b), err)
		}
		for i := range rows {
			r := &rows[i]
			if r.Time.Unix() < 0 || r.ResponseTime < 0 || r.ConnectTime < 0 {
				t.Errorf("readStores accepts an impossible row: %+v", r)
			}
			for metric, m := range r.Metrics {
				p, _ := m.Since(store.Reading{}).Quantile(0.99)
				lower, upper, _ := m.Longest()
				if !isPossible(m.Value) || !isPossible(m.Sum) || !isPossible(m.Count) || len(m.Buckets) > maxBuckets || !(p >= 0) || !(lower >= 0) || !(upper >= lower) {
					t.Errorf("readStores accepts an impossible value: metric %d is %+v", metric, m)
				}
			}
		}
	})
}

func FuzzEvents(f *testing.F) {
	f.Add([]byte(`{"time":"2026-01-02T03:04:05Z","kind":"election","member":"m1","text":"x","duration_ns":5,"count":3,"total_ns":9}` + "\n{}\n"))
	f.Add([]byte("null\n[]\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		events, err := readEvents(b)
		oneLine(t, err)
		for i := range events {
			_ = events[i].Began()
			_ = events[i].TotalDuration() + time.Duration(events[i].Occurrences())
		}
	})
}

// FuzzRunDirectory searches for a run.json with which Open or ReadTrialFiles read files outside the
// run directory.
func FuzzRunDirectory(f *testing.F) {
	for _, folder := range []string{"trial-01", "../out", "link", "trial-01/../../out", "/", "", "trial-01/link"} {
		f.Add(folder)
	}
	f.Fuzz(func(t *testing.T, folder string) {
		base := t.TempDir()
		dir, out := filepath.Join(base, "in"), filepath.Join(base, "out")
		for _, d := range []string{filepath.Join(dir, "trial-01"), out} {
			must(t, os.MkdirAll(d, 0o700))
		}
		must(t, os.WriteFile(filepath.Join(out, eventsFile), []byte(`{"kind":"outside"}`+"\n"), 0o600))
		must(t, os.Symlink("../out", filepath.Join(dir, "link")))
		must(t, os.Symlink("../../out", filepath.Join(dir, "trial-01", "link")))
		run := Run{Schema: RunSchema, State: Complete, Trials: []Trial{{Schema: TrialSchema, Folder: folder}}}
		b, err := encode(run)
		must(t, err)
		must(t, os.WriteFile(filepath.Join(dir, runFile), b, 0o600))
		read, err := Open(dir)
		must(t, err)
		read.ReadTrialFiles(dir, noRecovery)
		if len(read.Trials[0].Events) > 0 {
			t.Errorf("the folder %q leads outside", folder)
		}
	})
}
