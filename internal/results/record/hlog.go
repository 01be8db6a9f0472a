package record

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/readfile"
)

// Time says which of an operation's times a histogram in latency.hlog holds.
type Time uint8

// The times.
const (
	Response  Time = iota // done - due of successes
	Service               // done - sent of successes
	ErrorTime             // known - due of errors of one kind
	Lateness              // sent - due of everything sent, open loop
	WatchDue              // a watch event's arrival - due of its write
	WatchSent             // a watch event's arrival - sent of its write
	WatchMade             // until a watcher was created that had been asked for
)

// timeNames are what tags call the times; of an error, its kind follows.
var timeNames = [...]string{Response: "response", Service: "service", ErrorTime: "error-", Lateness: "lateness", WatchDue: "watch-due", WatchSent: "watch-sent", WatchMade: "watch-made"}

// alone reports whether the time is of no operation: a tag has nothing behind it.
func (t Time) alone() bool { return t >= Lateness }

// Tag says what an interval of latency.hlog is of. It is written as fields
// with points between them, without a comma, a space or a character that a
// file's name cannot have, because tools split logs by tag into files:
//
//	measured.response.get.linearizable.8e9e05c52164694d.2
//	measured.error-timeout.put.none.0.0
//	warmup.lateness
//	measured.watch-due
type Tag struct {
	Phase measure.Phase
	Time  Time
	// What follows is not set for Lateness and the times of watching.
	measure.Series
	Error kv.Outcome // ErrorTime only
}

// String returns the tag as the log has it.
func (t Tag) String() string {
	name := t.Phase.String() + "." + timeNames[t.Time]
	if t.Time.alone() {
		return name
	}
	if t.Time == ErrorTime {
		name += t.Error.String()
	}
	return fmt.Sprintf("%s.%s.%s.%s.%d", name, t.Kind, cmp.Or(t.Consistency.String(), "none"), ID(t.Member), t.Term)
}

// ParseTag is the inverse of String.
func ParseTag(s string) (t Tag, err error) {
	f := strings.Split(s, ".")
	if f[0] == measure.Measured.String() {
		t.Phase = measure.Measured
	}
	if f[0] != t.Phase.String() || len(f) != 2 && len(f) != 6 ||
		!t.parseTime(f[1]) || t.Time.alone() != (len(f) == 2) || len(f) == 6 && t.parseSeries(f[2:]) != nil {
		return Tag{}, fmt.Errorf("%q is no tag of quorumbench", s)
	}
	return t, nil
}

func (t *Tag) parseTime(s string) bool {
	kind, failed := strings.CutPrefix(s, timeNames[ErrorTime])
	for o := kv.NotSent; failed && o < kv.NumOutcomes; o++ {
		if o.String() == kind {
			t.Time, t.Error = ErrorTime, o
			return true
		}
	}
	at := slices.Index(timeNames[:], s)
	t.Time = Time(max(at, 0))
	return at >= 0 && !failed
}

func (t *Tag) parseSeries(f []string) (err error) {
	if t.Kind, err = kv.ParseKind(f[0]); err != nil {
		return err
	}
	if f[1] != "none" {
		if t.Consistency, err = kv.ParseConsistency(f[1]); err != nil {
			return err
		}
	}
	if t.Member, err = strconv.ParseUint(f[2], 16, 64); err != nil {
		return err
	}
	t.Term, err = strconv.ParseUint(f[3], 10, 64)
	return err
}

// hlogHead writes the head of a latency.hlog. Intervals' times are relative to
// base, which is a whole second because that is what the log holds.
func hlogHead(to io.Writer, started, base time.Time) error {
	w := hdr.NewHistogramLogWriter(to)
	if err := w.OutputLogFormatVersion(); err != nil {
		return err
	}
	stamp := fmt.Sprintf("[StartTime: %.3f (seconds since epoch), %s]",
		float64(started.UnixMilli())/1e3, started.UTC().Format(time.RFC3339Nano))
	for _, line := range []string{
		"Times in nanoseconds. Tags: PHASE.TIME.OPERATION.CONSISTENCY.MEMBER.TERM, or PHASE.lateness, PHASE.watch-due and so on.",
		stamp,
	} {
		if err := w.OutputComment(line); err != nil {
			return err
		}
	}
	if err := w.OutputBaseTime(base.UnixMilli()); err != nil {
		return err
	}
	return w.OutputLegend()
}

