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

// folder is the path of the agent's folder, absolute and without symbolic links. The agent accepts
// only paths inside it.
type folder string

// maxPathBytes is PATH_MAX on Linux, in bytes.
const maxPathBytes = 4096

// check returns an error if the agent must not use the path. It does not look for symbolic links,
// because the host does not follow them (see host.Local.WithFolder).
func (f folder) check(path string) error {
	if len(path) >= maxPathBytes || strings.ContainsRune(path, 0) {
		return errors.New("the path is too long or contains a zero byte")
	}
	if !filepath.IsAbs(path) || filepath.Clean(path) != path || !f.contains(path) {
		return f.outsideError(path)
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

func (f folder) contains(path string) bool {
	return path == string(f) || strings.HasPrefix(path, strings.TrimSuffix(string(f), "/")+"/")
}

func (f folder) outsideError(path string) error {
	return fmt.Errorf("the path %s is outside the agent's folder %s", text.Line(path, maxPathBytes), f)
}

// ownEntries contains the prefixes of names that are permitted in an agent's folder. These are the
// names of data folders and session folders of agents and runs, of the folders of agents that were
// started over ssh, and of a file system's folder lost+found.
var ownEntries = []string{"quorumbench-", host.AdoptedPrefix, "lost+found"}

// rejectForeignEntries returns an error if a folder contains an entry that no agent created.
// Controllers can read, replace and remove everything in the agent's folder, so it must not contain
// other files.
func rejectForeignEntries(dir *host.Folder) error {
	names, err := dir.Names()
	if err != nil {
		return fmt.Errorf("cannot read the agent's folder %s: %w", dir.Path(), host.Cause(err))
	}
	slices.Sort(names)
	for _, name := range names {
		if !slices.ContainsFunc(ownEntries, func(begin string) bool { return strings.HasPrefix(name, begin) }) {
			return fmt.Errorf("the folder %s contains %s, which no agent created and which a controller could read or replace; specify an empty folder with --dir", dir.Path(), text.Line(name, text.MaxServerText))
		}
	}
	return nil
}

// CheckOutsideFolder returns an error if one of the files is in an agent's folder, where
// controllers could read and replace it. It resolves symbolic links in all paths.
func CheckOutsideFolder(dir string, files ...string) error {
	agentFolder, err := resolve(dir)
	if err != nil {
		return err
	}
	for _, file := range files {
		absolute, err := filepath.Abs(file)
		if err != nil {
			return fmt.Errorf("cannot find the file %s: %w", file, err)
		}
		parentFolder, err := resolve(filepath.Dir(absolute)) // a symbolic link inside the agent's folder could be replaced
		if err != nil {
			return err
		}
		real, err := resolve(absolute)
		if err != nil {
			return err
		}
		if folder(agentFolder).contains(real) || folder(agentFolder).contains(filepath.Join(parentFolder, filepath.Base(absolute))) {
			return fmt.Errorf("the file %s is in the agent's folder %s, where a controller could read or replace it; move the file elsewhere, or specify another folder with --dir", file, dir)
		}
	}
	return nil
}

// resolve returns an absolute path. It resolves all symbolic links in the part of the path that
// exists.
func resolve(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("cannot resolve the path %s: %w", path, err)
	}
	rest := ""
	for existing := path; ; existing = filepath.Dir(existing) {
		real, err := filepath.EvalSymlinks(existing)
		switch {
		case err == nil:
			return filepath.Join(real, rest), nil
		case !errors.Is(err, fs.ErrNotExist) || existing == filepath.Dir(existing):
			return "", fmt.Errorf("cannot read the path %s: %w", path, err)
		}
		rest = filepath.Join(filepath.Base(existing), rest)
	}
}
