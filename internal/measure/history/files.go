package history

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Header describes the operations in a file.
type Header struct {
	Store string `json:"store"`
	// Started is the time at which the clock for the file's operations was 0. Readers use it to
	// convert the times in all files of a load to the same clock.
	Started time.Time `json:"started"`
	// BaseRevision is the store's revision when the history began. Versions with revisions up to
	// BaseRevision already existed at that time. It is 0 if unknown.
	BaseRevision int64 `json:"base,omitempty"`
	// Timeout is the longest time, in nanoseconds, for which the load generator waited for an
	// operation. If a file ends prematurely, the missing operations began at most Timeout before
	// the end of the last operation in the file. If Timeout is 0 (unknown), they may have begun at
	// any time.
	Timeout int64 `json:"timeout_ns,omitempty"`
	// ClockError is the largest possible difference between the file's clock and the controller's
	// clock, in nanoseconds. It is 0 for files that the controller wrote.
	ClockError int64 `json:"clock_error_ns,omitempty"`
	// VersionsCountWrites is set if Op.Expected is the number of writes to the key since its
	// creation.
	VersionsCountWrites bool `json:"counted,omitempty"`
	// Guarantees maps each guarantee that the store makes to the place in the store's documentation
	// that states the guarantee.
	Guarantees map[Guarantee]string `json:"guarantees"`
}

// Name returns the name of the n-th history file in a trial's folder. n starts at 1.
func Name(n int) string { return fmt.Sprintf("history-%02d.qbhist", n) }

// Files returns the paths of all history files in a trial's folder. The list is empty if no history
// was recorded.
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

// Size returns the total size of the files in bytes.
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

// signature is the start of a history file.
const signature = "qbhist1\n"
