package record

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/quorumbench/quorumbench/internal/files"
	"github.com/quorumbench/quorumbench/internal/measure"
)

// Interval is one histogram of latency.hlog.
type Interval struct {
	Tag
	Start  time.Time // to the millisecond
	Length time.Duration
	measure.Steps
}

// EachInterval reads the latency.hlog of a trial's folder and hands over one
// interval after the other, whose Steps are valid until each returns: it holds a
// few histograms, however long the trial ran. Those whose tag keep refuses, which
// is asked from another goroutine than each, are not decoded. Half a last line is
// dropped, and a file that is missing has no interval: a killed trial leaves both.
// An error of each ends it.
func EachInterval(dir, folder string, keep func(Tag) bool, each func(*Interval) error) error {
	if !filepath.IsLocal(folder) {
		return fmt.Errorf("%q is no folder in the run directory", folder)
	}
	path := filepath.Join(dir, folder, hlogFile)
	f, err := files.OpenIn(dir, filepath.Join(folder, hlogFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s cannot be read: %w", path, err)
	}
	defer func() { _ = f.Close() }() // it was only read
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, maxHlogLine)
	lines.Split(wholeLine)
	if err := scanHlog(lines, keep, each); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// tagPrefix begins an interval's line.
var tagPrefix = []byte("Tag=")

// maxHlogLine is more than a histogram of this program can need: nine bytes
// for each of its counts, in base64.
const maxHlogLine = 1 << 20

// wholeLine is bufio.ScanLines without a last line that has no end.
func wholeLine(data []byte, atEOF bool) (advance int, token []byte, err error) {
	advance, token, err = bufio.ScanLines(data, atEOF)
	if atEOF && advance > 0 && data[advance-1] != '\n' {
		return advance, nil, err
	}
	return advance, token, err
}

// scanHlog hands over the intervals whose tag is kept, in the order of lines. One
// goroutine reads lines and several decode them, a batch each, because a long
// trial's log is decoded for seconds. (The library's own reader cuts times down to
// the millisecond below, and decodes what is not kept.)
func scanHlog(lines *bufio.Scanner, keep func(Tag) bool, each func(*Interval) error) error {
	n := runtime.GOMAXPROCS(0) + 1 // one is handed over while the others are decoded
	free, full, stop := make(chan *batch, n), make(chan *batch, n), make(chan struct{})
	for range n {
		free <- &batch{}
	}
	var running sync.WaitGroup
	defer running.Wait()
	defer close(stop)
	running.Go(func() {
		defer close(full)
		at := position{}
		for more := true; more; {
			select {
			case <-stop:
				return
			case b := <-free:
				more = b.fill(lines, keep, &at)
				running.Go(b.decode)
				full <- b // it has room for all
			}
		}
	})
	for b := range full {
		<-b.decoded
		for i := range b.n {
			if err := each(&b.intervals[i]); err != nil {
				return err
			}
		}
		if b.err != nil {
			return b.err
		}
		free <- b
	}
	return nil
}

// position is where the reading of a log is.
type position struct {
	line int
	base float64 // of the times, in seconds
}

// wrong is an error of the line.
func (p *position) wrong(err error) error {
	return fmt.Errorf("line %d of the histogram log: %w", p.line, err)
}

// comment takes the times' base from a line that is no interval.
func (p *position) comment(line string) (err error) {
	rest, ok := strings.CutPrefix(line, "#[BaseTime: ")
	if !ok {
		return nil
	}
	number, _, _ := strings.Cut(rest, " ")
	if p.base, err = strconv.ParseFloat(number, 64); err != nil {
		return fmt.Errorf("line %d of the histogram log has no base time", p.line)
	}
	return nil
}

// batchSize is how many intervals are decoded together: 128 KB of steps, and in a log
// that means harm two megabytes.
const batchSize = 4

// batch is some lines on their way to intervals. It is used again and again.
type batch struct {
	decoder   decoder
	lines     [batchSize]hlogLine
	intervals [batchSize]Interval
	n         int           // of lines, and then of intervals
	err       error         // behind those
	decoded   chan struct{} // closed when it is
}

// hlogLine is an interval's line.
type hlogLine struct {
	position
	tag  Tag
	text []byte // behind the tag
}

// fill takes lines that are kept until the batch is full, and reports whether
// there may be more.
func (b *batch) fill(lines *bufio.Scanner, keep func(Tag) bool, at *position) bool {
	b.n, b.err, b.decoded = 0, nil, make(chan struct{})
	for b.n < batchSize && b.err == nil {
		if !lines.Scan() {
			b.err = lines.Err()
			return false
		}
		at.line++
		line := lines.Bytes()
		if !bytes.HasPrefix(line, tagPrefix) {
			b.err = at.comment(string(line))
			continue
		}
		name, text, _ := bytes.Cut(line[len(tagPrefix):], []byte{','})
		tag, err := ParseTag(string(name))
		switch {
		case err != nil:
			b.err = at.wrong(err)
		case keep(tag):
			l := &b.lines[b.n]
			l.position, l.tag, l.text = *at, tag, append(l.text[:0], text...)
			b.n++
		}
	}
	return b.err == nil
}

// decode makes the intervals, up to the first that cannot be read.
func (b *batch) decode() {
	defer close(b.decoded)
	for i := range b.n {
		l := &b.lines[i]
		if err := l.decode(&b.decoder, &b.intervals[i]); err != nil {
			b.n, b.err = i, l.wrong(err)
			return
		}
	}
}

// maxSeconds is far beyond any time of a run, and what a time in nanoseconds holds.
const maxSeconds = 9e9

// decode reads "start,length,max,histogram", seconds after the base.
func (l *hlogLine) decode(d *decoder, to *Interval) error {
	f := bytes.Split(l.text, []byte{','})
	if len(f) != 4 {
		return fmt.Errorf("%d fields, want 5", len(f)+1)
	}
	start, err1 := strconv.ParseFloat(string(f[0]), 64)
	length, err2 := strconv.ParseFloat(string(f[1]), 64)
	start += l.base
	if err1 != nil || err2 != nil || !(math.Abs(start) < maxSeconds) || !(length >= 0 && length < maxSeconds) {
		return fmt.Errorf("%q and %q are not a start and a length in seconds", f[0], f[1])
	}
	to.Tag, to.Start, to.Length = l.tag, time.UnixMilli(int64(math.Round(1e3*start))).UTC(), time.Duration(math.Round(1e3*length))*time.Millisecond
	return d.read(f[3], &to.Steps)
}
