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

// readBytes is the number of bytes after which one Read stops reading from the files. Read may
// exceed it by the size of one buffer.
const readBytes = 256 << 10

// localLogs implements Logs. If a file is missing or unreadable, each Read tries to open it again.
type localLogs struct {
	on    *Local
	now   func() time.Time
	ahead func() time.Duration // how far the clock that sets the timestamps in the lines is ahead of the clock `now`
	was   time.Duration        // result of `ahead` in the last Read
	all   []*followed
	at    int // index in all at which the next Read continues
	buf   []byte
	lines []Line // returned by the last Read
	text  []byte // the text of lines
	taken int    // number of bytes that the current Read has read
}

// followed is one followed file.
type followed struct {
	path  string
	file  *os.File // nil if not opened yet
	about os.FileInfo
	at    int64 // offset at which reading continues
	goal  int64 // offset at which reading stops: the file's size when reading began; 0 if reading has not begun
	lines lineSplitter
}

// Follow implements Host. An unreadable file yields no lines until it becomes readable.
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
			return nil, fmt.Errorf("cannot read the log %s: %w", path, err)
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

// stampLines sets Ahead and Unsure in the returned lines.
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

// open opens the file that currently has the log's name, and prepares to read it from its
// beginning.
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

// endsLine reports whether the byte before offset f.at is a newline.
func (f *followed) endsLine() bool {
	last := make([]byte, 1)
	_, err := f.file.ReadAt(last, f.at-1)
	return err == nil && last[0] == '\n'
}

// readFile reads from the file at index l.at. It reports whether the next Read must continue with
// this file.
func (l *localLogs) readFile() (more bool) {
	f := l.all[l.at]
	if f.file == nil && f.open(l.on) != nil {
		return false
	}
	if l.readAppended(f) {
		return true
	}
	// If another file now has the log's name, the log was rotated. The old file has just been read
	// completely.
	if f.rotated(l.on) {
		f.close()
		return f.open(l.on) == nil && l.readAppended(f)
	}
	return false
}

// readAppended reads the data that was appended to a file. It reports whether it stopped early
// because of the limit for one Read.
func (l *localLogs) readAppended(f *followed) (more bool) {
	if f.goal == 0 {
		now, err := f.file.Stat()
		if err != nil {
			return false
		}
		if f.goal = now.Size(); f.goal < f.at { // truncated
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
			l.text = append(l.text, line...) // if append allocates a new array, earlier lines still refer to the old one
			l.lines = append(l.lines, Line{File: l.at, At: now, Text: l.text[from:len(l.text):len(l.text)]})
		})
		if n == 0 || err != nil && !errors.Is(err, io.EOF) {
			break // the next Read continues here
		}
	}
	f.goal = 0
	return false
}

// maxLine is the maximum length of a returned line in bytes. Servers log whole requests, but the
// beginning of a line is enough to classify it.
const maxLine = 4096

// lineSplitter splits a text into lines. The text can be passed in pieces of any size, which do not
// affect the result.
//
// Invariant: len(part) <= maxLine+1.
type lineSplitter struct {
	part []byte // the beginning of an incomplete line
	skip bool   // ignore everything up to the next newline
}

// add calls the function `each` with every line that is complete after this piece. The line does
// not include its line ending, and is valid only during the call.
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

// keep appends piece to the incomplete line, up to maxLine+1 bytes. The additional byte permits
// trimLine to recognize a carriage return after a line of exactly maxLine bytes.
func (s *lineSplitter) keep(piece []byte) {
	if s.skip {
		return
	}
	room := maxLine + 1 - len(s.part)
	s.part = append(s.part, piece[:min(max(room, 0), len(piece))]...)
}

// reset discards the incomplete line.
func (s *lineSplitter) reset() { s.part, s.skip = s.part[:0], false }

// trimLine removes a trailing carriage return and truncates the line to maxLine bytes.
func trimLine(line []byte) []byte {
	if len(line) <= maxLine+1 {
		line = bytes.TrimSuffix(line, []byte("\r"))
	}
	return line[:min(len(line), maxLine)]
}
