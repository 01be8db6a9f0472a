package measure

import "time"

// began has both clocks' readings.
var began = time.Now()

// Now is the time. It runs as fast as the machine's clock, and is never set.
func Now() time.Time { return began.Add(time.Since(began)) }

// least is the least by which a clock is said to be set: less than that can pass between
// the readings of two clocks.
const least = time.Millisecond

// Ahead is how far the machine's clock of the day is ahead of this one: by how much it was
// set since the process began. It is 0 for less than a millisecond.
func Ahead() time.Duration {
	return settled(func() time.Duration {
		now := time.Now()
		return now.Round(0).Sub(began.Round(0)) - now.Sub(began)
	})
}

// settled reads how far one clock is ahead of the other until two readings agree, or a
// few times: a process can be stopped between its looks at the two.
func settled(read func() time.Duration) (ahead time.Duration) {
	const readings = 4
	ahead = read()
	for range readings {
		if ahead.Abs() < least {
			return 0
		}
		again := read()
		if (again - ahead).Abs() < least {
			return again
		}
		ahead = again
	}
	return ahead
}
