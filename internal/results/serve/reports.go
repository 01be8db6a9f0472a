package serve

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/files"
	"github.com/quorumbench/quorumbench/internal/results/analyze/compare"
	"github.com/quorumbench/quorumbench/internal/results/analyze/history"
	"github.com/quorumbench/quorumbench/internal/results/analyze/stats"
	"github.com/quorumbench/quorumbench/internal/results/figures"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/results/web"
	"github.com/quorumbench/quorumbench/internal/text"
)

// run shows the page of an active run, or the report of an ended run.
func (s *Server) run(w http.ResponseWriter, r *http.Request) {
	dir, summary, ok := s.find(w, r)
	switch {
	case !ok:
	case record.Active(dir, s.options.Now()):
		s.page(w, "live.html", summary)
	default:
		s.writeReport(w, r, dir)
	}
}

// report shows the report of a run, even if the run is active.
func (s *Server) report(w http.ResponseWriter, r *http.Request) {
	if dir, _, ok := s.find(w, r); ok {
		s.writeReport(w, r, dir)
	}
}

// overlay shows several runs in one report. The page has a sentence about each run that cannot be
// read.
func (s *Server) overlay(w http.ResponseWriter, r *http.Request) {
	if dirs, ok := s.selected(w, r, maxOverlaid); ok {
		s.writeReport(w, r, dirs...)
	}
}

// selected returns the directories of the runs that a request selects. It writes an error page if
// no run, too many runs, or an unknown run is selected.
func (s *Server) selected(w http.ResponseWriter, r *http.Request, limit int) (dirs []string, ok bool) {
	ids := r.URL.Query()["run"]
	switch {
	case len(ids) == 0:
		s.refuse(w, http.StatusBadRequest, "No run is selected. Select runs in the list, then choose \"Show together\" or \"Show over time\".")
		return nil, false
	case len(ids) > limit:
		s.refuse(w, http.StatusBadRequest, fmt.Sprintf("%d runs are selected. At most %d can be shown together.", len(ids), limit))
		return nil, false
	}
	s.currentRuns(r.Context())
	for _, id := range ids {
		dir, _, found := s.index.Find(id)
		if !found {
			s.refuse(w, http.StatusNotFound, fmt.Sprintf("No run has the ID %q. It may have been moved or removed.", id))
			return nil, false
		}
		dirs = append(dirs, dir)
	}
	return dirs, true
}

