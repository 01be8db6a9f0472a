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

// readBytes bounds how much one Read takes from the files. It may exceed the bound by one
// buffer.
const readBytes = 256 << 10

// localLogs implements Logs. A file that is missing or cannot be read is tried again in
// each Read.
type localLogs struct {
	on    *Local
	now   func() time.Time
	ahead func() time.Duration // how far the clock of the lines' times is ahead
	was   time.Duration        // ahead's result in the last Read
	all   []*followed
	at    int // index in all at which the next Read continues
	buf   []byte
	lines []Line // returned by the last Read
	text  []byte // the text of lines
	taken int    // bytes read by this Read
}

// followed is one followed file.
type followed struct {
	path  string
	file  *os.File // nil: not opened yet
	about os.FileInfo
	at    int64 // offset up to which it was read
	goal  int64 // offset at which reading stops: the file's size when reading began; 0: take the size anew
	lines lineSplitter
}

// Follow implements Host. A file that cannot be read yields no lines until it can.
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
	defer l.stampLines()
	for ; l.at < len(l.all); l.at++ {
		if more = l.readFile(); more {
			return l.lines, true, nil
		}
	}
	l.at = 0
	return l.lines, false, nil
}

// stampLines adds to the returned lines how far the machine's clock is ahead.
func (l *localLogs) stampLines() {
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

// open opens the file that has the log's name now, to be read from its beginning.
func (f *followed) open(on *Local) error {
	file, about, err := on.openFile(f.path)
	if err != nil {
		return err
	}
	f.file, f.about, f.at, f.goal = file, about, 0, 0
	f.lines.reset()
	return nil
}

// rotated reports whether another file now has the log's name.
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

// endsLine reports whether the byte before f.at ends a line.
func (f *followed) endsLine() bool {
	last := make([]byte, 1)
	_, err := f.file.ReadAt(last, f.at-1)
	return err == nil && last[0] == '\n'
}

// readFile continues reading the current file, and reports whether the next Read must
// continue with it.
func (l *localLogs) readFile() (more bool) {
	f := l.all[l.at]
	if f.file == nil && f.open(l.on) != nil {
		return false
	}
	if l.readAppended(f) {
		return true
	}
	// Another file has the name: the log was rotated after its old file was read to the end.
	if f.rotated(l.on) {
		f.close()
		return f.open(l.on) == nil && l.readAppended(f)
	}
	return false
}

// readAppended reads what was appended, and reports whether that exceeded the bound of one Read.
func (l *localLogs) readAppended(f *followed) (more bool) {
	if f.goal == 0 {
		now, err := f.file.Stat()
		if err != nil {
			return false
		}
		if f.goal = now.Size(); f.goal < f.at { // truncated and written anew
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
			l.text = append(l.text, line...) // earlier lines keep their memory
			l.lines = append(l.lines, Line{File: l.at, At: now, Text: l.text[from:len(l.text):len(l.text)]})
		})
		if n == 0 || err != nil && !errors.Is(err, io.EOF) {
			break // the next Read continues here
		}
	}
	f.goal = 0
	return false
}

// maxLine is how many bytes of a line are kept. Servers log whole requests; a line's
// beginning is enough to classify it.
const maxLine = 4096

// lineSplitter splits a text into lines. The result does not depend on how the text was
// cut into pieces.
//
// Invariant: len(part) <= maxLine+1.
type lineSplitter struct {
	part []byte // the first bytes of a line that has not ended yet
	skip bool   // ignore everything up to the next line's beginning
}

// add calls each with every line that ends in piece, without its line ending. The line is
// valid only during the call.
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
			each(trimLine(piece[:end]))
		default:
			s.keep(piece[:end])
			each(trimLine(s.part))
		}
		s.part = s.part[:0]
		piece = piece[end+1:]
	}
}

// keep appends piece to the unfinished line. It keeps one byte more than maxLine, so that a
// carriage return after a line of exactly maxLine bytes is recognized.
func (s *lineSplitter) keep(piece []byte) {
	if s.skip {
		return
	}
	room := maxLine + 1 - len(s.part)
	s.part = append(s.part, piece[:min(max(room, 0), len(piece))]...)
}

// reset discards the unfinished line.
func (s *lineSplitter) reset() { s.part, s.skip = s.part[:0], false }

// trimLine removes a trailing carriage return and cuts the line to maxLine bytes.
func trimLine(line []byte) []byte {
	if len(line) <= maxLine+1 {
		line = bytes.TrimSuffix(line, []byte("\r"))
	}
	return line[:min(len(line), maxLine)]
}
