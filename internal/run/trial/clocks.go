package trial

import (
	"fmt"
	"time"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/text"
)

// clockSeen is what was known of a host's clock at a time of ours.
type clockSeen struct {
	at time.Time
	host.Clock
}

// reading is that at another time.
func (c *clockSeen) reading(at time.Time) record.ClockReading {
	return record.ClockReading{At: at.UTC(), AheadNS: int64(c.Ahead), BoundNS: int64(c.Within(at))}
}

// clockBetween is the clock over a window, of what was seen of it since the trial
// began, at the beginning of the window and later; nil where nothing was.
func clockBetween(seen []clockSeen, from, to time.Time) *record.Clock {
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
	c := &record.Clock{Before: first.reading(from), After: last.reading(to)}
	c.Jumps, c.SetNS = seen[len(seen)-1].Jumps-seen[0].Jumps, int64(seen[len(seen)-1].Set-seen[0].Set)
	c.WidestBoundNS = max(c.Before.BoundNS, c.After.BoundNS)
	for i := range seen {
		if at := seen[i].at; at.After(from) && at.Before(to) {
			c.WidestBoundNS = max(c.WidestBoundNS, int64(seen[i].Within(at)))
		}
	}
	return c
}

// clockWasSet is the event of that.
func clockWasSet(at time.Time, of string, by time.Duration, or string) record.Event {
	way := "forward"
	if by < 0 {
		way = "back"
	}
	return record.Event{Time: at, Kind: clockSet, Text: fmt.Sprintf("the clock of %s was set %s by %s%s", of, way, text.Duration(float64(by.Abs())), or)}
}

// ownClock is this machine's beside what times are told by.
type ownClock struct {
	was time.Duration // by how much it was ahead
	record.ClockSet
}

// leastSet is less than a clock is set by.
const leastSet = time.Millisecond

// look takes by how much it is ahead now, and returns by how much it was set since.
func (c *ownClock) look(is time.Duration) (by time.Duration) {
	if by = is - c.was; by.Abs() < leastSet {
		return 0
	}
	c.was = is
	c.Times++
	c.SetNS += int64(by)
	return by
}

// clockSet is the kind of event of a host's clock that was set.
const clockSet = "clock_set"
