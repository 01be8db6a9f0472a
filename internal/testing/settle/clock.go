package settle

import "sync"

// Clock is a timer.Clock whose time stands still until a test advances it.
type Clock struct {
	mu    sync.Mutex
	moved *sync.Cond
	time  int64
	armed int64 // time at which Wait ends; 0 if not armed
}

// NewClock returns a clock that shows 1,000 ns.
func NewClock() *Clock {
	c := &Clock{time: 1_000}
	c.moved = sync.NewCond(&c.mu)
	return c
}

// Now implements timer.Clock.
func (c *Clock) Now() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.time
}

// Arm implements timer.Clock.
func (c *Clock) Arm(at int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.armed = max(at, 1)
	c.moved.Broadcast()
}

// Wait implements timer.Clock.
func (c *Clock) Wait() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.armed == 0 || c.time < c.armed {
		c.moved.Wait()
	}
	c.armed = 0
}

// Close implements timer.Clock.
func (c *Clock) Close() {}

// Advance advances the clock by ns nanoseconds.
func (c *Clock) Advance(ns int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.time += ns
	c.moved.Broadcast()
}
