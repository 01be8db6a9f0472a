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

// TemporaryOut sets the options so that the run is recorded in a temporary folder. The returned
// function removes the folder. If the removal fails and *err is nil, the function sets *err.
// TemporaryOut first removes folders that killed commands left, and reports them through the
// function `say`.
func TemporaryOut(o *runner.Options, say func(string)) (remove func(*error), err error) {
	folder, err := TemporaryFolder(say)
	if err != nil {
		return nil, fmt.Errorf("cannot create a folder for the record: %w; set TMPDIR to a folder that you can write to", err)
	}
	o.Out = filepath.Join(folder.Path(), record.Slug(o.Scenario.Name))
	return func(err *error) {
		if gone := folder.Release(context.Background()); gone != nil && *err == nil {
			*err = fmt.Errorf("cannot remove the record in %s: %w", o.Out, gone)
		}
	}, nil
}

// sharedMemory is a folder in memory. Every container can write to it, even if the image is
// read-only and contains only the quorumbench binary.
const sharedMemory = "/dev/shm"

// TemporaryFolder creates and claims a folder among the system's temporary files. An image that
// contains only the quorumbench binary has no folder for temporary files. In this case, the new
// folder is in the working folder or in memory. TemporaryFolder first removes folders that killed
// commands left in the same place, and reports them through the function `say`.
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

// ClaimFolder creates and claims a folder inside an existing folder. It first removes folders that
// killed commands left in the existing folder, and reports them through the function `say`.
func ClaimFolder(parent string, say func(string)) (host.Claim, error) {
	left, _ := host.CleanOrphans(parent, 1) // the next command tries again to remove the rest
	for _, orphan := range left {
		say(orphan.String())
	}
	return host.NewLocal(nil, nil).Claim(context.Background(), parent)
}
