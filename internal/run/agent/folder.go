package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/text"
)

// folder is the agent's own, absolute and without links: no path leaves it.
type folder string

// longestPath is as Linux has it (PATH_MAX), in bytes.
const longestPath = 4096

// check returns why a path is refused. Links on the way to it are the host's concern,
// which follows none (host.Local.In).
func (f folder) check(path string) error {
	if len(path) >= longestPath || strings.ContainsRune(path, 0) {
		return errors.New("what came is no path: it is too long, or has a zero byte")
	}
	if !filepath.IsAbs(path) || filepath.Clean(path) != path || !f.holds(path) {
		return f.outside(path)
	}
	return nil
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
	return fmt.Errorf("there is no such path for the agent as %s: it works below %s alone", text.Line(path, longestPath), f)
}

// ownEntries begin the names of what agents and runs make in their folder: data folders, and
// the folders of agents that came over SSH. A file system's own folder may be there.
var ownEntries = []string{"quorumbench-", host.AdoptedPrefix, "lost+found"}

// nothingForeign returns an error if a folder holds anything that no agent made: a controller
// may read, replace and remove what is in it.
func nothingForeign(dir *host.Folder) error {
	names, err := dir.Names()
	if err != nil {
		return fmt.Errorf("the agent's folder %s cannot be read: %w", dir.Path(), host.Cause(err))
	}
	slices.Sort(names)
	for _, name := range names {
		if !slices.ContainsFunc(ownEntries, func(begin string) bool { return strings.HasPrefix(name, begin) }) {
			return fmt.Errorf("the folder %s holds %s, which no agent made, and a controller could read or replace it; give an empty folder with --dir", dir.Path(), text.Line(name, text.OfServer))
		}
	}
	return nil
}

// KeepOutside returns an error if one of the files lies in the folder of an agent,
// whose controllers read and replace what is there. Links are resolved on both sides.
func KeepOutside(dir string, files ...string) error {
	at, err := resolve(dir)
	if err != nil {
		return err
	}
	for _, file := range files {
		direct, err := filepath.Abs(file)
		if err != nil {
			return fmt.Errorf("the file %s cannot be found: %w", file, err)
		}
		above, err := resolve(filepath.Dir(direct)) // a link in the folder can be replaced there
		if err != nil {
			return err
		}
		real, err := resolve(direct)
		if err != nil {
			return err
		}
		if folder(at).holds(real) || folder(at).holds(filepath.Join(above, filepath.Base(direct))) {
			return fmt.Errorf("the file %s is in the agent's folder %s, where a controller could read or replace it; move the file elsewhere, or give another --dir", file, dir)
		}
	}
	return nil
}

// resolve returns an absolute path without links, as far as the path exists.
func resolve(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("the path %s cannot be found: %w", path, err)
	}
	rest := ""
	for at := path; ; at = filepath.Dir(at) {
		real, err := filepath.EvalSymlinks(at)
		switch {
		case err == nil:
			return filepath.Join(real, rest), nil
		case !errors.Is(err, fs.ErrNotExist) || at == filepath.Dir(at):
			return "", fmt.Errorf("the path %s cannot be looked at: %w", path, err)
		}
		rest = filepath.Join(filepath.Base(at), rest)
	}
}
