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

// Recover computes the recovery after the faults of a trial. The function `read` reads the trial's
// slots.jsonl. If Recover returns an error, the recovery is unknown.
type Recover func(t *Trial, read func() (*measure.WindowTimeline, error)) error

// recover calls `compute` for a trial with faults. It returns a sentence if this fails. It returns
// "" if slots.jsonl is missing, because Open has already reported this.
func (t *Trial) recover(dir string, compute Recover) (problem string) {
	if countInjected(t.Faults) == 0 {
		return ""
	}
	path := filepath.Join(t.Folder, slotsFile)
	err := compute(t, func() (*measure.WindowTimeline, error) { return readSlots(dir, path) })
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		problem = fmt.Sprintf("Cannot compute the recovery after faults from %s: %v.", path, err)
	}
	return problem
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
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, fmt.Errorf("a line is longer than %d MiB", maxSlotsLine>>20)
	case err != nil:
		return nil, err
	}
	return c, nil
}
