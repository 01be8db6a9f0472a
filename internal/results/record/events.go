package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/quorumbench/quorumbench/internal/text"
)

// Event is one line of events.jsonl. It describes either a single event, or several events of the
// same kind at the same member, which are combined.
type Event struct {
	// Time is the time at which the event ended or was observed. For combined events, it is the
	// time of the last event.
	Time time.Time `json:"time"`
	// Kind is the kind of the event, for example election, slow_fsync, member_lost or fault.
	Kind   string `json:"kind"`
	Member string `json:"member,omitempty"` // name of the member
	Text   string `json:"text"`
	// Duration is the duration of the event, or 0 if the event has none. For combined events, it is
	// the longest duration.
	Duration time.Duration `json:"duration_ns"`
	// Line is the line of the member's log that reports the event, shortened to a few hundred
	// bytes. For combined events, it is the line about the longest event. It is empty if no line
	// reports the event.
	Line string `json:"line,omitempty"`
	// Count is the number of combined events, or 0 for a single event. For combined events, Total
	// is the sum of their durations, and First is the time of the first event.
	Count uint64        `json:"count,omitempty"`
	Total time.Duration `json:"total_ns,omitempty"`
	First time.Time     `json:"first,omitzero"`
}

// Occurrences returns the number of events that the line describes.
func (e *Event) Occurrences() uint64 { return max(e.Count, 1) }

// TotalDuration returns the sum of the events' durations, or 0 if it is not known.
func (e *Event) TotalDuration() time.Duration {
	if e.Count > 0 {
		return e.Total
	}
	return e.Duration
}

// Began returns the time at which the event began. For combined events, it returns the time at
// which the first of them ended or was observed, because the time at which that event began is not
// recorded.
func (e *Event) Began() time.Time {
	if e.Count > 0 {
		return e.First
	}
	return e.Time.Add(-e.Duration)
}

// Event appends an event to events.jsonl.
func (t *TrialWriter) Event(e Event) error {
	e.Time, e.First = e.Time.UTC(), e.First.UTC()
	if t.w.observer.Event != nil {
		t.w.observer.Event(e)
	}
	return t.withLock(func() error {
		b, err := json.Marshal(e)
		if err != nil {
			return fmt.Errorf("cannot record the event %q: %w", e.Kind, err)
		}
		_, err = t.events.Write(append(text.PrintableBytes(b), '\n'))
		return err
	})
}

// readEvents parses events.jsonl. Like Parse, it makes every text printable.
func readEvents(b []byte) ([]Event, error) {
	var all []Event
	for line := range bytes.Lines(b) {
		var e Event
		if err := json.Unmarshal(line, &e); err != nil {
			return all, fmt.Errorf("cannot read event %d: %w", len(all)+1, err)
		}
		text.SanitizeFields(&e)
		all = append(all, e)
	}
	return all, nil
}

// AttachedData holds data that is added to a trial after it was read from run.json. This data is
// not part of the trial's result.
type AttachedData struct {
	// Dir is the run directory from which Open read the trial; empty if Open did not read
	// it.
	Dir string `json:"-"`
	// Calibration is the calibration in the run's record. It is nil if the calibration was measured
	// on another machine than the one that generated this load.
	Calibration *Calibration `json:"-"`
	// RecoveryKnown is set if the recovery after the trial's faults could be computed.
	RecoveryKnown bool `json:"-"`
	// Run.ReadTrialFiles reads the following fields. It sorts Events by time.
	Events   []Event      `json:"-"`
	Timeline []Row        `json:"-"`
	Machines []MachineRow `json:"-"`
	Stores   []StoreRow   `json:"-"`
}

// ReadTrialFiles reads the Events, Timeline, Machines and Stores of all trials, and calls `compute`
// for each trial with faults. The run must have been opened from dir. ReadTrialFiles adds a
// sentence to the run's Problems for each error.
func (r *Run) ReadTrialFiles(dir string, compute Recover) {
	for i := range r.Trials {
		t := &r.Trials[i]
		if t.Folder == "" || !filepath.IsLocal(t.Folder) {
			continue // already reported in Problems
		}
		reads := [...]func() string{
			func() string { return t.recover(dir, compute) },
			timelineRows.readInto(&t.Timeline, dir, t.Folder),
			eventLines.readInto(&t.Events, dir, t.Folder),
			machineRows.readInto(&t.Machines, dir, t.Folder),
			storeRows.readInto(&t.Stores, dir, t.Folder),
		}
		var wrong [len(reads)]string
		var reading sync.WaitGroup // read the files concurrently, because reading the files of a long trial takes several tenths of a second
		for j, read := range reads {
			reading.Go(func() { wrong[j] = read() })
		}
		reading.Wait()
		for _, text := range wrong {
			if text != "" {
				r.addProblem("%s", text)
			}
		}
		slices.SortStableFunc(t.Events, func(a, b Event) int { return a.Time.Compare(b.Time) })
	}
}
