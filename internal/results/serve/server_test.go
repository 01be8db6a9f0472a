package serve

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/results/record"
)

func TestListSelectsRuns(t *testing.T) {
	dir := t.TempDir()
	put(t, short("nightly", 0, "3.6.0"), dir, "nightly")
	put(t, short("nightly", 0, "3.7.3"), dir, "new", "nightly")
	put(t, short("release", 3, "3.7.3"), dir, "release")
	s := newServer(t, dir, Options{})
	for _, c := range []struct{ query, want string }{
		{"", "release new/nightly nightly"},
		{"?store=etcd", "release new/nightly nightly"},
		{"?store=consul", ""},
		{"?version=3.7.3", "release new/nightly"},
		{"?name=nightly&version=3.7.3", "new/nightly"},
		{"?q=RELEASE", "release"},
		{"?q=3.7+night", "new/nightly"},
		{"?q=nothing", ""},
		{"?from=2026-03-02", "release"},
		{"?to=2026-03-01", "new/nightly nightly"},
		{"?from=2026-03-04&to=2026-03-04", "release"},
		{"?state=complete&unknown=x", "release new/nightly nightly"},
		{"?state=running", ""},
	} {
		w := get(t, s, "/runs.json"+c.query)
		var list struct {
			Schema string
			Runs   []*Summary
		}
		if err := json.Unmarshal(w.Body.Bytes(), &list); err != nil || list.Schema != listSchema {
			t.Fatalf("%s: %v in %s", c.query, err, w.Body)
		}
		if got := ids(list.Runs); got != c.want {
			t.Errorf("%s selects %q, want %q", c.query, got, c.want)
		}
		page := get(t, s, "/"+c.query).Body.String()
		if got := strings.Count(page, `type="checkbox"`); got != len(strings.Fields(c.want)) {
			t.Errorf("%s: the page lists %d runs", c.query, got)
		}
	}
	for _, query := range []string{"?page=0", "?page=x", "?from=yesterday", "?to=2026-13-01"} {
		if w := get(t, s, "/"+query); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "must be a") {
			t.Errorf("%s: %d %s", query, w.Code, w.Body)
		}
	}
}

func TestListHasPages(t *testing.T) {
	s := newServer(t, t.TempDir(), Options{})
	if page := get(t, s, "/").Body.String(); !strings.Contains(page, "contains no run directory yet") {
		t.Errorf("the page of an empty folder is %s", page)
	}
	list := make([]*Summary, 0, 250)
	for range 250 {
		list = append(list, summaryForBenchmark())
	}
	s.index.summaries.Store(&list)
	for _, c := range []struct {
		query          string
		rows           int
		previous, next string
	}{
		{"?q=quick", 100, "", "?page=2&amp;q=quick"}, {"?page=2", 100, "?", "?page=3"}, {"?page=3", 50, "?page=2", ""}, {"?page=9", 0, "?page=8", ""},
		{"?page=9223372036854775807", 0, "?page=9223372036854775806", ""}, {"?page=100000000000000000", 0, "?page=99999999999999999", ""},
	} {
		page := get(t, s, "/"+c.query).Body.String()
		if got := strings.Count(page, `type="checkbox"`); got != c.rows {
			t.Errorf("%s: %d rows", c.query, got)
		}
		for rel, link := range map[string]string{"prev": c.previous, "next": c.next} {
			if want := `rel="` + rel + `" href="` + link + `"`; link != "" && !strings.Contains(page, want) || link == "" && strings.Contains(page, `rel="`+rel+`"`) {
				t.Errorf("%s: the link %s is not %q", c.query, rel, link)
			}
		}
	}
}

func TestReportsOfOneAndSeveralRuns(t *testing.T) {
	dir := t.TempDir()
	put(t, short("a", 0, "3.6.0"), dir, "a")
	put(t, short("b", 1, "3.7.3"), dir, "deep", "b")
	s := newServer(t, dir, Options{})
	for path, want := range map[string][]string{
		"/runs/a": {"3.6.0", "<h2>Overview</h2>"}, "/runs/deep%2Fb": {"3.7.3"}, "/runs/a/report": {"3.6.0"},
		"/overlay?run=a&run=deep%2Fb": {"3.6.0", "3.7.3", " of a", " of b"}, "/overlay?run=a": {"3.6.0"},
	} {
		w := get(t, s, path)
		if w.Code != http.StatusOK || !strings.Contains(w.Header().Get("Content-Security-Policy"), "script-src 'sha256-") {
			t.Errorf("%s: status %d with the policy %s", path, w.Code, w.Header().Get("Content-Security-Policy"))
		}
		for _, text := range want {
			if !strings.Contains(w.Body.String(), text) {
				t.Errorf("%s: the page lacks %q", path, text)
			}
		}
	}
	if w := get(t, s, "/history?run=a&run=deep%2Fb"); w.Code != http.StatusOK || !strings.HasPrefix(w.Header().Get("Content-Security-Policy"), "default-src 'none'") || !strings.Contains(w.Body.String(), "<h1>History</h1>") {
		t.Errorf("the history has status %d: %s", w.Code, w.Body)
	}
	for path, want := range map[string]int{
		"/runs/none": 404, "/runs/..": 404, "/overlay": 400, "/history": 400, "/history?run=none": 404, "/overlay?run=a&run=none": 404, "/overlay?" + strings.Repeat("run=a&", 17): 400,
		"/none": 404, "/runs/a/none": 404,
	} {
		if w := get(t, s, path); w.Code != want && w.Code != http.StatusTemporaryRedirect {
			t.Errorf("%s: status %d, want %d", path, w.Code, want)
		}
	}
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete} {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest(method, "http://127.0.0.1/runs/a", nil))
		if w.Code != http.StatusMethodNotAllowed {
			t.Errorf("%s: status %d", method, w.Code)
		}
	}
}

