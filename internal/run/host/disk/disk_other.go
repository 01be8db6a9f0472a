//go:build !linux

package disk

import (
	"errors"
	"sync/atomic"
)

// disk cannot be had: file systems of our own need Linux.
type disk struct{ faults atomic.Pointer[Faults] }

func mount(string, string) (*disk, error) {
	return nil, errors.New("disk faults need Linux")
}

func (*disk) unmount() error          { return nil }
func (*disk) writeBack() error        { return nil }
func (*disk) powerLoss() (int, error) { return 0, nil }

func forget(string) bool { return false }

// ForgetBelow unmounts the disks below a folder whose servers have ended: there are none.
func ForgetBelow(string) int { return 0 }
