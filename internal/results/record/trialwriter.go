package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// The names of the files in a trial's folder.
const (
	hlogFile     = "latency.hlog"
	timelineFile = "timeline.csv"
	eventsFile   = "events.jsonl"
	machinesFile = "machines.csv"
	storesFile   = "stores.csv"
	slotsFile    = "slots.jsonl" // only of a load with faults
)

// TrialWriter writes the folder of one trial. Its methods are safe for concurrent use. As with
// Writer, every call after the first error in the run fails.
type TrialWriter struct {
	w      *Writer
	dir    string
	folder string
	index  int // in the run's trials

	mu         sync.Mutex
	hlog       *lines
	timeline   *lines
	events     *lines
	machines   *lines // nil until the first rows are written
	stores     *lines // nil until the first row is written
	slots      *lines // nil unless the load has faults
	watchers   uint64 // number of watchers of each watched key; 0 if the timeline has no columns for watch events
	begun      bool
	base       time.Time // base time of the histogram log
	start      [2]time.Time
	end        [2]time.Time
	done       bool
	encoder    encoder
	scratch    *measure.Histogram
	doneCounts DoneCounts
	buf        []byte
}

// Trial begins a trial. It creates the trial's folder, trial-NN-<name>. If the trial is repeated,
// the folder is trial-NN-<name>-rN. It also adds the trial to run.json and marks it as incomplete.
func (w *Writer) Trial(c Conditions, now time.Time) (*TrialWriter, error) {
	t := newPendingTrial(c, now)
	t.Folder = fmt.Sprintf("trial-%02d-%s", c.Number, Slug(c.Name))
	if c.Repeated() {
		t.Folder += fmt.Sprintf("-r%d", c.Repeat)
	}
	tw := &TrialWriter{w: w, dir: filepath.Join(w.dir, t.Folder), folder: t.Folder, watchers: c.WatchersPerKey(), scratch: measure.NewHistogram()}
	if err := w.Err(); err != nil {
		return nil, err
	}
	if err := os.Mkdir(tw.dir, folderMode); err != nil {
		return nil, w.fail(writeError(tw.dir, err))
	}
	if err := tw.openFiles(len(c.Faults) > 0); err != nil {
		return nil, w.fail(errors.Join(err, tw.closeFiles()))
	}
	err := w.applyChange(func(r *Run) entry {
		tw.index = len(r.Trials)
		r.Trials = append(r.Trials, t)
		return entry{Index: tw.index, Trial: &t}
	})
	if err != nil {
		return nil, errors.Join(err, tw.closeFiles())
	}
	return tw, nil
}

func (t *TrialWriter) openFiles(hasFaults bool) (err error) {
	type openedFile struct {
		to   **lines
		name string
	}
	all := []openedFile{{&t.hlog, hlogFile}, {&t.timeline, timelineFile}, {&t.events, eventsFile}}
	if hasFaults {
		all = append(all, openedFile{&t.slots, slotsFile})
	}
	for _, f := range all {
		if *f.to, err = t.w.open.lines(filepath.Join(t.dir, f.name)); err != nil {
			return err
		}
	}
	return writeRows(t.timeline, names(rowOf(&measure.Second{}, time.Time{}, t.watchers, t.scratch).written()))
}

// Dir returns the trial's folder.
func (t *TrialWriter) Dir() string { return t.dir }

// Begin writes the time at which a phase began. It must be called before the first call of the
// method Second for this phase.
func (t *TrialWriter) Begin(phase measure.Phase, at time.Time) error {
	return t.withLock(func() error {
		t.start[phase] = at
		if t.begun {
			return nil
		}
		t.begun, t.base = true, at.UTC().Truncate(time.Second)
		var b bytes.Buffer
		if err := hlogHead(&b, at, t.base); err != nil {
			return err
		}
		_, err := t.hlog.Write(b.Bytes())
		return err
	})
}

// End stores the time at which a phase ended. The method Second needs this time to compute the
// length of the phase's last interval, which may be shorter than one second. End may be called
// before the first call of Second for the phase, or not at all.
func (t *TrialWriter) End(phase measure.Phase, at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end[phase] = at
}

