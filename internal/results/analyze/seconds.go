package analyze

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// Second is one second of a trial's window.
type Second struct {
	record.Row
	// Length is in seconds. Whole is false for a last second that the end of the window cut.
	Length   float64
	Complete bool
	// Missing reports whether the record lacks the second: Row has only its time.
	Missing bool
	// Times are those of the successes due in the second: service times in a closed loop, response
	// times in an open one. The next second reuses it.
	Times *measure.Sum
}

// PerSecond returns the second's throughput; false if the record lacks the second.
func (s *Second) PerSecond() (float64, bool) {
	if s.Missing || s.Length <= 0 {
		return 0, false
	}
	return float64(s.Done) / s.Length, true
}

// wholeFrom is the length in seconds from which a second is whole, because recorded times are
// rounded to milliseconds.
const wholeFrom = 0.999

// EachSecond calls each for the seconds of a trial's window in order, and reads only its run
// directory. A second that the record skips is Missing. It holds the timeline and the times of a
// single second, for a trial of any length.
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

// maxGap is the largest number of consecutive missing seconds; a larger gap is a damaged file.
const maxGap = 100_000

// errEnough ends the reading of intervals after the timeline's last row: a killed run may have
// written an interval without its row.
var errEnough = errors.New("the timeline has ended")

// walk reads the timeline and the histograms in parallel.
type walk struct {
	trial  *record.Trial
	opened time.Time
	rows   []record.Row // rows not handed over yet
	next   int          // the next second to hand over
	times  *measure.Sum
	each   func(*Second) error
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

// passSecondsBefore hands over the seconds before index.
func (w *walk) passSecondsBefore(index int) error {
	for w.next < index && len(w.rows) > 0 {
		s := Second{Row: w.rows[0], Times: w.times}
		if s.Second-w.next > maxGap {
			return fmt.Errorf("the timeline of %s jumps from second %d to %d", w.trial.Folder, w.next, s.Second)
		}
		if s.Second > w.next {
			w.times.Reset()
			s = Second{Missing: true, Times: w.times}
			s.Second, s.Phase = w.next, measure.Measured.String()
			s.Time = w.opened.Add(time.Duration(w.next) * time.Second)
		}
		s.Length = 1
		if w.trial.Seconds > 0 {
			s.Length = min(1, w.trial.Seconds-float64(w.next))
		}
		s.Complete = !s.Missing && s.Length >= wholeFrom
		if err := w.each(&s); err != nil {
			return err
		}
		if !s.Missing {
			w.rows = w.rows[1:]
		}
		w.times.Reset()
		w.next++
	}
	return nil
}
