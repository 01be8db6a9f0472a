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

// Event is one line of events.jsonl. It describes one event, or several events of the same kind at
// the same member.
type Event struct {
	// Time is when the event ended or was observed. For several events, it is the time of the last
	// event.
	Time time.Time `json:"time"`
	// Kind is the kind of event, such as election, slow_fsync, member_lost or fault.
	Kind   string `json:"kind"`
	Member string `json:"member,omitempty"` // name of the member
	Text   string `json:"text"`
	// Duration is 0 if the event has no duration. For several events, it is the longest duration.
	Duration time.Duration `json:"duration_ns"`
	// Line is the line of the member's log that reports the event, shortened to a few hundred
	// bytes. For several events, it is the line for the longest event. It is empty if no log
	// reports the event.
	Line string `json:"line,omitempty"`
	// Count is the number of combined events; 0 for a single event. For several events, Total is
	// the sum of the durations, and First is the time of the first event.
	Count uint64        `json:"count,omitempty"`
	Total time.Duration `json:"total_ns,omitempty"`
	First time.Time     `json:"first,omitzero"`
}

// Occurrences returns how often the event occurred.
func (e *Event) Occurrences() uint64 { return max(e.Count, 1) }

// TotalDuration returns the total duration; 0 if it is not known.
func (e *Event) TotalDuration() time.Duration {
	if e.Count > 0 {
		return e.Total
	}
	return e.Duration
}

// Began returns when the event began. For several events, it returns the latest time at which the
// first event can have begun.
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
	return t.do(func() error {
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
		text.Fields(&e)
		all = append(all, e)
	}
	return all, nil
}

// Attached holds data that a reader adds to a trial after reading it. It is not part of the result.
type Attached struct {
	// Dir is the run directory from which Open read the trial; empty if Open did not read
	// it.
	Dir string `json:"-"`
	// Calibration is the run's calibration, if it was measured on the machine that generated this
	// load.
	Calibration *Calibration `json:"-"`
	// Events (sorted by time), Timeline, Machines and Stores are read by Run.ReadEvents.
	Events   []Event      `json:"-"`
	Timeline []Row        `json:"-"`
	Machines []MachineRow `json:"-"`
	Stores   []StoreRow   `json:"-"`
}

// ReadEvents fills the Events, Timeline, Machines and Stores of all trials in a run that was opened
// from dir. It adds read errors to the run's Problems.
func (r *Run) ReadEvents(dir string) {
	for i := range r.Trials {
		t := &r.Trials[i]
		if t.Folder == "" || !filepath.IsLocal(t.Folder) {
			continue // already reported in Problems
		}
		reads := [...]func() string{
			readInto(&t.Timeline, dir, t.Folder, timelineFile, readTimeline),
			readInto(&t.Events, dir, t.Folder, eventsFile, readEvents),
			readInto(&t.Machines, dir, t.Folder, machinesFile, readMachines),
			readInto(&t.Stores, dir, t.Folder, storesFile, readStores),
		}
		var wrong [len(reads)]string
		var reading sync.WaitGroup // a long trial's files take some tenths of a second to read
		for j, read := range reads {
			reading.Go(func() { wrong[j] = read() })
		}
		reading.Wait()
		for _, text := range wrong {
			if text != "" {
				r.problem("%s", text)
			}
		}
		slices.SortStableFunc(t.Events, func(a, b Event) int { return a.Time.Compare(b.Time) })
	}
}

// readInto returns a function that reads one file in a trial's folder. The function returns a
// sentence if it fails.
func readInto[T any](to *[]T, dir, folder, name string, read func([]byte) ([]T, error)) func() string {
	return func() string {
		b, err := completeLines(dir, filepath.Join(folder, name))
		*to = nil
		if err == nil {
			*to, err = read(b)
		}
		if err != nil {
			return fmt.Sprintf("Cannot read %s: %v.", filepath.Join(folder, name), err)
		}
		return ""
	}
}
