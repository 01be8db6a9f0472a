package trial

import (
	"fmt"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/text"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// clockEstimate is the estimate of a host's clock at a given time according to this process's
// clock.
type clockEstimate struct {
	at time.Time
	host.Clock
}

// reading returns the estimate, extrapolated to another time.
func (c *clockEstimate) reading(at time.Time) measure.ClockReading {
	return measure.ClockReading{At: at.UTC(), AheadNS: int64(c.Ahead), BoundNS: int64(c.ErrorBound(at))}
}

// clockBetween returns the state of a clock in a window, according to the estimates since the trial
// began. It returns nil if no estimates exist.
func clockBetween(seen []clockEstimate, from, to time.Time) *measure.Clock {
	if len(seen) == 0 {
		return nil
	}
	first, last := &seen[0], &seen[0]
	for i := range seen {
		if at := seen[i].at; !at.After(from) {
			first = &seen[i]
		}
		if at := seen[i].at; !at.After(to) {
			last = &seen[i]
		}
	}
	c := &measure.Clock{Before: first.reading(from), After: last.reading(to)}
	c.Jumps, c.ClockChangeNS = seen[len(seen)-1].Jumps-seen[0].Jumps, int64(seen[len(seen)-1].JumpSum-seen[0].JumpSum)
	c.WidestBoundNS = max(c.Before.BoundNS, c.After.BoundNS)
	for i := range seen {
		if at := seen[i].at; at.After(from) && at.Before(to) {
			c.WidestBoundNS = max(c.WidestBoundNS, int64(seen[i].ErrorBound(at)))
		}
	}
	return c
}

// newClockSetEvent returns an event that reports that a clock was set.
func newClockSetEvent(at time.Time, clockOwner string, change time.Duration, fallback string) record.Event {
	way := "forward"
	if change < 0 {
		way = "back"
	}
	return record.Event{Time: at, Kind: clockSet, Text: fmt.Sprintf("the clock of %s was set %s by %s%s", clockOwner, way, text.Duration(float64(change.Abs())), fallback)}
}

// ownClock detects when this machine's clock is set. To do so, it compares this clock with the
// clock that provides the trial's times.
type ownClock struct {
	lastAhead time.Duration // how far this machine's clock was ahead at the last comparison
	verdict.ClockChanges
}

// minClockChange is the smallest change of the clock that is reported.
const minClockChange = time.Millisecond

// detectChange returns by how much the clock was set since the previous call, or 0. The argument
// `ahead` is how far the clock is ahead now.
func (c *ownClock) detectChange(ahead time.Duration) (change time.Duration) {
	if change = ahead - c.lastAhead; change.Abs() < minClockChange {
		return 0
	}
	c.lastAhead = ahead
	c.Count++
	c.ClockChangeNS += int64(change)
	return change
}

// clockSet is the kind of an event that reports that a clock was set.
const clockSet = "clock_set"
