package record

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/quorumbench/quorumbench/internal/files"
	"github.com/quorumbench/quorumbench/internal/measure"
)

// readSlots reads slots.jsonl of a trial with faults into Slots. It returns a sentence if this
// fails. It returns "" if slots.jsonl is missing, because Open has already reported this.
func (t *Trial) readSlots(dir string) (problem string) {
	if countInjected(t.Faults) == 0 {
		return ""
	}
	var err error
	if t.Slots, err = readSlots(dir, filepath.Join(t.Folder, slotsFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		problem = recoveryProblem(t, err)
	}
	return problem
}

// AddRecoveryProblem adds a sentence to the run's Problems: the recovery after the trial's faults
// cannot be computed from slots.jsonl.
func (r *Run) AddRecoveryProblem(t *Trial, err error) { r.addProblem("%s", recoveryProblem(t, err)) }

func recoveryProblem(t *Trial, err error) string {
	return fmt.Sprintf("Cannot compute the recovery after faults from %s: %v.", filepath.Join(t.Folder, slotsFile), err)
}

// minSlotsLine and maxSlotsLine are limits for the length of a line in slots.jsonl, in bytes. Real
// lines are longer than minSlotsLine, because each contains a set of milliseconds, and shorter than
// maxSlotsLine, because the lists in a second are limited. maxSlotsMemory limits the memory for the
// whole window, in bytes. It suffices for a load of four days on three members.
const (
	minSlotsLine   = 250
	maxSlotsLine   = 4 << 20
	maxSlotsMemory = 1 << 30
)

// readSlots reads slots.jsonl in a run directory. It ignores an incomplete last line. It returns an
// error unless the lines describe the seconds 0, 1, 2 and so on.
func readSlots(dir, path string) (*measure.WindowTimeline, error) {
	f, err := files.OpenIn(dir, path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	return ParseSlots(f)
}

// ParseSlots parses the contents of slots.jsonl. It keeps only one line of the text in memory.
func ParseSlots(r io.Reader) (*measure.WindowTimeline, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxSlotsLine)
	lines.Split(completeLine)
	c := &measure.WindowTimeline{}
	for n := 0; lines.Scan(); n++ {
		var s measure.WindowSecond
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			return nil, fmt.Errorf("cannot read line %d: %w", n+1, err)
		}
		switch {
		case s.Index != n:
			return nil, fmt.Errorf("line %d describes second %d instead of second %d", n+1, s.Index, n)
		case len(lines.Bytes()) < minSlotsLine: // a file of short lines would need far more memory than disk space
			return nil, fmt.Errorf("line %d is too short", n+1)
		}
		c.Add(&s)
		if c.EstimateMemory() > maxSlotsMemory {
			return nil, fmt.Errorf("its first %d lines already need more than %d MiB of memory", n+1, maxSlotsMemory>>20)
		}
	}
	if err := lines.Err(); !errors.Is(err, bufio.ErrTooLong) {
		return c, err
	}
	return nil, fmt.Errorf("a line is longer than %d MiB", maxSlotsLine>>20)
}
