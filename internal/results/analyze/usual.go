package analyze

import "time"

// A time that a member reports is unusual if it is at least `unusualFactor` times the median of
// this member's times, and at least minUnusual.
const (
	unusualFactor = 3
	minUnusual    = 5 * time.Millisecond
)
