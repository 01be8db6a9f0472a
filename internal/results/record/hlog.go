package record

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/readfile"
)

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

// ReadHlog reads a latency.hlog of this package, in the order of its lines.
// (The library's own reader cuts times down to the millisecond below.)
func ReadHlog(from io.Reader) ([]Interval, error) {
	var all []Interval
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, maxHlogLine)
	err := scanHlog(lines, func(Tag) bool { return true }, func(i Interval) error {
		all = append(all, i)
		return nil
	})
	return all, err
}

// scanHlog hands over the intervals whose tag is kept, in the order of lines.
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

// Merge adds up the intervals that keep accepts: the same histogram as one that
// had recorded all of their values.
func Merge(intervals []Interval, keep func(Tag) bool) *measure.Histogram {
	all := measure.NewHistogram()
	for i := range intervals {
		if keep(intervals[i].Tag) {
			all = measure.Add(all, intervals[i].Histogram)
		}
	}
	return all
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
