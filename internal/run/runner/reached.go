package runner

import (
	"errors"
	"math/rand/v2"
	"strings"

	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// newHost is the machine that we run on. Where to look for free ports first is
// drawn without the run's seed: two runs at once must not look in one place.
func newHost() *host.Local { return host.NewLocal(measure.Now, rand.IntN).Beside(measure.Ahead) }

// reached is a host of the scenario.
type reached struct {
	scenario.Host
	host   host.Host
	worker func() load.Worker   // makes one there
	leave  func() error         // may be nil
	before *record.ClockReading // of its clock, when it was reached
}

// clock is its clock now; nil where that is ours.
func (h *reached) clock() *host.Clock {
	of, ok := h.host.(host.Clocked)
	if !ok {
		return nil
	}
	return new(of.Clock())
}

// recordedClock is its clock from when it was reached until now.
func (h *reached) recordedClock() *record.Clock {
	now := h.clock()
	if now == nil || h.before == nil {
		return nil
	}
	c := &record.Clock{Before: *h.before, After: reading(now), Jumps: now.Jumps, SetNS: int64(now.Set)}
	c.WidestBoundNS = max(c.Before.BoundNS, c.After.BoundNS)
	return c
}

// reading is a clock at the time at which it was measured.
func reading(c *host.Clock) record.ClockReading {
	return record.ClockReading{At: c.At.UTC(), AheadNS: int64(c.Ahead), BoundNS: int64(c.Bound)}
}

// also adds to an error those of another one that it does not say already: a lost
// agent fails all that is asked of it.
func also(err, more error) error {
	if joined, ok := more.(interface{ Unwrap() []error }); ok {
		for _, one := range joined.Unwrap() {
			err = also(err, one)
		}
		return err
	}
	if more == nil || err != nil && strings.Contains(err.Error(), more.Error()) {
		return err
	}
	return errors.Join(err, more)
}