// The history and the report of several runs leave out runs that cannot be read, and the list shows
// such runs. If no run has figures, the history is refused.
func TestUnreadableRunsDoNotHideOthers(t *testing.T) {
	dir := t.TempDir()
	put(t, short("a", 0, "3.6.0"), dir, "a")
	put(t, short("b", 1, "3.6.0"), dir, "b")
	write(t, `{"schema":"`+record.RunSchema+`","state":"complete","name":"none","started":"2026-03-01T12:00:00Z","trials":[]}`, dir, "none", "run.json")
	s := newServer(t, dir, Options{})
	write(t, "{", dir, "b", "run.json")
	leftOutB := "A run was left out because it cannot be read: " + filepath.Join(dir, "b", "run.json") + ": "
	for path, want := range map[string]struct {
		status int
		text   string
	}{
		"/history?run=a&run=b":    {http.StatusOK, leftOutB},
		"/history?run=a&run=none": {http.StatusOK, "<h1>History</h1>"},
		"/history?run=none":       {http.StatusBadRequest, "no run has a trial with figures"},
		"/history?run=b":          {http.StatusBadRequest, "no selected run can be read"},
		"/overlay?run=a&run=b":    {http.StatusOK, leftOutB},
		"/overlay?run=b&run=a":    {http.StatusOK, "3.6.0"},
		"/overlay?run=b":          {http.StatusInternalServerError, "There is no report to show. A run was left out because it cannot be read"},
		"/":                       {http.StatusOK, "/runs/a"},
	} {
		if w := get(t, s, path); w.Code != want.status || !strings.Contains(w.Body.String(), want.text) {
			t.Errorf("%s: status %d: %s", path, w.Code, w.Body)
		}
	}
}

func TestFilesOfARun(t *testing.T) {
	dir, outside := t.TempDir(), filepath.Join(t.TempDir(), "secret")
	run := put(t, short("a", 0, ""), dir, "a")
	write(t, "secret", outside)
	must(t, os.Symlink(outside, filepath.Join(run, "link")))
	must(t, os.Symlink(filepath.Dir(outside), filepath.Join(run, "folder")))
	write(t, "members' data", run, "data", "m1", "wal")
	name := `odd "<b>.html`
	write(t, "<script>", run, name)
	s := newServer(t, dir, Options{})

	page := get(t, s, "/runs/a/files").Body.String()
	for _, want := range []string{"run.json", "timeline.csv", "odd &#34;&lt;b&gt;.html", "files/odd%20%22%3Cb%3E.html"} {
		if !strings.Contains(page, want) {
			t.Errorf("the list of files lacks %q", want)
		}
	}
	for _, unwanted := range []string{"link", "secret", "wal", "<b>"} {
		if strings.Contains(page, unwanted+"<") || strings.Contains(page, unwanted+`"`) {
			t.Errorf("the list of files contains %q", unwanted)
		}
	}
	w := get(t, s, "/runs/a/files/"+url.PathEscape(name))
	if w.Code != 200 || w.Body.String() != "<script>" || w.Header().Get("Content-Type") != "application/octet-stream" || w.Header().Get("Content-Disposition") != `attachment; filename="odd _<b>.html"` {
		t.Errorf("the file has the headers %v and the contents %q", w.Header(), w.Body)
	}
	want, err := os.ReadFile(filepath.Join(run, "run.json"))
	must(t, err)
	if w := get(t, s, "/runs/a/files/run.json"); !bytes.Equal(w.Body.Bytes(), want) {
		t.Errorf("run.json differs: status %d", w.Code)
	}
	for _, path := range []string{"link", "folder/secret", "..%2f..%2fsecret", "..%2Fa%2Frun.json", "%2e%2e/run.json", "data", "none", outside} {
		if w := get(t, s, "/runs/a/files/"+path); w.Code == 200 || strings.Contains(w.Body.String(), "secret\n") {
			t.Errorf("%s: status %d, %s", path, w.Code, w.Body)
		}
	}

	w = get(t, s, "/runs/a/archive.zip")
	z, err := zip.NewReader(bytes.NewReader(w.Body.Bytes()), int64(w.Body.Len()))
	must(t, err)
	found := false
	for _, f := range z.File {
		if strings.Contains(f.Name, "secret") || strings.Contains(f.Name, "wal") || strings.Contains(f.Name, "link") {
			t.Errorf("the archive contains %s", f.Name)
		}
		if f.Name == "a/run.json" {
			in, err := f.Open()
			must(t, err)
			b, err := io.ReadAll(in)
			must(t, err)
			found = bytes.Equal(b, want)
		}
	}
	if !found {
		t.Error("the archive lacks run.json")
	}
}

