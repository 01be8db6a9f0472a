package host

import "time"

// Drift is the greatest rate at which two unadjusted clocks can drift apart: each clock's crystal
// is accurate to 50 ppm.
const Drift = 100e-6

// Clock estimates how far a host's clock is ahead of our clock. The estimate comes from an exchange
// of timestamps.
type Clock struct {
	// Ahead is the estimate. Its error is at most Bound, which is half the round-trip time of the
	// exchange: the whole round trip may have been spent in one direction.
	Ahead, Bound time.Duration
	At           time.Time // time of the estimate on our clock
	// Moved is the difference between Ahead and the first estimate. Jumps counts how often Ahead
	// changed by more than the error bounds and Drift allow, which means that a clock was set.
	// Set is the sum of these changes.
	Moved, Set time.Duration
	Jumps      int
}

// ErrorBound returns the error bound of Ahead at a time on our clock. The bound grows with the
// distance from At, because clocks drift.
func (c *Clock) ErrorBound(at time.Time) time.Duration {
	return c.Bound + time.Duration(Drift*float64(at.Sub(c.At).Abs()))
}

// Clocked is implemented by a Host whose clock differs from ours. All times that the host returns
// are already converted to our clock.
type Clocked interface {
	// Clock returns the latest estimate of the host's clock.
	Clock() Clock
}
