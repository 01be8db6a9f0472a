package trial

import (
	"fmt"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/host"
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

// clockSet is the kind of event of a clock that was set.
const clockSet = "clock_set"

// moved is how often a clock was set, and by how much in all.
type moved struct {
	jumps int
	by    time.Duration
}

// ownClock is what was seen of the wall clock of the machine that we run on.
type ownClock struct {
	is    *host.Own // nil: nobody looks
	seen  bool
	first moved // when the trial began
	last  moved
}

// now is the time by the run's clock.
func (s *sampler) now() time.Time {
	if s.own.is == nil {
		return time.Now()
	}
	return s.own.is.Now()
}

// look looks at our own wall clock. It was set since the last time by what is returned.
func (o *ownClock) look() (by time.Duration, set bool) {
	if o.is == nil {
		return 0, false
	}
	c := o.is.Clock()
	is := moved{c.Jumps, c.Set}
	if !o.seen {
		o.seen, o.first, o.last = true, is, is
	}
	by, set = is.by-o.last.by, is.jumps != o.last.jumps
	o.last = is
	return by, set
}

// record is what the trial has of it; nil where it was not set.
func (o *ownClock) record() *record.OwnClock {
	if o.last.jumps == o.first.jumps {
		return nil
	}
	return &record.OwnClock{Jumps: o.last.jumps - o.first.jumps, SetNS: int64(o.last.by - o.first.by)}
}

// stood reports whether a clock that another seems to have been set by is ours that
// stood still: the times are by a clock that nobody sets, and does not go on either while
// the machine is suspended. All others are ahead of it then by what our wall clock is.
func (o *ownClock) stood(by, within time.Duration, had moved) bool {
	ours := o.last.by - o.first.by - had.by
	return o.last.jumps-o.first.jumps > had.jumps && (by-ours).Abs() <= within
}

// sameJump is how far two clocks may be set apart for it to be one jump, beside what is
// known of both.
const sameJump = 5 * time.Millisecond

// look notes what is known of the clocks, and returns those that were set since the
// last time.
func (s *sampler) look() (set []record.Event) {
	now := s.now()
	event := func(by time.Duration, format string, args ...any) {
		way := "forward"
		if by < 0 {
			way = "back"
		}
		text := fmt.Sprintf(format, append(args, fmt.Sprintf("%s by %s", way, measure.Duration(float64(by.Abs()))))...)
		set = append(set, record.Event{Time: now, Kind: clockSet, Text: text})
	}
	// Ours first: what made another one seem to be set is seen by then.
	if by, was := s.own.look(); was {
		event(by, "the clock of the machine that conducts the run was set %s, or the machine was suspended")
	}
	for i := range s.sources {
		c, ok := s.sources[i].Host.(host.Clocked)
		if !ok {
			continue
		}
		one := &s.sources[i]
		is := clockSeen{now, c.Clock()}
		is.Jumps, is.Set = is.Jumps-one.meant.jumps, is.Set-one.meant.by
		if n := len(one.clocks); n > 0 && one.clocks[n-1].Jumps != is.Jumps {
			last := &one.clocks[n-1]
			by := is.Set - last.Set
			if s.own.stood(by, sameJump+is.Bound+last.Within(now), one.meant) {
				one.meant = moved{one.meant.jumps + is.Jumps - last.Jumps, one.meant.by + by}
				is.Jumps, is.Set = last.Jumps, last.Set
			} else {
				event(by, "the clock of host %s was set %s, or drifted", one.Name)
			}
		}
		one.clocks = append(one.clocks, is)
	}
	return set
}
