package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// readBytes bounds what one Read takes from the files, but for one buffer more.
const readBytes = 256 << 10

// localLogs are files that are followed. One that is not there yet, or cannot be
// read, is tried again each time.
type localLogs struct {
	on    *Local
	now   func() time.Time
	ahead func() time.Duration // of the clock that lines tell times by
	was   time.Duration        // that until the last Read
	all   []*followed
	at    int // in all, where the next Read goes on
	buf   []byte
	lines []Line // what was returned last
	text  []byte // theirs
	taken int    // bytes by this Read
}

// followed is one file.
type followed struct {
	path  string
	file  *os.File // nil: not opened yet
	about os.FileInfo
	at    int64 // what was read up to
	goal  int64 // where it ended when reading up to there began; 0: that is done
	lines lineSplitter
}

// Follow implements Host. Files that cannot be read have no lines, until they can.
func (l *Local) Follow(_ context.Context, paths []string) (Logs, error) {
	logs := &localLogs{on: l, now: l.now, ahead: l.ahead, buf: make([]byte, 64<<10)}
	if logs.ahead == nil {
		logs.ahead = func() time.Duration { return 0 }
	}
	logs.was = logs.ahead()
	for _, path := range paths {
		f := &followed{path: path}
		if err := f.open(l); errors.Is(err, errLink) {
			_ = logs.Close()
			return nil, fmt.Errorf("the log %s cannot be read: %w", path, err)
		} else if err == nil {
			f.at = f.about.Size()
			f.lines.skip = f.at > 0 && !f.endsLine()
		}
		logs.all = append(logs.all, f)
	}
	return logs, nil
}

// Read implements Logs.
func (l *localLogs) Read(ctx context.Context) (lines []Line, more bool, err error) {
	if ctx.Err() != nil {
		return nil, false, ctx.Err()
	}
	l.lines, l.text, l.taken = l.lines[:0], l.text[:0], 0
	defer l.dated()
	for ; l.at < len(l.all); l.at++ {
		if more = l.readFile(); more {
			return l.lines, true, nil
		}
	}
	l.at = 0
	return l.lines, false, nil
}

// dated says by which clock the lines of a Read tell their times.
func (l *localLogs) dated() {
	is := l.ahead()
	set := (is - l.was).Abs() >= time.Millisecond
	for i := range l.lines {
		l.lines[i].Ahead, l.lines[i].Unsure = is, set
	}
	l.was = is
}

// Close implements Logs.
func (l *localLogs) Close() error {
	for _, f := range l.all {
		f.close()
	}
	return nil
}

// open opens the log's file as it is now, to be read from its beginning.
func (f *followed) open(on *Local) error {
	file, about, err := on.openFile(f.path)
	if err != nil {
		return err
	}
	f.file, f.about, f.at, f.goal = file, about, 0, 0
	f.lines.reset()
	return nil
}

// rotated reports whether another file has the log's name.
func (f *followed) rotated(on *Local) bool {
	folder, err := on.openFolder(filepath.Dir(f.path))
	if err != nil {
		return false
	}
	defer folder.Close()
	now, err := folder.root.Lstat(filepath.Base(f.path))
	return err == nil && !os.SameFile(now, f.about)
}

func (f *followed) close() {
	if f.file != nil {
		_ = f.file.Close() // it was only read
		f.file = nil
	}
}

// endsLine reports whether what comes next begins a line.
func (f *followed) endsLine() bool {
	last := make([]byte, 1)
	_, err := f.file.ReadAt(last, f.at-1)
	return err == nil && last[0] == '\n'
}

// readFile reads on in the file at which it is, and reports whether that is to be
// gone on with.
func (l *localLogs) readFile() (more bool) {
	f := l.all[l.at]
	if f.file == nil && f.open(l.on) != nil {
		return false
	}
	if l.rest(f) {
		return true
	}
	// Another file of the same name: the log was rotated, and the old one read
	// to its end.
	if f.rotated(l.on) {
		f.close()
		return f.open(l.on) == nil && l.rest(f)
	}
	return false
}

// rest reads what was appended, and reports whether that was too much for once.
func (l *localLogs) rest(f *followed) (more bool) {
	if f.goal == 0 {
		now, err := f.file.Stat()
		if err != nil {
			return false
		}
		if f.goal = now.Size(); f.goal < f.at { // it was cut and is written anew
			f.at = 0
			f.lines.reset()
		}
	}
	for f.at < f.goal {
		if l.taken >= readBytes {
			return true
		}
		n, err := f.file.ReadAt(l.buf[:min(int64(len(l.buf)), f.goal-f.at)], f.at)
		f.at += int64(n)
		l.taken += n
		now := l.now()
		f.lines.add(l.buf[:n], func(line []byte) {
			from := len(l.text)
			l.text = append(l.text, line...) // lines before stay where they are
			l.lines = append(l.lines, Line{File: l.at, At: now, Text: l.text[from:len(l.text):len(l.text)]})
		})
		if n == 0 || err != nil && !errors.Is(err, io.EOF) {
			break // the next Read goes on here
		}
	}
	f.goal = 0
	return false
}

// maxLine is how many bytes of a line are looked at. Servers write whole
// requests into their logs, and what a line is about stands at its beginning.
const maxLine = 4096

// lineSplitter turns pieces of a text into its lines, however it was cut.
type lineSplitter struct {
	part []byte // of a line whose end has not come, its first maxLine bytes
	skip bool   // up to the next line's beginning
}

// add calls each with every line that ends in the piece, without its end. The
// line is valid during the call.
func (s *lineSplitter) add(piece []byte, each func(line []byte)) {
	for {
		end := bytes.IndexByte(piece, '\n')
		if end < 0 {
			s.keep(piece)
			return
		}
		switch {
		case s.skip:
			s.skip = false
		case len(s.part) == 0:
			each(bounded(piece[:end]))
		default:
			s.keep(piece[:end])
			each(bounded(s.part))
		}
		s.part = s.part[:0]
		piece = piece[end+1:]
	}
}

// keep adds to the line that goes on. One byte more than maxLine is kept, so
// that a carriage return behind a line that just fits is not taken for a letter.
func (s *lineSplitter) keep(piece []byte) {
	if s.skip {
		return
	}
	room := maxLine + 1 - len(s.part)
	s.part = append(s.part, piece[:min(max(room, 0), len(piece))]...)
}

// reset forgets what has come.
func (s *lineSplitter) reset() { s.part, s.skip = s.part[:0], false }

// bounded is a line as it is handed over.
func bounded(line []byte) []byte {
	if len(line) <= maxLine+1 {
		line = bytes.TrimSuffix(line, []byte("\r"))
	}
	return line[:min(len(line), maxLine)]
}
