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

// ReadIntervals reads the latency.hlog file in a trial's folder and calls the function `visit` for
// one interval after the other. However long the trial, only a few histograms are in memory at a
// time. Therefore, the Steps of an interval are valid only until `visit` returns. ReadIntervals
// does not decode intervals whose tags the function `accept` rejects. It calls `accept` and `visit`
// on different goroutines.
//
// A killed trial can leave an incomplete last line, or no file at all. ReadIntervals ignores the
// incomplete line, and a missing file counts as a file without intervals. If `visit` returns an
// error, ReadIntervals returns that error.
func ReadIntervals(dir, folder string, accept func(Tag) bool, visit func(*Interval) error) error {
	if !filepath.IsLocal(folder) {
		return fmt.Errorf("%q is not a folder in the run directory", folder)
	}
	path := filepath.Join(dir, folder, hlogFile)
	f, err := files.OpenIn(dir, filepath.Join(folder, hlogFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot read %s: %w", path, err)
	}
	defer func() { _ = f.Close() }() // it was only read
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, maxHlogLine)
	lines.Split(completeLine)
	if err := scanHlog(lines, accept, visit); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// tagPrefix is the beginning of every line that contains an interval.
var tagPrefix = []byte("Tag=")

// maxHlogLine is a limit for the length of a line. The longest possible line with a histogram is
// shorter: it has nine bytes for each count, in base64.
const maxHlogLine = 1 << 20

// completeLine works like bufio.ScanLines, but ignores the last line if it does not end with a
// newline.
func completeLine(data []byte, atEOF bool) (advance int, token []byte, err error) {
	advance, token, err = bufio.ScanLines(data, atEOF)
	if atEOF && advance > 0 && data[advance-1] != '\n' {
		return advance, nil, err
	}
	return advance, token, err
}

// scanHlog calls the function `visit` for the intervals, in order. It skips an interval if the
// function `accept` returns false for the interval's tag. Decoding the log of a long trial takes
// seconds. Therefore, one goroutine reads lines, and several goroutines decode batches of lines.
// (The library's reader truncates times to milliseconds and always decodes all intervals.)
func scanHlog(lines *bufio.Scanner, accept func(Tag) bool, visit func(*Interval) error) error {
	n := runtime.GOMAXPROCS(0) + 1 // one more than can be decoded at a time, because one batch is passed to `visit`
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
				more = b.fill(lines, accept, &at)
				running.Go(b.decode)
				full <- b // cannot block, because the channel has capacity for all batches
			}
		}
	})
	for b := range full {
		<-b.decoded
		for i := range b.n {
			if err := visit(&b.intervals[i]); err != nil {
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

// position is a position in a log, with the base time at this position.
type position struct {
	line int
	base float64 // base time in seconds, to which the start times of intervals are relative
}

// withLine adds the line number to an error.
func (p *position) withLine(err error) error {
	return fmt.Errorf("line %d of the histogram log: %w", p.line, err)
}

// comment parses a line that is not an interval. If the line contains the base time, comment sets
// base.
func (p *position) comment(line string) (err error) {
	rest, ok := strings.CutPrefix(line, "#[BaseTime: ")
	if !ok {
		return nil
	}
	number, _, _ := strings.Cut(rest, " ")
	if p.base, err = strconv.ParseFloat(number, 64); err != nil {
		return fmt.Errorf("line %d of the histogram log has an invalid base time", p.line)
	}
	return nil
}

// batchSize is the number of intervals that are decoded together. The steps of a batch take 128 KB
// of memory, or up to 2 MB if the log is malicious.
const batchSize = 4

// batch holds lines and the intervals that are decoded from them. It is reused for other lines.
type batch struct {
	decoder   decoder
	lines     [batchSize]hlogLine
	intervals [batchSize]Interval
	n         int           // number of lines, and, after decoding, number of intervals
	err       error         // error that occurred after the decoded intervals
	decoded   chan struct{} // closed when the batch is decoded
}

// hlogLine is a line that contains an interval.
type hlogLine struct {
	position
	tag  Tag
	text []byte // after the tag
}

// fill adds lines with accepted tags until the batch is full. It reports whether the log may
// contain more lines.
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
			b.err = at.withLine(err)
		case keep(tag):
			l := &b.lines[b.n]
			l.position, l.tag, l.text = *at, tag, append(l.text[:0], text...)
			b.n++
		}
	}
	return b.err == nil
}

// decode decodes the lines in order. It stops at the first line that it cannot decode.
func (b *batch) decode() {
	defer close(b.decoded)
	for i := range b.n {
		l := &b.lines[i]
		if err := l.decode(&b.decoder, &b.intervals[i]); err != nil {
			b.n, b.err = i, l.withLine(err)
			return
		}
	}
}

// maxSeconds is far above any time in a run. Times below this limit, in nanoseconds, fit into an
// int64.
const maxSeconds = 9e9

// decode parses the text "start,length,max,histogram". In this text, start is the number of seconds
// after the base time.
func (l *hlogLine) decode(d *decoder, interval *Interval) error {
	f := bytes.Split(l.text, []byte{','})
	if len(f) != 4 {
		return fmt.Errorf("it has %d fields instead of 5", len(f)+1)
	}
	start, err1 := strconv.ParseFloat(string(f[0]), 64)
	length, err2 := strconv.ParseFloat(string(f[1]), 64)
	start += l.base
	if err1 != nil || err2 != nil || !(math.Abs(start) < maxSeconds) || !(length >= 0 && length < maxSeconds) {
		return fmt.Errorf("its start %q or its length %q is not a valid number of seconds", f[0], f[1])
	}
	interval.Tag, interval.Start, interval.Length = l.tag, time.UnixMilli(int64(math.Round(1e3*start))).UTC(), time.Duration(math.Round(1e3*length))*time.Millisecond
	return d.read(f[3], &interval.Steps)
}
