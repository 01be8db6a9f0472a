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

// TemporaryOut has a run recorded in a temporary folder. remove removes it, and reports
// that it cannot unless something else went wrong. What killed commands left there is
// removed first, and named.
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

// sharedMemory is a folder that every container can write to, also one whose image
// is our binary alone and cannot be written to. What is there is in memory.
const sharedMemory = "/dev/shm"

// TemporaryFolder claims a folder where temporary files belong. An image of our binary alone
// has no such place: there the folder is in the working folder, or in memory. What killed
// commands left in the same place is removed first, and say takes a sentence about it.
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

// ClaimFolder claims a folder below one that is there. What killed commands left there is
// removed first, and say takes a sentence about it.
func ClaimFolder(in string, say func(string)) (host.Claim, error) {
	left, _ := host.CleanOrphans(in, 1) // what cannot be removed now can be the next time
	for _, orphan := range left {
		say(orphan.String())
	}
	return host.NewLocal(nil, nil).Claim(context.Background(), in)
}
