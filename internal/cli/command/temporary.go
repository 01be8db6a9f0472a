package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/run/runner"
)

// TemporaryOut makes a run record into a temporary folder. remove removes the folder and sets *err
// if that fails and *err is nil. Folders that killed commands left are removed first and reported
// with say.
func TemporaryOut(o *runner.Options, say func(string)) (remove func(*error), err error) {
	folder, err := TemporaryFolder(say)
	if err != nil {
		return nil, fmt.Errorf("there is no room for the record; name a folder with --out: %w", err)
	}
	o.Out = filepath.Join(folder.Path(), record.Slug(o.Scenario.Name))
	return func(err *error) {
		if gone := folder.Release(context.Background()); gone != nil && *err == nil {
			*err = fmt.Errorf("the record in %s cannot be removed: %w", o.Out, gone)
		}
	}, nil
}

// sharedMemory is a folder in memory that every container can write to, even if its image contains
// only the quorumbench binary and is read-only.
const sharedMemory = "/dev/shm"

// TemporaryFolder claims a folder in the system's folder for temporary files or, in an image that
// contains only the quorumbench binary, in the working folder or in memory. Folders that killed
// commands left in the same place are removed first and reported with say.
func TemporaryFolder(say func(string)) (host.Claim, error) {
	var errs []error
	for _, in := range []string{os.TempDir(), ".", sharedMemory} {
		if _, err := os.Stat(in); err != nil {
			errs = append(errs, err)
			continue
		}
		folder, err := ClaimFolder(in, say)
		if err == nil {
			return folder, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

// ClaimFolder claims a new folder in an existing one. Folders that killed commands left there are
// removed first and reported with say.
func ClaimFolder(in string, say func(string)) (host.Claim, error) {
	left, _ := host.CleanOrphans(in, 1) // the next command tries to remove the rest
	for _, orphan := range left {
		say(orphan.String())
	}
	return host.NewLocal(nil, nil).Claim(context.Background(), in)
}
