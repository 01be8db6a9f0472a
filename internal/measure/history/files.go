package history

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Header describes the operations of a file.
type Header struct {
	Store string `json:"store"`
	// Started is the time at which the operations' clock was 0. It serves to put all files of
	// a load on one clock.
	Started time.Time `json:"started"`
	// Base is the store's revision when the history began; versions up to Base existed before.
	// 0: unknown.
	Base int64 `json:"base,omitempty"`
	// Timeout is the longest time that an operation was waited for, in nanoseconds. If a file
	// ends prematurely, the operations missing from it began at most Timeout before its end.
	// 0: unknown; then they may have begun at any time.
	Timeout int64 `json:"timeout_ns,omitempty"`
	// ClockError is the largest error of the file's clock relative to the controller's, in
	// nanoseconds; 0 for the controller's own files.
	ClockError int64 `json:"clock_error_ns,omitempty"`
	// Counted reports that Op.Expected counts the writes of a key since its creation.
	Counted bool `json:"counted,omitempty"`
	// Promises maps each promise of the store to the place in its documentation.
	Promises map[Promise]string `json:"promises"`
}

// Name returns the name of the n-th file in a trial's folder, starting at 1.
func Name(n int) string { return fmt.Sprintf("history-%02d.qbhist", n) }

// Files returns the paths of all history files in a trial's folder; none if nothing was
// recorded.
func Files(dir string) (paths []string, err error) {
	for n := 1; ; n++ {
		path := filepath.Join(dir, Name(n))
		switch _, err := os.Lstat(path); {
		case errors.Is(err, fs.ErrNotExist):
			return paths, nil
		case err != nil:
			return nil, err
		}
		paths = append(paths, path)
	}
}

// Size returns the total size of files in bytes.
func Size(paths []string) (bytes int64, err error) {
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return 0, err
		}
		bytes += info.Size()
	}
	return bytes, nil
}

const (
	magic     = "qbhist1\n"
	maxHeader = 1 << 16
)
