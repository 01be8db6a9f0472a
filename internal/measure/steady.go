package measure

import "time"

// began holds readings of the wall clock and of the monotonic clock.
var began = time.Now()

// Now returns the current time on a clock that started with the wall clock's time, and is not
// affected when the wall clock is set.
func Now() time.Time { return began.Add(time.Since(began)) }

// leastDifference is the smallest change of the wall clock that counts. A smaller one can be
// the time between the readings of the two clocks.
const leastDifference = time.Millisecond

// WallClockAhead returns how far the wall clock is ahead of Now, that is, by how much it was set
// since the process started. It returns 0 for less than a millisecond.
func WallClockAhead() time.Duration {
	return readUntilSteady(func() time.Duration {
		now := time.Now()
		return now.Round(0).Sub(began.Round(0)) - now.Sub(began)
	})
}

// readUntilSteady reads the distance of two clocks until two readings agree, at most five times: a
// process can be stopped between reading one clock and the other.
func readUntilSteady(read func() time.Duration) (ahead time.Duration) {
	const readings = 4
	ahead = read()
	for range readings {
		if ahead.Abs() < leastDifference {
			return 0
		}
		again := read()
		if (again - ahead).Abs() < leastDifference {
			return again
		}
		ahead = again
	}
	return ahead
}
