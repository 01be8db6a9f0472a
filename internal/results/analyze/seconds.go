package analyze

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// Second is a one-second interval of a trial's window.
type Second struct {
	record.Row
	// Length is the length of the interval in seconds. Complete is set if the interval is a full
	// second. The last interval may be shorter, because the window ends in it.
	Length   float64
	Complete bool
	// Missing is set if the record does not contain this interval. In this case, Row contains only
	// the time.
	Missing bool
	// Times holds the times of the successes that became due in this interval: service times in a
	// closed loop, response times in an open loop. EachSecond reuses Times for the next interval.
	Times *measure.Sum
}

// PerSecond returns the throughput in this interval. It returns false if the record does not
// contain the interval.
func (s *Second) PerSecond() (float64, bool) {
	if s.Missing || s.Length <= 0 {
		return 0, false
	}
	return float64(s.Done) / s.Length, true
}

// minCompleteLength is the minimum length, in seconds, of a complete interval. It is below 1
// because recorded times are rounded to milliseconds.
const minCompleteLength = 0.999

// EachSecond calls the function `each` for every one-second interval of a trial's window, in order.
// An interval that is not in the record is marked as Missing. EachSecond reads only from the run
// directory. It keeps the timeline in memory, but the times of only one interval at a time, so a
// trial may have any length.
func EachSecond(t *record.Trial, each func(*Second) error) error {
	rows, err := record.OpenTimeline(t.Dir, t.Folder)
	if err != nil {
		return err
	}
	w := &walk{trial: t, each: each, times: &measure.Sum{}}
	for _, r := range rows {
		if r.Phase == measure.Measured.String() {
			w.rows = append(w.rows, r)
		}
	}
	if len(w.rows) == 0 {
		return nil
	}
	w.opened = w.rows[0].Time.Add(-time.Duration(w.rows[0].Second) * time.Second)
	keep := func(tag record.Tag) bool { return tag.Phase == measure.Measured && tag.Time == t.HeadlineTime() }
	err = record.ReadIntervals(t.Dir, t.Folder, keep, w.interval)
	if err == nil {
		err = w.passSecondsBefore(math.MaxInt)
	}
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// maxGap is the maximum number of consecutive missing intervals. A larger gap indicates a damaged
// file.
const maxGap = 100_000

// errEnough stops the reading of histograms after the last row of the timeline. A run that was
// killed may have written a histogram without the matching row.
var errEnough = errors.New("the timeline has ended")

// walk reads the timeline and the histograms in parallel.
type walk struct {
	trial      *record.Trial
	opened     time.Time
	rows       []record.Row // the rows that have not been passed to the function `each`
	nextSecond int          // the next second to pass to the function `each`
	times      *measure.Sum
	each       func(*Second) error
}

func (w *walk) interval(i *record.Interval) error {
	index := int(math.Round(i.Start.Sub(w.opened).Seconds()))
	if err := w.passSecondsBefore(index); err != nil {
		return err
	}
	if len(w.rows) == 0 {
		return errEnough
	}
	w.times.Add(&i.Steps)
	return nil
}

// passSecondsBefore passes the intervals before the given index to the function `each`.
func (w *walk) passSecondsBefore(index int) error {
	for w.nextSecond < index && len(w.rows) > 0 {
		s := Second{Row: w.rows[0], Times: w.times}
		if s.Second-w.nextSecond > maxGap {
			return fmt.Errorf("the timeline of %s jumps from second %d to second %d; the record is damaged", w.trial.Folder, w.nextSecond, s.Second)
		}
		if s.Second > w.nextSecond {
			w.times.Reset()
			s = Second{Missing: true, Times: w.times}
			s.Second, s.Phase = w.nextSecond, measure.Measured.String()
			s.Time = w.opened.Add(time.Duration(w.nextSecond) * time.Second)
		}
		s.Length = 1
		if w.trial.Seconds > 0 {
			s.Length = min(1, w.trial.Seconds-float64(w.nextSecond))
		}
		s.Complete = !s.Missing && s.Length >= minCompleteLength
		if err := w.each(&s); err != nil {
			return err
		}
		if !s.Missing {
			w.rows = w.rows[1:]
		}
		w.times.Reset()
		w.nextSecond++
	}
	return nil
}
