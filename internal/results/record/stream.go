package record

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/quorumbench/quorumbench/internal/readfile"
)

// EachInterval reads the latency.hlog of a trial's folder, one interval after
// the other: it holds one histogram, however long the trial ran. Those whose
// tag keep refuses are not decoded. Half a last line is dropped, and a file
// that is missing has no interval: a killed trial leaves both. An error of each
// ends it.
func EachInterval(dir, folder string, keep func(Tag) bool, each func(Interval) error) error {
	if !filepath.IsLocal(folder) {
		return fmt.Errorf("%q is no folder in the run directory", folder)
	}
	path := filepath.Join(dir, folder, hlogFile)
	f, err := readfile.OpenIn(dir, filepath.Join(folder, hlogFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s cannot be read: %w", path, err)
	}
	defer func() { _ = f.Close() }() // it was only read
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, maxHlogLine)
	lines.Split(wholeLine)
	if err := scanHlog(lines, keep, each); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// wholeLine is bufio.ScanLines without a last line that has no end.
func wholeLine(data []byte, atEOF bool) (advance int, token []byte, err error) {
	advance, token, err = bufio.ScanLines(data, atEOF)
	if atEOF && advance > 0 && data[advance-1] != '\n' {
		return advance, nil, err
	}
	return advance, token, err
}

// OpenTimeline reads the timeline.csv of a trial's folder, as OpenTrial does.
func OpenTimeline(dir, folder string) ([]Row, error) {
	if !filepath.IsLocal(folder) {
		return nil, fmt.Errorf("%q is no folder in the run directory", folder)
	}
	path := filepath.Join(dir, folder, timelineFile)
	b, err := wholeLines(dir, filepath.Join(folder, timelineFile))
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", path, err)
	}
	rows, err := ReadTimeline(bytes.NewReader(b))
	if err != nil {
		return rows, fmt.Errorf("%s: %w", path, err)
	}
	return rows, nil
}
