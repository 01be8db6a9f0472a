package record

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
)

// Time is the kind of time that a histogram in latency.hlog contains.
type Time uint8

// The kinds of times.
const (
	Response      Time = iota // done - due of successes
	Service                   // done - sent of successes
	ErrorTime                 // end - due of errors of one kind
	Lateness                  // sent - due of all operations sent, open loop
	WatchDue                  // a watch event's arrival - due of its write
	WatchSent                 // a watch event's arrival - sent of its write
	WatchCreation             // watcher created - watcher requested
)

// timeNames holds the names of the kinds of times for tags. In the tag for an error, the kind of
// the error follows "error-".
var timeNames = [...]string{Response: "response", Service: "service", ErrorTime: "error-", Lateness: "lateness", WatchDue: "watch-due", WatchSent: "watch-sent", WatchCreation: "watch-made"}

// withoutOperation reports whether the tags for this kind of time consist only of a phase and a
// time. Other tags also have an operation and the fields that belong to it.
func (t Time) withoutOperation() bool { return t >= Lateness }

// Tag identifies an interval in latency.hlog. Its text is a list of fields separated by points. It
// contains no commas, no spaces and no characters that are not allowed in file names, because tools
// split logs by tag into files:
//
//	measured.response.get.linearizable.8e9e05c52164694d.2
//	measured.error-timeout.put.none.0.0
//	warmup.lateness
//	measured.watch-due
type Tag struct {
	Phase measure.Phase
	Time  Time
	// Series is empty for Lateness and for the times of watch events.
	measure.Series
	Error kv.Outcome // ErrorTime only
}

// String returns the tag as it is written in latency.hlog.
func (t Tag) String() string {
	name := t.Phase.String() + "." + timeNames[t.Time]
	if t.Time.withoutOperation() {
		return name
	}
	if t.Time == ErrorTime {
		name += t.Error.String()
	}
	return fmt.Sprintf("%s.%s.%s.%s.%d", name, t.Kind, cmp.Or(t.Consistency.String(), "none"), ID(t.Member), t.Term)
}

// ParseTag parses the text that String returns.
func ParseTag(s string) (t Tag, err error) {
	f := strings.Split(s, ".")
	if f[0] == measure.Measured.String() {
		t.Phase = measure.Measured
	}
	if f[0] != t.Phase.String() || len(f) != 2 && len(f) != 6 ||
		!t.parseTime(f[1]) || t.Time.withoutOperation() != (len(f) == 2) || len(f) == 6 && t.parseSeries(f[2:]) != nil {
		return Tag{}, fmt.Errorf("%q is not a tag that quorumbench writes", s)
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

// hlogHead writes the header of a latency.hlog file. The start times of intervals in the file are
// relative to base. base must be a whole second, because the log cannot store fractions of it.
func hlogHead(out io.Writer, started, base time.Time) error {
	w := hdr.NewHistogramLogWriter(out)
	if err := w.OutputLogFormatVersion(); err != nil {
		return err
	}
	stamp := fmt.Sprintf("[StartTime: %.3f (seconds since epoch), %s]",
		float64(started.UnixMilli())/1e3, started.UTC().Format(time.RFC3339Nano))
	for _, line := range []string{
		"Times in nanoseconds. Tags: PHASE.TIME.OPERATION.CONSISTENCY.MEMBER.TERM, or PHASE.lateness, PHASE.watch-due and others.",
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

// hlogSecond appends a line for each histogram in the data of one second. start is the number of
// seconds after the log's base time, and length is in seconds.
func hlogSecond(b []byte, e *encoder, s *measure.Second, start, length float64) ([]byte, error) {
	var err error
	put := func(tag Tag, h *measure.Histogram) {
		if err == nil && measure.Count(h) > 0 {
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
