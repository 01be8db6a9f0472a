// Package serve shows a folder of runs as web pages: a searchable list, the report of each run, one
// report for several runs, and a page for each active run that is updated every second. The package
// never changes run directories. docs/how-to/browse-runs.md describes the pages for users.
package serve

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/quorumbench/quorumbench/internal/results/web"
	"github.com/quorumbench/quorumbench/internal/text"
)

//go:embed pages
var pages embed.FS

// Options configure a Server.
type Options struct {
	// Token, if not empty, must accompany every request: in a header "Authorization: Bearer TOKEN",
	// or in the form of the login page.
	Token string
	// Loopback makes the server accept only requests whose Host header is a loopback name.
	// Otherwise a web page on the Internet could read the runs by resolving its own name to
	// 127.0.0.1.
	Loopback bool
	// Warn receives problems that concern the whole server. It may be called concurrently.
	Warn func(problem string)
	Now  func() time.Time
}

// Server is an http.Handler for the runs of an Index.
type Server struct {
	options Options
	index   *Index
	mux     *http.ServeMux
	pages   *template.Template
	session string // cookie value that a browser receives when it has sent the token

	rescan    chan struct{} // holds one element while no scan is under way
	rendering chan struct{} // limits the number of reports that are written at the same time
	viewers   atomic.Int64  // open streams of active runs
	warned    atomic.Bool   // set if a failed scan was reported
	closed    chan struct{} // closed by Close
}

const (
	// maxViewers is the maximum number of open streams.
	maxViewers = 64
	// maxOverlaid is the maximum number of runs in one report.
	maxOverlaid = 16
	// staleAfter is the maximum age of the latest scan. If the scan is older, a request starts a
	// new one.
	staleAfter = time.Second
	// maxScanWait is the maximum time that a request waits for a scan.
	maxScanWait = 100 * time.Millisecond
)

// New returns a server for the runs of an index, which must have been scanned.
func New(index *Index, o Options) *Server {
	s := &Server{options: o, index: index, mux: http.NewServeMux(), rescan: make(chan struct{}, 1), rendering: make(chan struct{}, 2), closed: make(chan struct{})}
	s.rescan <- struct{}{}
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // it never fails
	s.session = fmt.Sprintf("%x", secret)
	s.pages = template.Must(template.New("").Funcs(template.FuncMap{"path": url.PathEscape, "plural": func(n int, noun string) string { return text.Plural(uint64(max(n, 0)), noun) }}).ParseFS(pages, "pages/*.html"))
	s.mux.HandleFunc("GET /{$}", s.list)
	s.mux.HandleFunc("GET /runs.json", s.listJSON)
	s.mux.HandleFunc("GET /overlay", s.overlay)
	s.mux.HandleFunc("GET /history", s.history)
	s.mux.HandleFunc("GET /runs/{id}", s.run)
	s.mux.HandleFunc("GET /runs/{id}/report", s.report)
	s.mux.HandleFunc("GET /runs/{id}/live", s.live)
	s.mux.HandleFunc("GET /runs/{id}/files", s.files)
	s.mux.HandleFunc("GET /runs/{id}/files/{path...}", s.file)
	s.mux.HandleFunc("GET /runs/{id}/archive.zip", s.archive)
	s.mux.HandleFunc("GET /login", s.login)
	s.mux.HandleFunc("POST /login", s.login)
	s.mux.Handle("GET /style.css", s.asset("text/css; charset=utf-8", []byte(web.Style()), "pages/serve.css"))
	s.mux.Handle("GET /live.js", s.asset("text/javascript; charset=utf-8", nil, "pages/live.js"))
	return s
}

// Close ends all streams, so that http.Server.Shutdown does not wait for them.
func (s *Server) Close() { close(s.closed) }

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	switch {
	case s.options.Loopback && !loopbackHost(r.Host):
		s.refuse(w, http.StatusForbidden, fmt.Sprintf("This server accepts only the host names localhost, 127.0.0.1 and [::1], not %q.", text.Line(r.Host, 100)))
	case !s.authorized(r) && r.URL.Path != "/login" && r.URL.Path != "/style.css":
		if r.Method == http.MethodGet && strings.Contains(r.Header.Get("Accept"), "text/html") {
			http.Redirect(w, r, "/login", http.StatusSeeOther)
			return
		}
		h.Set("WWW-Authenticate", "Bearer")
		s.refuse(w, http.StatusUnauthorized, "The token is missing or wrong; send the token in a header \"Authorization: Bearer TOKEN\".")
	default:
		s.mux.ServeHTTP(w, r)
	}
}

// loopbackHost reports whether the host of a request is a loopback name or address.
func loopbackHost(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.Trim(host, "[]")
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

const cookieName = "quorumbench"

// authorized reports whether a request contains the token or the cookie that the login page sets.
func (s *Server) authorized(r *http.Request) bool {
	if s.options.Token == "" {
		return true
	}
	if token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		return equal(token, s.options.Token)
	}
	cookie, err := r.Cookie(cookieName)
	return err == nil && equal(cookie.Value, s.session)
}

