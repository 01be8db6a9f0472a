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

// readBytes is the number of bytes after which one call of Read stops reading from the files. Read
// may exceed this number by the size of one buffer.
const readBytes = 256 << 10

// localLogs implements Logs. If a file is missing or unreadable, each Read tries to open it again.
type localLogs struct {
	host      *Local
	now       func() time.Time
	ahead     func() time.Duration // how far the clock that sets the timestamps in the lines is ahead of the clock `now`
	lastAhead time.Duration        // result of `ahead` in the last Read
	files     []*followedFile
	fileIndex int // index in files at which the next Read continues
	buf       []byte
	lines     []Line // returned by the last Read
	text      []byte // the text of lines
	bytesRead int    // number of bytes that the current Read has read
}

// followedFile is one followed file.
type followedFile struct {
	path      string
	file      *os.File // nil if not opened yet
	info      os.FileInfo
	offset    int64 // offset at which reading continues
	endOffset int64 // offset at which reading stops: the file's size when reading began; 0 if reading has not begun
	lines     lineSplitter
}

// Follow implements Host. An unreadable file yields no lines until it becomes readable.
func (l *Local) Follow(_ context.Context, paths []string) (Logs, error) {
	logs := &localLogs{host: l, now: l.now, ahead: l.ahead, buf: make([]byte, 64<<10)}
	if logs.ahead == nil {
		logs.ahead = func() time.Duration { return 0 }
	}
	logs.lastAhead = logs.ahead()
	for _, path := range paths {
		f := &followedFile{path: path}
		if err := f.open(l); errors.Is(err, errLink) {
			_ = logs.Close()
			return nil, fmt.Errorf("cannot read the log %s: %w", path, err)
		} else if err == nil {
			f.offset = f.info.Size()
			f.lines.skip = f.offset > 0 && !f.endsLine()
		}
		logs.files = append(logs.files, f)
	}
	return logs, nil
}

// Read implements Logs.
func (l *localLogs) Read(ctx context.Context) (lines []Line, more bool, err error) {
	if ctx.Err() != nil {
		return nil, false, ctx.Err()
	}
	l.lines, l.text, l.bytesRead = l.lines[:0], l.text[:0], 0
	defer l.stampLines()
	for ; l.fileIndex < len(l.files); l.fileIndex++ {
		if more = l.readFile(); more {
			return l.lines, true, nil
		}
	}
	l.fileIndex = 0
	return l.lines, false, nil
}

// stampLines sets Ahead and AheadUnknown in the returned lines.
func (l *localLogs) stampLines() {
	is := l.ahead()
	set := (is - l.lastAhead).Abs() >= time.Millisecond
	for i := range l.lines {
		l.lines[i].Ahead, l.lines[i].AheadUnknown = is, set
	}
	l.lastAhead = is
}

// Close implements Logs.
func (l *localLogs) Close() error {
	for _, f := range l.files {
		f.close()
	}
	return nil
}

// open opens the file that currently has the log's name, and prepares to read it from its
// beginning.
func (f *followedFile) open(local *Local) error {
	file, about, err := local.openFile(f.path)
	if err != nil {
		return err
	}
	f.file, f.info, f.offset, f.endOffset = file, about, 0, 0
	f.lines.reset()
	return nil
}

// rotated reports whether another file now has the log's name.
func (f *followedFile) rotated(local *Local) bool {
	folder, err := local.openFolder(filepath.Dir(f.path))
	if err != nil {
		return false
	}
	defer folder.Close()
	now, err := folder.root.Lstat(filepath.Base(f.path))
	return err == nil && !os.SameFile(now, f.info)
}

func (f *followedFile) close() {
	if f.file != nil {
		_ = f.file.Close() // it was only read
		f.file = nil
	}
}

// endsLine reports whether the byte before offset f.offset is a newline.
func (f *followedFile) endsLine() bool {
	last := make([]byte, 1)
	_, err := f.file.ReadAt(last, f.offset-1)
	return err == nil && last[0] == '\n'
}

// readFile reads from the file at index l.fileIndex. It reports whether the next Read must continue
// with this file.
func (l *localLogs) readFile() (more bool) {
	f := l.files[l.fileIndex]
	if f.file == nil && f.open(l.host) != nil {
		return false
	}
	if l.readAppended(f) {
		return true
	}
	// If another file now has the log's name, the log was rotated. The old file has just been read
	// completely.
	if f.rotated(l.host) {
		f.close()
		return f.open(l.host) == nil && l.readAppended(f)
	}
	return false
}

// readAppended reads the data that was appended to a file. It reports whether it stopped early
// because of the limit for one Read.
func (l *localLogs) readAppended(f *followedFile) (more bool) {
	if f.endOffset == 0 {
		now, err := f.file.Stat()
		if err != nil {
			return false
		}
		if f.endOffset = now.Size(); f.endOffset < f.offset { // truncated
			f.offset = 0
			f.lines.reset()
		}
	}
	for f.offset < f.endOffset {
		if l.bytesRead >= readBytes {
			return true
		}
		n, err := f.file.ReadAt(l.buf[:min(int64(len(l.buf)), f.endOffset-f.offset)], f.offset)
		f.offset += int64(n)
		l.bytesRead += n
		now := l.now()
		f.lines.add(l.buf[:n], func(line []byte) {
			from := len(l.text)
			l.text = append(l.text, line...) // if append allocates a new array, earlier lines still refer to the old one
			l.lines = append(l.lines, Line{File: l.fileIndex, At: now, Text: l.text[from:len(l.text):len(l.text)]})
		})
		if n == 0 || err != nil && !errors.Is(err, io.EOF) {
			break // the next Read continues here
		}
	}
	f.endOffset = 0
	return false
}

// maxLine is the maximum length of a returned line in bytes. Servers log whole requests, but the
// beginning of a line is enough to classify it.
const maxLine = 4096

// lineSplitter splits a text into lines. The text can be passed in pieces. The sizes of the pieces
// do not affect the result.
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
			s.appendPart(piece)
			return
		}
		switch {
		case s.skip:
			s.skip = false
		case len(s.part) == 0:
			each(trimLine(piece[:end]))
		default:
			s.appendPart(piece[:end])
			each(trimLine(s.part))
		}
		s.part = s.part[:0]
		piece = piece[end+1:]
	}
}

// appendPart appends piece to the incomplete line, up to maxLine+1 bytes. The additional byte
// permits trimLine to recognize a carriage return after a line of exactly maxLine bytes.
func (s *lineSplitter) appendPart(piece []byte) {
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
