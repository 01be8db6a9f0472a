package install

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/quorumbench/quorumbench/internal/store"
)

// missingTools returns an error that lists the tools that are not installed. If `forRunning` is
// set, it checks only the tools that are needed to run the server.
func missingTools(tools []store.Tool, forRunning bool) error {
	var errs []error
	for _, t := range tools {
		if forRunning && !t.NeededToRun {
			continue
		}
		if _, err := exec.LookPath(t.Name); err != nil {
			errs = append(errs, errors.New(t.MissingMessage))
		}
	}
	return errors.Join(errs...)
}

// buildInputs returns the source's files. The keys are the files' names in the build.
func buildInputs(s store.ServerSource) (map[string][]byte, error) {
	files := map[string][]byte{}
	if s.Files == nil {
		return nil, fmt.Errorf("the description of %s %s has no files", s.Store, s.Version)
	}
	err := fs.WalkDir(s.Files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(s.Files, path)
		files[strings.TrimSuffix(path, ".txt")] = b
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("the description of %s %s cannot be read: %w", s.Store, s.Version, err)
	}
	return files, nil
}

// workspace is the folder of a build. It is next to the folders of finished servers, so that a
// rename can move the result there.
type workspace struct {
	dir string
	in  string // the build's inputs; the tool runs in this folder
	out string // the folder that becomes the server's folder
}

// Cache is a folder that contains built servers.
type Cache struct{ Dir string }

// UserCache returns the cache inside the user's cache folder.
func UserCache() (Cache, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return Cache{}, fmt.Errorf("the user's cache folder, where servers are installed, is not known: %w; set HOME to your home folder", err)
	}
	return Cache{Dir: filepath.Join(dir, "quorumbench", "servers")}, nil
}

// Update describes the progress of an installation.
type Update struct {
	Step   string // the current step, such as "compiling"; changes a few times
	Detail string // progress within the step, such as "120 of 450 packages"; changes often
}

// folderName returns the name of the source's folder inside the cache.
func folderName(s store.ServerSource) string { return s.Store + "-" + s.Version }
