package probe

import (
	"errors"
	"io"
	"os"
)

// Log is a member's log on this machine. A member may have several.
type Log struct {
	Member string // its name
	Path   string
}

// Logs follows logs from where they ended when it was made. It is used by one
// goroutine. A log that is not there yet, or cannot be read, is tried again
// each time and tells nothing until then.
type Logs struct {
	all []*followed
	buf []byte
}

// followed is one log.
type followed struct {
	Log
	file  *os.File // nil: not opened yet
	about os.FileInfo
	at    int64 // what was read up to
	lines lineSplitter
}

// FollowLogs begins at the logs' present ends. A log that is not there begins
// at its beginning.
func FollowLogs(logs []Log) *Logs {
	l := &Logs{buf: make([]byte, 64<<10)}
	for _, log := range logs {
		f := &followed{Log: log}
		if f.open() {
			f.at = f.about.Size()
			f.lines.skip = f.at > 0 && !f.endsLine()
		}
		l.all = append(l.all, f)
	}
	return l
}

// Read calls each with every line that was ended since the last Read: those of
// one log in their order, without their ends, cut after some thousand bytes,
// valid during the call. It reads no further than the logs went when it began.
func (l *Logs) Read(each func(member string, line []byte)) {
	for _, f := range l.all {
		f.read(l.buf, func(line []byte) { each(f.Member, line) })
	}
}

// Close closes the logs.
func (l *Logs) Close() {
	for _, f := range l.all {
		f.close()
	}
}

// open opens the log's file as it is now, to be read from its beginning.
func (f *followed) open() bool {
	file, err := os.Open(f.Path)
	if err != nil {
		return false
	}
	about, err := file.Stat()
	if err != nil || !about.Mode().IsRegular() {
		_ = file.Close()
		return false
	}
	f.file, f.about, f.at = file, about, 0
	f.lines.reset()
	return true
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

func (f *followed) read(buf []byte, each func([]byte)) {
	if f.file == nil && !f.open() {
		return
	}
	f.rest(buf, each)
	// Another file of the same name: the log was rotated, and the old one read
	// to its end.
	if now, err := os.Stat(f.Path); err == nil && !os.SameFile(now, f.about) {
		f.close()
		if f.open() {
			f.rest(buf, each)
		}
	}
}

// rest reads what was appended.
func (f *followed) rest(buf []byte, each func([]byte)) {
	now, err := f.file.Stat()
	if err != nil {
		return
	}
	if now.Size() < f.at { // it was cut and is written anew
		f.at = 0
		f.lines.reset()
	}
	for f.at < now.Size() {
		n, err := f.file.ReadAt(buf[:min(int64(len(buf)), now.Size()-f.at)], f.at)
		f.at += int64(n)
		f.lines.add(buf[:n], each)
		if n == 0 || err != nil && !errors.Is(err, io.EOF) {
			return // the next Read goes on here
		}
	}
}