// hlogSecond appends a second's histograms, a line each: start is in seconds
// after the base, length in seconds.
func hlogSecond(b []byte, e *encoder, s *measure.Second, start, length float64) ([]byte, error) {
	var err error
	put := func(tag Tag, h *measure.Histogram) {
		if err == nil && count(h) > 0 {
			tag.Phase = s.Phase
			b, err = e.appendInterval(b, tag.String(), start, length, h)
		}
	}
	for _, c := range s.Cells {
		put(Tag{Time: Response, Series: c.Series}, c.Response)
		put(Tag{Time: Service, Series: c.Series}, c.Service)
		for i, h := range c.Failed {
			put(Tag{Time: ErrorTime, Series: c.Series, Error: kv.NotSent + kv.Outcome(i)}, h)
		}
	}
	put(Tag{Time: Lateness}, s.Lateness)
	put(Tag{Time: WatchDue}, s.Watch.FromDue)
	put(Tag{Time: WatchSent}, s.Watch.FromSent)
	return b, err
}

// Interval is one histogram of latency.hlog.
type Interval struct {
	Tag
	Start     time.Time // to the millisecond
	Length    time.Duration
	Histogram *measure.Histogram
}

// scanHlog hands over the intervals whose tag is kept, in the order of lines.
// (The library's own reader cuts times down to the millisecond below, and decodes
// what is not kept.)
func scanHlog(lines *bufio.Scanner, keep func(Tag) bool, each func(Interval) error) error {
	base := 0.0
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		if rest, ok := strings.CutPrefix(line, "#[BaseTime: "); ok {
			number, _, _ := strings.Cut(rest, " ")
			var err error
			if base, err = strconv.ParseFloat(number, 64); err != nil {
				return fmt.Errorf("line %d of the histogram log has no base time", n)
			}
		}
		if !strings.HasPrefix(line, "Tag=") {
			continue // comments and the legend
		}
		interval, kept, err := parseInterval(line, base, keep)
		if err != nil {
			return fmt.Errorf("line %d of the histogram log: %w", n, err)
		}
		if !kept {
			continue
		}
		if err := each(interval); err != nil {
			return err
		}
	}
	return lines.Err()
}

// maxSeconds is far beyond any time of a run, and what a time in nanoseconds holds.
const maxSeconds = 9e9

// maxHlogLine is more than a histogram of this program can need: nine bytes
// for each of its 30,720 counts, in base64.
const maxHlogLine = 1 << 20

// parseInterval reads "Tag=T,start,length,max,histogram", seconds after base.
func parseInterval(line string, base float64, keep func(Tag) bool) (i Interval, kept bool, err error) {
	f := strings.Split(strings.TrimPrefix(line, "Tag="), ",")
	if len(f) != 5 {
		return Interval{}, false, fmt.Errorf("%d fields, want 5", len(f))
	}
	tag, err := ParseTag(f[0])
	if err != nil {
		return Interval{}, false, err
	}
	if !keep(tag) {
		return Interval{}, false, nil
	}
	start, err1 := strconv.ParseFloat(f[1], 64)
	length, err2 := strconv.ParseFloat(f[2], 64)
	if err1 != nil || err2 != nil {
		return Interval{}, false, fmt.Errorf("%q and %q are not a start and a length in seconds", f[1], f[2])
	}
	h, err := hdr.Decode([]byte(f[4]))
	if err != nil {
		return Interval{}, false, fmt.Errorf("the histogram cannot be decoded: %w", err)
	}
	// Those of this program, of any version, are no larger; a foreign one may take
	// 50 MB, and a log has one a line.
	if h.SignificantFigures() > measure.Digits || h.HighestTrackableValue() > measure.Highest {
		return Interval{}, false, errors.New("the histogram is wider or finer than those of quorumbench")
	}
	if !(math.Abs(base+start) < maxSeconds) || !(length >= 0 && length < maxSeconds) {
		return Interval{}, false, fmt.Errorf("%q and %q are not a start and a length in seconds", f[1], f[2])
	}
	return Interval{
		Tag: tag, Histogram: h, Start: time.UnixMilli(int64(math.Round(1e3 * (base + start)))).UTC(),
		Length: time.Duration(math.Round(1e3*length)) * time.Millisecond,
	}, true, nil
}

