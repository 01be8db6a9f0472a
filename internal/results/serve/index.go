package serve

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quorumbench/quorumbench/internal/files"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// indexSchema is the schema of an index file. An index file with another schema is ignored.
const indexSchema = "quorumbench/index/1"

// maxIndexFile is the size limit of an index file in bytes.
const maxIndexFile = 1 << 30

// Index holds the summaries of all runs in a folder. It keeps them in a file, so that a restart
// reads only the runs that have changed. The file can be removed at any time. A database such as
// SQLite is not needed: the summaries of 10,000 runs fit into memory, and a loop over all of them
// takes a few milliseconds.
type Index struct {
	dir  string
	file string // path of the index file; empty for none
	now  func() time.Time

	mu       sync.Mutex // held during a scan
	entries  map[string]*entry
	upToDate bool // set if the index file is up to date

	summaries atomic.Pointer[[]*Summary] // newest first; never changed in place
	scannedAt atomic.Int64               // end of the latest scan, Unix time in nanoseconds
}

// entry describes one run in the index file.
type entry struct {
	Stamp   record.Stamp `json:"stamp"`
	Summary *Summary     `json:"summary"`
}

// sameProblem reports whether a run was unreadable for the same reason at an earlier scan.
func (e *entry) sameProblem(earlier *entry) bool {
	return earlier != nil && earlier.Stamp == e.Stamp && e.Summary.Problem != "" && earlier.Summary.Problem == e.Summary.Problem
}

// indexFile is the contents of an index file.
type indexFile struct {
	Schema string   `json:"schema"`
	Dir    string   `json:"dir"`
	Runs   []*entry `json:"runs"`
}

// NewIndex returns an index of the runs in dir. The index file is in the folder `cache`. If cache
// is empty, the index has no index file. Call Scan before any other method.
func NewIndex(dir, cache string, now func() time.Time) (*Index, error) {
	full, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	x := &Index{dir: full, now: now, entries: map[string]*entry{}, upToDate: true}
	x.summaries.Store(&[]*Summary{})
	if cache != "" {
		sum := sha256.Sum256([]byte(full))
		x.file = filepath.Join(cache, fmt.Sprintf("index-%x.json", sum[:8]))
		x.load()
	}
	return x, nil
}

// load reads the index file. A file that cannot be used is ignored, because Scan rebuilds it.
func (x *Index) load() {
	b, err := files.Read(x.file, maxIndexFile)
	if err != nil {
		return
	}
	var f indexFile
	if json.Unmarshal(b, &f) != nil || f.Schema != indexSchema || f.Dir != x.dir {
		return
	}
	for _, e := range f.Runs {
		if e != nil && e.Summary != nil && filepath.IsLocal(filepath.FromSlash(e.Summary.ID)) {
			e.Summary.format()
			x.entries[e.Summary.ID] = e
		}
	}
}

// save writes the index file if the index has changed.
func (x *Index) save() error {
	if x.upToDate || x.file == "" {
		return nil
	}
	f := indexFile{Schema: indexSchema, Dir: x.dir}
	for _, id := range slices.Sorted(maps.Keys(x.entries)) {
		f.Runs = append(f.Runs, x.entries[id])
	}
	b, err := json.Marshal(f)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(x.file), 0o700); err != nil {
		return err
	}
	if err := files.Replace(x.file, 0o600, b); err != nil {
		return err
	}
	x.upToDate = true
	return nil
}

// Scan finds new, changed and removed runs. It reads the new and changed runs, and also reads again
// the runs that were running or unreadable. It returns the number of runs that it read. If the index
// file cannot be written, Scan returns an error, although the index in memory is up to date.
func (x *Index) Scan() (readCount int, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	dirs, skipped, err := record.FindRuns(x.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("%s does not exist; give the folder of the runs with --runs DIR", x.dir)
	}
	if err != nil {
		return 0, err
	}
	found := make(map[string]*entry, len(dirs))
	var changed []*entry
	for _, dir := range dirs {
		id, err := filepath.Rel(x.dir, dir)
		if err != nil {
			return 0, err
		}
		if id == "." {
			return 0, fmt.Errorf("%s is a run directory, but the server needs a folder of run directories; give its parent folder with --runs %s", x.dir, filepath.Dir(x.dir))
		}
		id = filepath.ToSlash(id)
		stamp, err := record.StampOf(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue // the run was removed in the meantime
		}
		e := x.entries[id]
		// The reason why a run could not be read may have been removed without a change of its files.
		if err != nil || e == nil || e.Stamp != stamp || e.Summary.State == stateRunning || e.Summary.Problem != "" {
			e = &entry{Stamp: stamp, Summary: &Summary{ID: id}}
			changed = append(changed, e)
		}
		found[id] = e
	}
	x.readAll(changed)
	if len(found) != len(x.entries) || slices.ContainsFunc(changed, func(e *entry) bool { return !e.sameProblem(x.entries[e.Summary.ID]) }) {
		x.upToDate = false
	}
	x.entries = found
	list := make([]*Summary, 0, len(found))
	for _, e := range found {
		list = append(list, e.Summary)
	}
	for _, folder := range skipped {
		if id, err := filepath.Rel(x.dir, folder.Path); err == nil {
			list = append(list, unreadable(filepath.ToSlash(id), folder.Err))
		}
	}
	slices.SortFunc(list, newestFirst)
	x.summaries.Store(&list)
	x.scannedAt.Store(x.now().UnixNano())
	if err := x.save(); err != nil {
		return len(changed), fmt.Errorf("cannot write the index file, so the next start will read all runs again: %w", err)
	}
	return len(changed), nil
}

// readers is the number of run directories that are read at the same time.
const readers = 2

// readAll reads the run directory of each entry and sets the summary of the entry.
func (x *Index) readAll(entries []*entry) {
	next := atomic.Int64{}
	var reading sync.WaitGroup
	for range min(readers, len(entries)) {
		reading.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(entries)); i = next.Add(1) - 1 {
				entries[i].Summary = x.read(entries[i].Summary.ID)
			}
		})
	}
	reading.Wait()
}

// read returns the summary of a run directory.
func (x *Index) read(id string) *Summary {
	dir := x.path(id)
	active := record.Active(dir, x.now()) // called before Open, so that a run that ends between the two calls is not shown as incomplete
	run, err := record.Open(dir)
	if err != nil {
		return unreadable(id, err)
	}
	s := summarize(id, run)
	if run.State == record.Incomplete && active {
		s.State = stateRunning
	}
	return s
}

func (x *Index) path(id string) string { return filepath.Join(x.dir, filepath.FromSlash(id)) }

// Runs returns the summaries of all runs, newest first. The caller must not change them.
func (x *Index) Runs() []*Summary { return *x.summaries.Load() }

// Find returns the run directory with an ID, and its summary. ok is false if the latest scan did
// not find the run. Find never builds a path from an ID that the scan did not find.
func (x *Index) Find(id string) (dir string, s *Summary, ok bool) {
	for _, s := range x.Runs() {
		if s.ID == id {
			return x.path(id), s, true
		}
	}
	return "", nil, false
}

// Scanned returns the end of the latest scan, or the zero time before the first scan.
func (x *Index) Scanned() time.Time {
	if end := x.scannedAt.Load(); end != 0 {
		return time.Unix(0, end)
	}
	return time.Time{}
}
