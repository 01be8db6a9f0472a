//go:build !linux

package null

import "time"

// systemClock waits on a timer of the Go runtime, which may fire a millisecond late.
type systemClock struct {
	start time.Time
	timer *time.Timer
}

// NewClock returns a clock whose time is now 0.
func NewClock() (Clock, error) {
	c := &systemClock{start: time.Now(), timer: time.NewTimer(time.Hour)}
	c.timer.Stop()
	return c, nil
}

func (c *systemClock) Now() int64 { return int64(time.Since(c.start)) }

func (c *systemClock) Arm(at int64) { c.timer.Reset(time.Duration(max(at-c.Now(), 0))) }

func (c *systemClock) Wait() { <-c.timer.C }

func (c *systemClock) Close() { c.timer.Stop() }