// EachInterval reads the latency.hlog of a trial's folder, one interval after
// the other: it holds one histogram, however long the trial ran. Those whose
// tag keep refuses are not decoded. Half a last line is dropped, and a file
// that is missing has no interval: a killed trial leaves both. An error of each
// ends it.
func EachInterval(dir, folder string, keep func(Tag) bool, each func(Interval) error) error {
	if !filepath.IsLocal(folder) {
		return fmt.Errorf("%q is no folder in the run directory", folder)
	}
	path := filepath.Join(dir, folder, hlogFile)
	f, err := readfile.OpenIn(dir, filepath.Join(folder, hlogFile))
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

// wholeLine is bufio.ScanLines without a last line that has no end.
func wholeLine(data []byte, atEOF bool) (advance int, token []byte, err error) {
	advance, token, err = bufio.ScanLines(data, atEOF)
	if atEOF && advance > 0 && data[advance-1] != '\n' {
		return advance, nil, err
	}
	return advance, token, err
}

// The cookies of HdrHistogram's V2 encoding, whose counts are of variable size.
const (
	compressedCookie = 0x1c849304 | 0x10
	plainCookie      = 0x1c849303 | 0x10
	plainHeader      = 40 // bytes
)

// encoder writes histograms in HdrHistogram's compressed V2 encoding, as the
// library does, at a fraction of its cost: the log is written beside the load that
// it describes. It is used again and again, by one goroutine.
type encoder struct {
	packed bytes.Buffer
	zip    *zlib.Writer
}

// appendTo appends the histogram in base64.
func (e *encoder) appendTo(b []byte, h *measure.Histogram) ([]byte, error) {
	counts := h.Export().Counts
	last := len(counts)
	for last > 0 && counts[last-1] == 0 {
		last--
	}
	payload := appendCounts(make([]byte, plainHeader, plainHeader+last), counts[:last])
	binary.BigEndian.PutUint32(payload, plainCookie)
	binary.BigEndian.PutUint32(payload[4:], uint32(len(payload)-plainHeader))
	binary.BigEndian.PutUint32(payload[8:], 0) // the counts are not rotated
	binary.BigEndian.PutUint32(payload[12:], uint32(h.SignificantFigures()))
	binary.BigEndian.PutUint64(payload[16:], uint64(h.LowestTrackableValue()))
	binary.BigEndian.PutUint64(payload[24:], uint64(h.HighestTrackableValue()))
	binary.BigEndian.PutUint64(payload[32:], math.Float64bits(1))

	e.packed.Reset()
	e.packed.Write(make([]byte, 8))
	if e.zip == nil {
		var err error
		if e.zip, err = zlib.NewWriterLevel(&e.packed, zlib.BestSpeed); err != nil {
			return b, err
		}
	} else {
		e.zip.Reset(&e.packed)
	}
	if _, err := e.zip.Write(payload); err != nil {
		return b, err
	}
	if err := e.zip.Close(); err != nil {
		return b, err
	}
	out := e.packed.Bytes()
	binary.BigEndian.PutUint32(out, compressedCookie)
	binary.BigEndian.PutUint32(out[4:], uint32(len(out)-8))
	return base64.StdEncoding.AppendEncode(b, out), nil
}

// appendCounts appends counts as zigzag varints; a run of zeros is one negative
// number. (HdrHistogram's varints differ from binary's only from the ninth byte
// on, which a count reaches at 2^55.)
func appendCounts(b []byte, counts []int64) []byte {
	for i := 0; i < len(counts); {
		if counts[i] != 0 {
			b = binary.AppendVarint(b, counts[i])
			i++
			continue
		}
		zeros := i
		for i < len(counts) && counts[i] == 0 {
			i++
		}
		if zeros = i - zeros; zeros == 1 {
			b = append(b, 0)
		} else {
			b = binary.AppendVarint(b, int64(-zeros))
		}
	}
	return b
}

// appendInterval appends a line of the log: times in seconds, the largest value
// in milliseconds.
func (e *encoder) appendInterval(b []byte, tag string, start, length float64, h *measure.Histogram) ([]byte, error) {
	b = fmt.Appendf(b, "Tag=%s,%.3f,%.3f,%.6f,", tag, start, length, float64(h.ValueAtPercentile(100))/1e6)
	b, err := e.appendTo(b, h)
	return append(b, '\n'), err
}
