//go:build !linux

package nullserver

import "time"

// systemClock waits on a timer of the runtime's, which may be a millisecond
// late.
type systemClock struct {
	start time.Time
	timer *time.Timer
}

func newClock() (clock, error) {
	c := &systemClock{start: time.Now(), timer: time.NewTimer(time.Hour)}
	c.timer.Stop()
	return c, nil
}

func (c *systemClock) now() int64 { return int64(time.Since(c.start)) }

func (c *systemClock) arm(at int64) { c.timer.Reset(time.Duration(max(at-c.now(), 0))) }

func (c *systemClock) wait() { <-c.timer.C }

func (c *systemClock) close() { c.timer.Stop() }
