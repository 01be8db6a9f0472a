package history

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Header says what a file's operations are of.
type Header struct {
	Store string `json:"store"`
	// Started is the moment at which the operations' clock stood at 0: files of one
	// load are put on one clock by it.
	Started time.Time `json:"started"`
	// Base is the store's revision when the history began: versions up to it were
	// there before. 0: not known.
	Base int64 `json:"base,omitempty"`
	// Timeout is how long an operation was waited for at most, in nanoseconds: so
	// long before the end of a file that was not closed, what is missing may have
	// begun. 0: not known, and all of such a file may be concerned.
	Timeout int64 `json:"timeout_ns,omitempty"`
	// ClockError is how far the file's clock can be from that of the others, in
	// nanoseconds; 0 for the controller's own.
	ClockError int64 `json:"clock_error_ns,omitempty"`
	// Counted says that Op.Expected counts the writes of a key since it was made.
	Counted bool `json:"counted,omitempty"`
	// Promises maps what the store promises to where its documentation says so.
	Promises map[Promise]string `json:"promises"`
}

// Name is what the n-th file of a trial's folder is called, from 1.
func Name(n int) string { return fmt.Sprintf("history-%02d.qbhist", n) }

// Files are those of a trial's folder; none where nothing was recorded.
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

// Size is how many bytes files have together.
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