func TestLoopbackServerRefusesOtherHosts(t *testing.T) {
	s := newServer(t, t.TempDir(), Options{Loopback: true})
	for host, want := range map[string]int{
		"localhost": 200, "LOCALHOST:80": 200, "127.0.0.1:7422": 200, "[::1]:7422": 200, "127.9.9.9": 200,
		"example.com": 403, "localhost.example.com:7422": 403, "127.0.0.1.example.com": 403, "10.0.0.1": 403, "": 403,
	} {
		r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1/", nil)
		r.Host = host
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("host %q: status %d, want %d", host, w.Code, want)
		}
	}
}

func TestTokenIsNeeded(t *testing.T) {
	dir, token := t.TempDir(), "correct horse battery"
	put(t, short("a", 0, ""), dir, "a")
	s := newServer(t, dir, Options{Token: token})
	for _, path := range []string{"/", "/runs.json", "/runs/a", "/runs/a/report", "/runs/a/live", "/runs/a/files", "/runs/a/files/run.json", "/runs/a/archive.zip", "/overlay?run=a", "/history?run=a", "/live.js", "/none"} {
		for _, header := range [][]string{nil, {"Authorization", "Bearer wrong"}, {"Authorization", "Bearer "}, {"Authorization", token}, {"Cookie", cookieName + "=" + token}, {"Cookie", cookieName + "="}} {
			if w := get(t, s, path, header...); w.Code != http.StatusUnauthorized || strings.Contains(w.Body.String(), "3.7") {
				t.Errorf("%s with %q: status %d", path, header, w.Code)
			}
		}
	}
	if w := get(t, s, "/runs/a", "Authorization", "Bearer "+token); w.Code != http.StatusOK {
		t.Errorf("a request with the token in its header has the status %d", w.Code)
	}
	if w := get(t, s, "/runs/a", "Accept", "text/html"); w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/login" {
		t.Errorf("a browser is redirected to %q with status %d", w.Header().Get("Location"), w.Code)
	}
	login := func(token string) (status int, cookies []*http.Cookie) {
		r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/login", strings.NewReader(url.Values{"token": {token}}.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		response := w.Result()
		must(t, response.Body.Close())
		return w.Code, response.Cookies()
	}
	if status, cookies := login("wrong"); status != http.StatusUnauthorized || len(cookies) > 0 {
		t.Errorf("a login with a wrong token has the status %d and the cookies %v", status, cookies)
	}
	_, cookies := login(token)
	if len(cookies) != 1 || !cookies[0].HttpOnly || cookies[0].SameSite != http.SameSiteStrictMode || strings.Contains(cookies[0].Value, token) {
		t.Fatalf("the cookies are %v", cookies)
	}
	if w := get(t, s, "/runs/a", "Cookie", cookies[0].String()); w.Code != http.StatusOK {
		t.Errorf("a request with the cookie has the status %d", w.Code)
	}
}

func TestHostileTextIsInert(t *testing.T) {
	dir := t.TempDir()
	hostile := `x"><script>alert(1)</script>`
	r := short("a", 0, `<img src=x onerror=alert(1)>`)
	put(t, r, dir, "<script>alert(2)<")
	write(t, `{"schema":"`+record.RunSchema+`","state":"complete","name":`+quoted(t, hostile)+`,"started":"2026-03-01T12:00:00Z","trials":[],"machines":[{"name":`+quoted(t, hostile)+`}]}`, dir, "named", "run.json")
	s := newServer(t, dir, Options{})
	if len(s.index.Runs()) != 2 {
		t.Fatalf("the runs are %q", ids(s.index.Runs()))
	}
	paths := []string{"/", "/?q=" + url.QueryEscape(hostile), "/?store=" + url.QueryEscape(hostile), "/?from=" + url.QueryEscape(hostile), "/runs/" + url.PathEscape(hostile), "/overlay?run=" + url.QueryEscape(hostile), "/history?run=" + url.QueryEscape(hostile)}
	for _, run := range s.index.Runs() {
		id := url.PathEscape(run.ID)
		paths = append(paths, "/runs/"+id, "/runs/"+id+"/files", "/overlay?run="+url.QueryEscape(run.ID), "/history?run="+url.QueryEscape(run.ID))
	}
	for _, path := range paths {
		body := get(t, s, path).Body.String()
		if strings.Contains(body, "<script>alert") || strings.Contains(body, "<img") {
			t.Errorf("%s contains elements from hostile text:\n%.2000s", path, body)
		}
	}
}