// Second records the data of one second. The data of all event loops must already be merged. Second
// does not modify s.
func (t *TrialWriter) Second(s *measure.Second) error {
	return t.withLock(func() error {
		from := t.start[s.Phase]
		if from.IsZero() {
			return fmt.Errorf("the %s phase of %s has seconds but no start time; this is a defect in quorumbench", s.Phase, t.folder)
		}
		start := from.Add(time.Duration(s.Index) * time.Second)
		end := start.Add(time.Second)
		if e := t.end[s.Phase]; e.After(start) && e.Before(end) {
			end = e
		}
		var err error
		t.buf, err = hlogSecond(t.buf[:0], &t.encoder, s, start.Sub(t.base).Seconds(), end.Sub(start).Seconds())
		if err != nil {
			return fmt.Errorf("cannot write a histogram: %w", err)
		}
		if _, err := t.hlog.Write(t.buf); err != nil {
			return err
		}
		row := rowOf(s, start, t.watchers, t.scratch)
		if s.Phase == measure.Measured {
			t.doneCounts.add(s)
			if err := t.addSlots(s, row.P99); err != nil {
				return err
			}
		}
		return writeRows(t.timeline, cells(row.written()))
	})
}

// addSlots adds a second of the window to slots.jsonl if the load has faults. p99 is the p99 of the
// second's response times.
func (t *TrialWriter) addSlots(s *measure.Second, p99 measure.Figure) error {
	if t.slots == nil {
		return nil
	}
	b, err := json.Marshal(measure.NewWindowSecond(s, p99))
	if err != nil {
		return fmt.Errorf("cannot record second %d: %w", s.Index, err)
	}
	_, err = t.slots.Write(append(b, '\n'))
	return err
}

// DoneCounts returns counts of the operations that members served. It covers the seconds of the
// window that have been recorded so far.
func (t *TrialWriter) DoneCounts() *DoneCounts {
	t.mu.Lock()
	defer t.mu.Unlock()
	a := &DoneCounts{Total: slices.Clone(t.doneCounts.Total), ByMember: map[uint64][]uint64{}}
	for member, counts := range t.doneCounts.ByMember {
		a.ByMember[member] = slices.Clone(counts)
	}
	return a
}

// WatchersCreated records the times that it took to create the watchers. It must be called after
// all watchers have been created. In the log, the interval begins with the phase and has the given
// length in seconds.
func (t *TrialWriter) WatchersCreated(phase measure.Phase, h *measure.Histogram, seconds float64) error {
	return t.withLock(func() error {
		start := t.start[phase]
		if start.IsZero() || measure.Count(h) == 0 {
			return nil
		}
		var err error
		t.buf, err = t.encoder.appendInterval(t.buf[:0], Tag{Phase: phase, Time: WatchCreation}.String(), start.Sub(t.base).Seconds(), seconds, h)
		if err != nil {
			return fmt.Errorf("cannot write a histogram: %w", err)
		}
		_, err = t.hlog.Write(t.buf)
		return err
	})
}

// Finish records the result of the trial and closes the trial's files.
func (t *TrialWriter) Finish(result Trial) error {
	result.Folder = t.folder
	return t.finish(func(at *Trial) { *at = result })
}

// Abort marks the trial as ended without a result. state must be Interrupted or Failed. If it is
// Failed, failure must be one sentence.
func (t *TrialWriter) Abort(state State, failure string) error {
	return t.finish(func(at *Trial) {
		at.State, at.Failure = state, failure
		at.Verdict.Reasons = append(at.Verdict.Reasons, verdict.Reason{Rule: 1, Text: "no measurement window was recorded: " + failure})
	})
}

// Restart replaces the conditions of a trial. The trial must not have measured anything yet.
func (t *TrialWriter) Restart(c Conditions) error {
	c.Endpoints, c.Notes = orEmpty(c.Endpoints), orEmpty(c.Notes)
	return t.change(func(at *Trial) { at.Conditions = c })
}

// finish closes the files and writes the result. It closes all files even if closing one of them
// fails.
func (t *TrialWriter) finish(change func(*Trial)) error {
	t.mu.Lock()
	if t.done {
		t.mu.Unlock()
		return fmt.Errorf("%s is closed", t.folder)
	}
	t.done = true
	err := t.closeFiles()
	t.mu.Unlock()
	if err != nil {
		return t.w.fail(err)
	}
	return t.change(change)
}

func (t *TrialWriter) change(change func(*Trial)) error {
	return t.w.applyChange(func(r *Run) entry {
		at := &r.Trials[t.index]
		change(at)
		return entry{Index: t.index, Trial: at}
	})
}

// withLock calls the function `write` while it holds the lock. If an earlier write has failed, it
// returns that error instead.
func (t *TrialWriter) withLock(write func() error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.w.Err(); err != nil {
		return err
	}
	if t.done {
		return fmt.Errorf("%s is closed", t.folder)
	}
	if err := write(); err != nil {
		return t.w.fail(err)
	}
	return nil
}

func (t *TrialWriter) closeFiles() (err error) {
	for _, l := range []*lines{t.hlog, t.timeline, t.events, t.machines, t.stores, t.slots} {
		if l != nil {
			err = errors.Join(err, l.close())
		}
	}
	return err
}
