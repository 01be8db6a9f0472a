package measure

import "time"

// processStart contains the readings of the wall clock and of the monotonic clock at the start of
// the process.
var processStart = time.Now()

// Now returns the current time. Its clock starts with the wall clock's time at the start of the
// process, but does not change when the wall clock is set.
func Now() time.Time { return processStart.Add(time.Since(processStart)) }

// minClockDifference is the smallest reported change of the wall clock. The time between the
// readings of the two clocks can cause smaller differences.
const minClockDifference = time.Millisecond

// WallClockLead returns how far the wall clock is ahead of Now. This is the amount by which the
// wall clock was set forward since the process started. It returns 0 if the difference is less than
// a millisecond.
func WallClockLead() time.Duration {
	return readUntilSteady(func() time.Duration {
		now := time.Now()
		return now.Round(0).Sub(processStart.Round(0)) - now.Sub(processStart)
	})
}

// readUntilSteady reads the difference between two clocks until two readings agree, at most five
// times. A single reading may be wrong because the process may be paused between the readings of
// the two clocks.
func readUntilSteady(read func() time.Duration) (ahead time.Duration) {
	const readings = 4
	ahead = read()
	for range readings {
		if ahead.Abs() < minClockDifference {
			return 0
		}
		again := read()
		if (again - ahead).Abs() < minClockDifference {
			return again
		}
		ahead = again
	}
	return ahead
}
