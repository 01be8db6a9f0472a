//go:build !linux

package passive

import (
	"errors"
	"time"
)

const blockTimeout = 50 * time.Millisecond

type ring struct{}

func openRing(uint16, int) (*ring, error) {
	return nil, errors.New("packets can be captured only on Linux; record with a relay instead (--listen and --to)")
}

func (*ring) close()                        {}
func (*ring) ready() bool                   { return false }
func (*ring) isFilling() bool               { return false }
func (*ring) wait() error                   { return nil }
func (*ring) setDeadline(time.Time)         {}
func (*ring) read(func([]byte, int, int64)) {}
func (*ring) drops() uint64                 { return 0 }

type priority struct{}

func (*priority) setIdle(bool) {}

// CanRestorePriority returns false, because this system does not support low priority for threads.
func CanRestorePriority() bool { return false }
