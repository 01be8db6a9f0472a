//go:build !linux

package null

import "time"

// systemClock waits on a timer of the Go runtime, which may be a millisecond
// late.
type systemClock struct {
	start time.Time
	timer *time.Timer
}

// NewClock returns a clock that starts at 0 now.
func NewClock() (Clock, error) {
	c := &systemClock{start: time.Now(), timer: time.NewTimer(time.Hour)}
	c.timer.Stop()
	return c, nil
}

func (c *systemClock) Now() int64 { return int64(time.Since(c.start)) }

func (c *systemClock) Arm(at int64) { c.timer.Reset(time.Duration(max(at-c.Now(), 0))) }

func (c *systemClock) Wait() { <-c.timer.C }

func (c *systemClock) Close() { c.timer.Stop() }
