package install

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// lockPause is how long the holder of a lock is left alone between two looks.
const lockPause = 100 * time.Millisecond

// errHeld says that somebody else has the lock.
var errHeld = errors.New("the lock is held")

// lock takes the lock that a file is, and waits for whoever holds it: other
// processes, and other callers in this one. It goes with the process that holds
// it. waiting is called once, before the wait.
func lock(ctx context.Context, path string, waiting func()) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("the lock of an installation cannot be opened: %w", err)
	}
	ticker := time.NewTicker(lockPause)
	defer ticker.Stop()
	for first := true; ; first = false {
		err := tryLock(f)
		if err == nil {
			return func() { _ = f.Close() }, nil // which gives the lock up
		}
		if !errors.Is(err, errHeld) {
			return nil, errors.Join(fmt.Errorf("%s cannot be locked: %w", path, err), f.Close())
		}
		if first {
			waiting()
		}
		select {
		case <-ctx.Done():
			_ = f.Close()
			return nil, context.Cause(ctx)
		case <-ticker.C:
		}
	}
}
