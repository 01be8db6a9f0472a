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

// Event is one line of events.jsonl: something that happened, or several of
// a kind and member as one.
type Event struct {
	// Time is when it was over, or when it was seen; of several, the last's.
	Time time.Time `json:"time"`
	// Kind is such as election, slow_fsync, member_lost, fault.
	Kind   string `json:"kind"`
	Member string `json:"member,omitempty"` // its name
	Text   string `json:"text"`
	// Duration of what happened; 0 when it has none. Of several, the longest.
	Duration time.Duration `json:"duration_ns"`
	// Line is that of the member's log which reports it, cut to some hundred
	// bytes; of several, that of the longest. Empty for what no log reports.
	Line string `json:"line,omitempty"`
	// Count is how many there were; 0 for one. Then Total is the sum of their
	// durations, and First the first's time.
	Count uint64        `json:"count,omitempty"`
	Total time.Duration `json:"total_ns,omitempty"`
	First time.Time     `json:"first,omitzero"`
}

// Times is how often it happened.
func (e *Event) Times() uint64 { return max(e.Count, 1) }

// Took is how long it took in all; 0 when that is not known.
func (e *Event) Took() time.Duration {
	if e.Count > 0 {
		return e.Total
	}
	return e.Duration
}

// Began is when it began; of several, when the first did, at the latest.
func (e *Event) Began() time.Time {
	if e.Count > 0 {
		return e.First
	}
	return e.Time.Add(-e.Duration)
}

// Event records what happened.
func (t *TrialWriter) Event(e Event) error {
	e.Time, e.First = e.Time.UTC(), e.First.UTC()
	return t.do(func() error {
		b, err := json.Marshal(e)
		if err != nil {
			return fmt.Errorf("the event %q cannot be recorded: %w", e.Kind, err)
		}
		_, err = t.events.Write(append(text.PrintableBytes(b), '\n'))
		return err
	})
}

// readEvents makes every text printable, as Parse does.
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

// Attached is what a reader has of a trial besides its result.
type Attached struct {
	// Dir is the run directory that the trial was read from; empty for one that was
	// not read by Open.
	Dir string `json:"-"`
	// Calibration is the run's, where it is of the machine that generated this load.
	Calibration *Calibration `json:"-"`
	// Events, by their time, Timeline, Machines and Stores are what Run.ReadEvents read.
	Events   []Event      `json:"-"`
	Timeline []Row        `json:"-"`
	Machines []MachineRow `json:"-"`
	Stores   []StoreRow   `json:"-"`
}

// ReadEvents fills the Events, the Timeline, the Machines and the Stores of the
// trials of a run that was opened from dir. What cannot be read is among the run's problems.
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
		var reading sync.WaitGroup // a long trial's files take some tenths of a second
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

// readInto reads a file of a trial's folder, and says what is wrong with it.
func readInto[T any](to *[]T, dir, folder, name string, read func([]byte) ([]T, error)) func() string {
	return func() string {
		b, err := wholeLines(dir, filepath.Join(folder, name))
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
