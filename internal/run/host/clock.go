package host

import "time"

// Drift is how far a clock that nobody sets moves away from ours, at most, as a
// share of the time that passes: each of two crystals is good to 50 ppm.
const Drift = 100e-6

// Clock is how far a host's clock is ahead of ours, as an exchange of times said.
type Clock struct {
	// Ahead is the estimate, and the truth was at most Bound away from it: half of
	// the round trip in which it was taken, which the answer may have spent on one way.
	Ahead, Bound time.Duration
	At           time.Time // when it was taken, by our clock
	// Moved is how far Ahead is from the first estimate. Jumps is how often the
	// clocks moved against each other by more than their bounds and Drift allow, and
	// Set by how much in all: one of them was set.
	Moved, Set time.Duration
	Jumps      int
}

// Within is how far the truth can be from Ahead at a time of our clock: clocks
// drift away from each other as long as they are not compared.
func (c *Clock) Within(at time.Time) time.Duration {
	return c.Bound + time.Duration(Drift*float64(at.Sub(c.At).Abs()))
}

// Clocked is a Host whose clock is not ours. All times that it says are in our time
// already.
type Clocked interface {
	// Clock is what is known of its clock now.
	Clock() Clock
}
