package host

import "time"

// Drift is the greatest rate at which two clocks that are not set drift apart: each crystal
// is accurate to 50 ppm.
const Drift = 100e-6

// Clock estimates how far a host's clock is ahead of our clock, from an exchange of
// timestamps.
type Clock struct {
	// Ahead is the estimate, which is wrong by at most Bound: half the round trip of the
	// exchange, all of which may have been spent in one direction.
	Ahead, Bound time.Duration
	At           time.Time // when the estimate was made, by our clock
	// Moved is how far Ahead is from the first estimate. Jumps counts how often the clocks
	// moved against each other by more than their bounds and Drift allow, so that one must
	// have been set. Set is the sum of these moves.
	Moved, Set time.Duration
	Jumps      int
}

// Within returns the error bound of Ahead at a time of our clock. The bound grows with the
// time since the last comparison, because clocks drift.
func (c *Clock) Within(at time.Time) time.Duration {
	return c.Bound + time.Duration(Drift*float64(at.Sub(c.At).Abs()))
}

// Clocked is implemented by a Host with a different clock. The host has already converted
// all times that it returns to our clock.
type Clocked interface {
	// Clock returns the latest estimate of the host's clock.
	Clock() Clock
}
