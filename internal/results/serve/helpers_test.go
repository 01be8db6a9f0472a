package serve

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/testing/runs"
)

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// short returns a run of a few seconds that begins the given number of days after runs.Noon.
func short(name string, day int, version string) runs.Run {
	return runs.Run{Name: name, Warmup: 1, Seconds: 3, PerSecond: 2000, Seed: 7, Day: day, Version: version}
}

// put records a run, moves the run directory to a path and returns that path.
func put(tb testing.TB, r runs.Run, path ...string) (dir string) {
	tb.Helper()
	dir = filepath.Join(path...)
	must(tb, os.MkdirAll(filepath.Dir(dir), 0o700))
	must(tb, os.Rename(r.Record(tb, tb.TempDir()), dir))
	return dir
}

// scanned returns an index of the runs in a folder after one scan. The index has no index file.
func scanned(tb testing.TB, dir string) *Index {
	tb.Helper()
	x, err := NewIndex(dir, "", time.Now)
	must(tb, err)
	_, err = x.Scan()
	must(tb, err)
	return x
}

// newServer returns a server for the runs in a folder.
func newServer(tb testing.TB, dir string, o Options) *Server {
	tb.Helper()
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Warn == nil {
		o.Warn = func(problem string) { tb.Errorf("the server reports: %s", problem) }
	}
	return New(scanned(tb, dir), o)
}

// get returns the response to a request for a path. In header, names and values alternate.
func get(tb testing.TB, s http.Handler, path string, header ...string) *httptest.ResponseRecorder {
	tb.Helper()
	r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1"+path, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
		if header[i] == "Host" {
			r.Host = header[i+1]
		}
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// ids returns the IDs of summaries, joined by spaces.
func ids(all []*Summary) string {
	names := make([]string, 0, len(all))
	for _, s := range all {
		names = append(names, s.ID)
	}
	return strings.Join(names, " ")
}

func write(tb testing.TB, contents string, path ...string) {
	tb.Helper()
	name := filepath.Join(path...)
	must(tb, os.MkdirAll(filepath.Dir(name), 0o700))
	must(tb, os.WriteFile(name, []byte(contents), 0o600))
}
