package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/quorumbench/quorumbench/internal/printable"
)

// folder is the agent's own, absolute and without links: no path leaves it.
type folder string

// longestPath is as Linux has it (PATH_MAX), in bytes.
const longestPath = 4096

// check returns why a path is refused. There are links on the way to it only if
// somebody else put them there: they are followed, and must stay within, too.
func (f folder) check(path string) error {
	if len(path) >= longestPath || strings.ContainsRune(path, 0) {
		return errors.New("what came is no path: it is too long, or has a zero byte")
	}
	if !filepath.IsAbs(path) || filepath.Clean(path) != path || !f.holds(path) {
		return f.outside(path)
	}
	for existing := path; ; existing = filepath.Dir(existing) {
		real, err := filepath.EvalSymlinks(existing)
		switch {
		case err == nil && f.holds(real):
			return nil
		case err == nil:
			return f.outside(path)
		case !errors.Is(err, fs.ErrNotExist) || existing == string(f):
			return fmt.Errorf("the path %s cannot be looked at: %w", printable.Line(path, longestPath), err)
		}
	}
}

func (f folder) checkAll(paths []string) error {
	for _, path := range paths {
		if err := f.check(path); err != nil {
			return err
		}
	}
	return nil
}

func (f folder) holds(path string) bool {
	return path == string(f) || strings.HasPrefix(path, strings.TrimSuffix(string(f), "/")+"/")
}

func (f folder) outside(path string) error {
	return fmt.Errorf("there is no such path for the agent as %s: it works below %s alone", printable.Line(path, longestPath), f)
}
