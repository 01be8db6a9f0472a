//go:build !linux

package disk

import (
	"errors"
	"sync/atomic"
)

// disk has no function on this system, because our file system requires Linux.
type disk struct{ faults atomic.Pointer[Faults] }

func mount(string, string) (*disk, error) {
	return nil, errors.New("disk faults require Linux")
}

func (*disk) unmount() error          { return nil }
func (*disk) writeBack() error        { return nil }
func (*disk) powerLoss() (int, error) { return 0, nil }

func unmountStale(string) bool { return false }

// UnmountStaleBelow returns 0, because this system has no such disks.
func UnmountStaleBelow(string) int { return 0 }
