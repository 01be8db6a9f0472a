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

// Event is one line of events.jsonl: an event, or several of one kind and member combined.
type Event struct {
	// Time is when the event ended, or was observed; for several, the time of the last.
	Time time.Time `json:"time"`
	// Kind is such as election, slow_fsync, member_lost, fault.
	Kind   string `json:"kind"`
	Member string `json:"member,omitempty"` // its name
	Text   string `json:"text"`
	// Duration is how long it took; 0 if it has no duration. For several, the longest.
	Duration time.Duration `json:"duration_ns"`
	// Line is the line of the member's log that reports the event, cut to a few hundred
	// bytes; for several, that of the longest. Empty if no log reports it.
	Line string `json:"line,omitempty"`
	// Count is the number of combined events; 0 for a single one. Total is then the sum of
	// their durations, and First the time of the first.
	Count uint64        `json:"count,omitempty"`
	Total time.Duration `json:"total_ns,omitempty"`
	First time.Time     `json:"first,omitzero"`
}

// Occurrences returns how often the event happened.
func (e *Event) Occurrences() uint64 { return max(e.Count, 1) }

// TotalDuration returns the total duration; 0 if it is not known.
func (e *Event) TotalDuration() time.Duration {
	if e.Count > 0 {
		return e.Total
	}
	return e.Duration
}

// Began returns when the event began; for several, the latest time at which the first can
// have begun.
func (e *Event) Began() time.Time {
	if e.Count > 0 {
		return e.First
	}
	return e.Time.Add(-e.Duration)
}

// Event appends an event to the record.
func (t *TrialWriter) Event(e Event) error {
	e.Time, e.First = e.Time.UTC(), e.First.UTC()
	if t.w.observer.Event != nil {
		t.w.observer.Event(e)
	}
	return t.do(func() error {
		b, err := json.Marshal(e)
		if err != nil {
			return fmt.Errorf("the event %q cannot be recorded: %w", e.Kind, err)
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
			return all, fmt.Errorf("event %d cannot be read: %w", len(all)+1, err)
		}
		text.Fields(&e)
		all = append(all, e)
	}
	return all, nil
}

// Attached holds a reader's data about a trial in addition to its result.
type Attached struct {
	// Dir is the run directory from which Open read the trial; empty if Open did not read
	// it.
	Dir string `json:"-"`
	// Calibration is the run's calibration if it was made on the machine that generated
	// this load.
	Calibration *Calibration `json:"-"`
	// Events (sorted by time), Timeline, Machines and Stores are read by Run.ReadEvents.
	Events   []Event      `json:"-"`
	Timeline []Row        `json:"-"`
	Machines []MachineRow `json:"-"`
	Stores   []StoreRow   `json:"-"`
}

// ReadEvents fills the Events, Timeline, Machines and Stores of the trials of a run that
// was opened from dir. Read errors are added to the run's Problems.
func (r *Run) ReadEvents(dir string) {
	for i := range r.Trials {
		t := &r.Trials[i]
		if t.Folder == "" || !filepath.IsLocal(t.Folder) {
			continue // a problem already
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

// readInto returns a function that reads a file of a trial's folder and returns a sentence
// if that fails.
func readInto[T any](to *[]T, dir, folder, name string, read func([]byte) ([]T, error)) func() string {
	return func() string {
		b, err := completeLines(dir, filepath.Join(folder, name))
		*to = nil
		if err == nil {
			*to, err = read(b)
		}
		if err != nil {
			return fmt.Sprintf("%s cannot be read: %v.", filepath.Join(folder, name), err)
		}
		return ""
	}
}