// history shows how the main metrics changed over the selected runs. The page has a note about each
// run that cannot be read.
func (s *Server) history(w http.ResponseWriter, r *http.Request) {
	dirs, ok := s.selected(w, r, perPage)
	if !ok {
		return
	}
	release, ok := s.acquireRendering(r.Context())
	if !ok {
		return
	}
	defer release()
	sources, unreadable := readSources(dirs)
	if len(sources) == 0 {
		s.refuse(w, http.StatusBadRequest, "The history cannot be shown, because no selected run can be read. "+unreadable[0])
		return
	}
	h, err := history.Build(sources, history.Options{Order: history.ByDate, Margin: stats.Margin})
	if err != nil { // no run has figures
		s.refuse(w, http.StatusBadRequest, "The history cannot be shown: "+err.Error()+".")
		return
	}
	h.Notes = append(h.Notes, unreadable...)
	var b bytes.Buffer
	if err := web.HistoryHTML(&b, h); err != nil {
		s.refuse(w, http.StatusInternalServerError, "The history cannot be shown: "+err.Error()+".")
		return
	}
	w.Header().Set("Content-Security-Policy", web.HistoryPolicy+"; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(b.Bytes()) // the browser may have closed the connection
}

// readSources reads the main metrics of run directories. For each run that cannot be read,
// unreadable contains a sentence.
func readSources(dirs []string) (sources []*history.Source, unreadable []string) {
	var shown []figures.Figure
	for _, name := range compare.MainMetrics() {
		shown = append(shown, figures.Registered(name))
	}
	for _, dir := range dirs {
		source, err := history.ReadRun(dir, shown)
		if err != nil {
			unreadable = append(unreadable, leftOut(err))
			continue
		}
		sources = append(sources, source)
	}
	return sources, unreadable
}

// leftOut returns a sentence about a run that cannot be read because of err.
func leftOut(err error) string {
	return text.Line(fmt.Sprintf("A run was left out because it cannot be read: %v.", err), text.MaxOutput)
}

// acquireRendering waits until a report may be written. It limits the number of reports that are
// written at the same time, because the report of a long run needs much memory. The caller must
// call release when the report is written. acquireRendering returns false if the context ended
// first.
func (s *Server) acquireRendering(ctx context.Context) (release func(), ok bool) {
	select {
	case s.rendering <- struct{}{}:
		return func() { <-s.rendering }, true
	case <-ctx.Done():
		return nil, false
	}
}

// openRuns reads run directories and the events of their trials. For each run that cannot be read,
// unreadable contains a sentence.
func openRuns(dirs []string) (runs []*record.Run, unreadable []string) {
	for _, dir := range dirs {
		run, err := figures.OpenRun(dir)
		if err != nil {
			unreadable = append(unreadable, leftOut(err))
			continue
		}
		runs = append(runs, run)
	}
	return runs, unreadable
}

// writeReport writes one report for the given runs. It leaves out runs that cannot be read, unless
// no run can be read.
func (s *Server) writeReport(w http.ResponseWriter, r *http.Request, dirs ...string) {
	release, ok := s.acquireRendering(r.Context())
	if !ok {
		return
	}
	defer release()
	runs, unreadable := openRuns(dirs)
	if len(runs) == 0 {
		s.refuse(w, http.StatusInternalServerError, "There is no report to show. "+unreadable[0])
		return
	}
	run, err := record.Join(runs)
	if err != nil {
		s.refuse(w, http.StatusInternalServerError, "The report cannot be shown: "+err.Error()+".")
		return
	}
	run.Problems = append(run.Problems, unreadable...)
	var b bytes.Buffer
	if err := web.HTML(&b, run, compare.AppendFirstRunComparisons(compare.EvaluateParts(run), runs)); err != nil {
		s.refuse(w, http.StatusInternalServerError, "The report cannot be shown: "+err.Error()+".")
		return
	}
	w.Header().Set("Content-Security-Policy", web.Policy()+"; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(b.Bytes()) // the browser may have closed the connection
}

// runFile describes a file in a run directory.
type runFile struct {
	Path     string // relative to the run directory, with slashes
	Size     string
	size     int64
	modified time.Time
}

// Link returns the path, escaped for a URL.
func (f runFile) Link() string {
	parts := strings.Split(f.Path, "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return strings.Join(parts, "/")
}

// maxFiles is the maximum number of files that are listed for a run.
const maxFiles = 100_000

var errTooManyFiles = errors.New("too many files")

// eachFile calls the function visit for every regular file of a run directory, except the members'
// data. It does not follow links.
func eachFile(dir string, visit func(runFile) error) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	n := 0
	return fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
			return nil // the file was removed in the meantime, or this user has no permission to read it
		case err != nil:
			return err
		case d.IsDir() && name == "data":
			return fs.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		if n++; n > maxFiles {
			return errTooManyFiles
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		return visit(runFile{Path: name, Size: text.Bytes(uint64(info.Size())), size: info.Size(), modified: info.ModTime()})
	})
}

// files lists the files of a run.
func (s *Server) files(w http.ResponseWriter, r *http.Request) {
	dir, summary, ok := s.find(w, r)
	if !ok {
		return
	}
	p := struct {
		Run   *Summary
		Files []runFile
		Bytes string
	}{Run: summary}
	total := int64(0)
	err := eachFile(dir, func(f runFile) error {
		p.Files = append(p.Files, f)
		total += f.size
		return nil
	})
	if err != nil {
		s.refuse(w, http.StatusInternalServerError, "The files cannot be listed: "+err.Error()+".")
		return
	}
	p.Bytes = text.Bytes(uint64(total))
	s.page(w, "files.html", p)
}

// file sends a file of a run. Browsers save the file and do not show it, because its contents may
// come from servers under test.
func (s *Server) file(w http.ResponseWriter, r *http.Request) {
	dir, _, ok := s.find(w, r)
	if !ok {
		return
	}
	name := filepath.FromSlash(r.PathValue("path"))
	if !filepath.IsLocal(name) {
		s.refuse(w, http.StatusNotFound, "The run has no such file.")
		return
	}
	f, err := files.OpenIn(dir, name)
	if err != nil {
		s.refuse(w, http.StatusNotFound, "The run has no such file.")
		return
	}
	defer func() { _ = f.Close() }() // it was only read
	info, err := f.Stat()
	if err != nil {
		s.refuse(w, http.StatusInternalServerError, "The file cannot be read.")
		return
	}
	attach(w, "application/octet-stream", path.Base(r.PathValue("path")))
	http.ServeContent(w, r, "", info.ModTime(), f)
}

// archive sends all files of a run as a zip file.
func (s *Server) archive(w http.ResponseWriter, r *http.Request) {
	dir, _, ok := s.find(w, r)
	if !ok {
		return
	}
	base := filepath.Base(dir)
	attach(w, "application/zip", base+".zip")
	z := zip.NewWriter(w)
	err := eachFile(dir, func(file runFile) error {
		f, err := files.OpenIn(dir, filepath.FromSlash(file.Path))
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
			return nil // the file was removed in the meantime, or this user has no permission to read it
		case err != nil:
			return err
		}
		defer func() { _ = f.Close() }() // it was only read
		entry, err := z.CreateHeader(&zip.FileHeader{Name: path.Join(base, file.Path), Method: zip.Deflate, Modified: file.modified})
		if err == nil {
			_, err = io.Copy(entry, f)
		}
		return err
	})
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		// The response has already begun. If it is aborted, the client knows that the file is
		// incomplete.
		panic(http.ErrAbortHandler)
	}
}

// attach makes browsers save the response as a file.
func attach(w http.ResponseWriter, kind, name string) {
	safe := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || strings.ContainsRune(`"\/;`, r) {
			return '_'
		}
		return r
	}, name)
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Disposition", `attachment; filename="`+safe+`"`)
}