// equal compares two secrets in a time that does not depend on their contents.
func equal(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// maxLogin is the size limit of the login form in bytes.
const maxLogin = 4 << 10

// login shows the form for the token. If the form contains the right token, login sets the cookie.
func (s *Server) login(w http.ResponseWriter, r *http.Request) {
	wrong := false
	if r.Method == http.MethodPost {
		r.Body = http.MaxBytesReader(w, r.Body, maxLogin)
		if s.options.Token != "" && equal(r.PostFormValue("token"), s.options.Token) {
			http.SetCookie(w, &http.Cookie{Name: cookieName, Value: s.session, Path: "/", HttpOnly: true, Secure: r.TLS != nil, SameSite: http.SameSiteStrictMode})
			http.Redirect(w, r, "/", http.StatusSeeOther)
			return
		}
		wrong = true
		w.WriteHeader(http.StatusUnauthorized)
	}
	s.page(w, "login.html", struct{ Wrong bool }{wrong})
}

// page writes a page from a template.
func (s *Server) page(w http.ResponseWriter, name string, values any) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = s.pages.ExecuteTemplate(w, name, values) // the browser may have closed the connection
}

// refuse writes an error page with one sentence.
func (s *Server) refuse(w http.ResponseWriter, status int, sentence string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	s.page(w, "error.html", struct {
		Title, Text string
	}{http.StatusText(status), text.Line(sentence, text.MaxOutput)})
}

// asset returns a handler that responds with the bytes in `prefix` and then the embedded file.
func (s *Server) asset(kind string, prefix []byte, name string) http.Handler {
	b, err := pages.ReadFile(name)
	if err != nil {
		panic(err) // the file is embedded
	}
	contents := append(prefix, b...)
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		_, _ = w.Write(contents) // the browser may have closed the connection
	})
}

// currentRuns returns the runs. If the latest scan is old, currentRuns starts a new scan first. If
// that scan takes longer than maxScanWait, currentRuns returns the runs of the previous scan, and a
// new run appears only in a later request.
func (s *Server) currentRuns(ctx context.Context) []*Summary {
	if s.options.Now().Sub(s.index.Scanned()) >= staleAfter {
		s.scan(ctx)
	}
	return s.index.Runs()
}

// scan starts a scan and waits for its end, but not longer than maxScanWait. If another request's
// scan is under way, scan waits for maxScanWait and starts no scan.
func (s *Server) scan(ctx context.Context) {
	done := make(chan struct{})
	select {
	case <-s.rescan:
		go func() {
			defer func() { s.rescan <- struct{}{}; close(done) }()
			_, err := s.index.Scan()
			if err != nil && !s.warned.Swap(true) {
				s.options.Warn(err.Error())
			}
		}()
	default: // a scan is under way
	}
	wait := time.NewTimer(maxScanWait)
	defer wait.Stop()
	select {
	case <-done:
	case <-wait.C:
	case <-ctx.Done():
	}
}

// listPage holds the values for the template of the list page.
type listPage struct {
	Dir          string
	Query        query
	Options      []formField
	Runs         []*Summary
	MatchingRuns int
	TotalRuns    int
	Previous     string // query of the previous page; empty on the first page
	Next         string
	Filtered     bool
}

func (s *Server) list(w http.ResponseWriter, r *http.Request) {
	runs := s.currentRuns(r.Context())
	q, err := parseQuery(r.URL.Query())
	if err != nil {
		s.refuse(w, http.StatusBadRequest, err.Error()+".")
		return
	}
	found := q.filter(runs)
	p := listPage{Dir: s.index.dir, Query: q, Options: q.options(runs), MatchingRuns: len(found), TotalRuns: len(runs), Filtered: q.encode(1) != ""}
	first := min(min(q.Page-1, len(found))*perPage, len(found)) // the inner min prevents an overflow
	last := min(first+perPage, len(found))
	p.Runs = found[first:last]
	if first > 0 {
		p.Previous = "?" + q.encode(q.Page-1)
	}
	if last < len(found) {
		p.Next = "?" + q.encode(q.Page+1)
	}
	s.page(w, "list.html", &p)
}

// listSchema is the schema of the list of runs as JSON. The list holds summaries of runs, so its
// schema differs from that of report.Runs.
const listSchema = "quorumbench/summaries/1"

func (s *Server) listJSON(w http.ResponseWriter, r *http.Request) {
	runs := s.currentRuns(r.Context())
	q, err := parseQuery(r.URL.Query())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(struct { // the client may have closed the connection
		Schema string     `json:"schema"`
		Runs   []*Summary `json:"runs"`
	}{listSchema, q.filter(runs)})
}

// find returns the run directory and the summary of the run that a request names. It writes an
// error page if no such run exists.
func (s *Server) find(w http.ResponseWriter, r *http.Request) (dir string, run *Summary, ok bool) {
	dir, run, ok = s.index.Find(r.PathValue("id"))
	if !ok {
		s.scan(r.Context()) // the run may have begun after the latest scan
		if dir, run, ok = s.index.Find(r.PathValue("id")); !ok {
			s.refuse(w, http.StatusNotFound, fmt.Sprintf("No run has the ID %q. It may have been moved or removed.", r.PathValue("id")))
		}
	}
	return dir, run, ok
}
