package install

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
)

// lockPause is the time between two attempts to acquire a lock.
const lockPause = 100 * time.Millisecond

// lock acquires the lock on a file. It waits while another process, or another caller in this
// process, holds the lock. The lock is released when the process that holds it ends. If lock must
// wait, it first calls the function `waiting` once.
func lock(ctx context.Context, path string, waiting func()) (unlock func(), err error) {
	ticker := time.NewTicker(lockPause)
	defer ticker.Stop()
	for first := true; ; first = false {
		f, err := fileutil.TryLockFile(path, os.O_RDWR|os.O_CREATE, 0o644)
		var unopened *fs.PathError
		switch {
		case err == nil:
			return func() { _ = f.Close() }, nil // closing releases the lock
		case errors.As(err, &unopened):
			return nil, fmt.Errorf("cannot open the lock file of an installation: %w", unopened)
		case !errors.Is(err, fileutil.ErrLocked):
			return nil, fmt.Errorf("cannot lock %s: %w", path, err)
		}
		if first {
			waiting()
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-ticker.C:
		}
	}
}
