package record

import "github.com/quorumbench/quorumbench/internal/measure"

// The record contains these measurements as they are. The verdict's rules judge the same values.
type (
	ByHost       = measure.Host
	Clock        = measure.Clock
	ClockReading = measure.ClockReading
	Durability   = measure.Durability
)
