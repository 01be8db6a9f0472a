package serve

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/testing/runs"
)

// follower reads the events of a stream.
type follower struct {
	t     *testing.T
	lines *bufio.Scanner
}

// follow opens a stream, and closes the stream at the end of the test.
func follow(t *testing.T, url string) *follower {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	must(t, err)
	response, err := http.DefaultClient.Do(r)
	must(t, err)
	t.Cleanup(func() { must(t, response.Body.Close()) })
	if response.StatusCode != http.StatusOK || response.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("status %s, content type %s", response.Status, response.Header.Get("Content-Type"))
	}
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 1<<20)
	return &follower{t, lines}
}

// next returns the name of the next event, and decodes the data of the event into `data`.
func (f *follower) next(data any) string {
	f.t.Helper()
	name := ""
	for f.lines.Scan() {
		line := f.lines.Text()
		if event, ok := strings.CutPrefix(line, "event: "); ok {
			name = event
		}
		if b, ok := strings.CutPrefix(line, "data: "); ok {
			if err := json.Unmarshal([]byte(b), data); err != nil {
				f.t.Fatalf("%s: %v", line, err)
			}
			return name
		}
	}
	f.t.Fatalf("the stream ended: %v", f.lines.Err())
	return ""
}

// until returns the data of the next event with the given name. It skips other events.
func until[T any](f *follower, name string) T {
	f.t.Helper()
	for {
		var raw json.RawMessage
		if f.next(&raw) == name {
			var data T
			must(f.t, json.Unmarshal(raw, &data))
			return data
		}
	}
}

// started starts a run. It returns a server for the run, the URL of the page of the run, and the
// run.
func started(t *testing.T, r runs.Run) (s *Server, base string, active *runs.ActiveRun) {
	t.Helper()
	dir := t.TempDir()
	active = r.Start(t, dir)
	s = newServer(t, dir, Options{})
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	id, err := filepath.Rel(dir, active.Dir())
	must(t, err)
	return s, h.URL + "/runs/" + strings.ReplaceAll(id, "/", "%2F"), active
}

func TestStreamSendsEverySecondOnce(t *testing.T) {
	r := short("active", 0, "")
	r.Trials, r.Seconds = 2, 8
	_, base, active := started(t, r)
	f := follow(t, base+"/live") // before the first trial
	late := (*follower)(nil)
	for trial := range 2 {
		active.Begin()
		head := until[trialHead](f, "trial")
		if head.Number != trial+1 || head.Planned != 2 || !head.Open || head.Store != "etcd 3.7.3" {
			t.Errorf("the trial is %+v", head)
		}
		n := -1
		for active.Next() {
			for n < active.WrittenSeconds()-1 { // the row of a second is recorded when the next second begins
				for _, s := range until[[]second](f, "seconds") {
					if n++; s.Second != n-1 && (n > 0 || s.Phase != "warmup") {
						t.Errorf("second %d of phase %s follows second %d", s.Second, s.Phase, n-2)
					}
					if s.Phase == "measured" && n != 6 && (s.Ops < 1000 || s.OpsText == "" || !strings.HasSuffix(s.DueText, "/s")) {
						t.Errorf("the event of the second is %+v", s)
					}
				}
			}
			if n == 4 && late == nil {
				late = follow(t, base+"/live") // in the middle of a trial
				until[trialHead](late, "trial")
				if got := until[[]second](late, "seconds"); len(got) != n+1 {
					t.Errorf("a stream that starts in the middle of a trial first sends %d seconds, want %d", len(got), n+1)
				}
			}
		}
	}
	active.Finish()
	for _, f := range []*follower{f, late} {
		if end := until[endEvent](f, "end"); !end.Ended {
			t.Errorf("the stream ends with %+v", end)
		}
	}
}

func TestStreamShowsProcessesAndEvents(t *testing.T) {
	r := short("active", 0, "")
	r.Seconds = 60
	_, base, active := started(t, r)
	active.Begin()
	for range 40 {
		active.Next()
	}
	f := follow(t, base+"/live")
	if events := until[[]liveEvent](f, "happened"); len(events) == 0 || events[0].Text == "" || events[0].Time == "" {
		t.Errorf("the events are %+v", events)
	}
	for range 2 {
		all := until[[]process](f, "processes")
		if len(all) != 4 || all[0].Name != "generator" || all[1].CPU == "" || all[1].RSS == "" {
			t.Errorf("the processes are %+v", all)
		}
		active.Next()
	}
	active.Kill()
	until[endEvent](f, "end")
}

// An update contains at most maxSeconds rows, but the number of errors covers all rows of the trial.
func TestStreamCountsTheErrorsOfOmittedSeconds(t *testing.T) {
	rows := make([]record.Row, maxSeconds+5)
	for i := range rows {
		rows[i] = record.Row{Second: i, Errors: 2}
	}
	w := httptest.NewRecorder()
	st := &stream{response: w, control: http.NewResponseController(unlimited{w})}
	run := &record.Run{Trials: []record.Trial{{Folder: "a"}, {Folder: "b"}}}
	for _, c := range []struct {
		trial       int
		rows        []record.Row
		first, last uint64
	}{
		{0, rows, 12, 2 * (maxSeconds + 5)}, {0, rows[:1], 2*(maxSeconds+5) + 2, 2*(maxSeconds+5) + 2}, {1, rows[:3], 2, 6},
	} {
		w.Body.Reset()
		st.update(&record.Update{Run: run, Trial: &run.Trials[c.trial], Rows: c.rows})
		must(t, st.err)
		f := &follower{t, bufio.NewScanner(w.Body)}
		f.lines.Buffer(nil, 1<<20)
		all := until[[]second](f, "seconds")
		if first, last := all[0].ErrorsSoFar, all[len(all)-1].ErrorsSoFar; first != c.first || last != c.last {
			t.Errorf("trial %d: the errors so far are %d in the first second and %d in the last one, want %d and %d", c.trial, first, last, c.first, c.last)
		}
	}
}

// unlimited is a response without write deadlines.
type unlimited struct{ *httptest.ResponseRecorder }

func (unlimited) SetWriteDeadline(time.Time) error { return nil }

func TestStreamEndsWithTheServer(t *testing.T) {
	s, base, active := started(t, short("active", 0, ""))
	active.Begin()
	f := follow(t, base+"/live")
	until[trialHead](f, "trial")
	s.Close()
	for f.lines.Scan() {
	}
	if err := f.lines.Err(); err != nil {
		t.Error(err)
	}
}

func TestStreamsAreLimited(t *testing.T) {
	s, base, active := started(t, short("active", 0, ""))
	active.Begin()
	s.viewers.Store(maxViewers)
	response, err := http.Get(base + "/live")
	must(t, err)
	must(t, response.Body.Close())
	if response.StatusCode != http.StatusServiceUnavailable || s.viewers.Load() != maxViewers {
		t.Errorf("status %s with %d viewers", response.Status, s.viewers.Load())
	}
	s.viewers.Store(0)
	f := follow(t, base+"/live")
	until[trialHead](f, "trial")
}
