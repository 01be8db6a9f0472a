package host

import "time"

// Drift is the maximum rate at which two unadjusted clocks drift apart. It is twice the assumed
// accuracy of a clock's crystal, 50 ppm.
const Drift = 100e-6

// Clock estimates how far a host's clock is ahead of our clock. The estimate comes from an exchange
// of timestamps.
type Clock struct {
	// Ahead is the estimate. Its error is at most Bound, which is half the round-trip time of the
	// exchange. The error reaches Bound if the delay in one direction was zero.
	Ahead, Bound time.Duration
	At           time.Time // time of the estimate on our clock
	// ChangeSinceFirst is the difference between Ahead and the first estimate. Jumps is the number
	// of changes of Ahead that the error bounds and Drift do not explain. Each of these changes
	// means that a clock was set. JumpSum is their sum.
	ChangeSinceFirst, JumpSum time.Duration
	Jumps                     int
}

// ErrorBound returns the error bound of Ahead at a given time on our clock. The bound increases
// with the time between At and the given time, because clocks drift.
func (c *Clock) ErrorBound(at time.Time) time.Duration {
	return c.Bound + time.Duration(Drift*float64(at.Sub(c.At).Abs()))
}
