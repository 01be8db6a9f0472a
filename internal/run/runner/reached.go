package runner

import (
	"errors"
	"math/rand/v2"
	"strings"

	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// newHost returns this process's machine as a host. The search for free ports begins at a random
// port that does not depend on the run's seed. Two concurrent runs therefore begin their searches
// at different ports.
func newHost() *host.Local {
	return host.NewLocal(measure.Now, rand.IntN).WithClockAhead(measure.WallClockLead)
}

// connectedHost is a host in the scenario to which the run has connected.
type connectedHost struct {
	scenario.Host
	host       host.Host
	worker     func() load.Worker    // creates a worker on the host
	disconnect func() error          // may be nil
	firstClock *measure.ClockReading // state of the host's clock when the run connected
}

// clock returns the current estimate of the host's clock, or nil if the host uses the clock of this
// process.
func (h *connectedHost) clock() *host.Clock {
	of, ok := h.host.(host.Remote)
	if !ok {
		return nil
	}
	return new(of.Clock())
}

// recordedClock returns two states of the host's clock: the state when the run connected, and the
// current state.
func (h *connectedHost) recordedClock() *measure.Clock {
	now := h.clock()
	if now == nil || h.firstClock == nil {
		return nil
	}
	c := &measure.Clock{Before: *h.firstClock, After: clockReading(now), Jumps: now.Jumps, ClockChangeNS: int64(now.JumpSum)}
	c.WidestBoundNS = max(c.Before.BoundNS, c.After.BoundNS)
	return c
}

// clockReading returns the estimate of a clock at the time when it was measured.
func clockReading(c *host.Clock) measure.ClockReading {
	return measure.ClockReading{At: c.At.UTC(), AheadNS: int64(c.Ahead), BoundNS: int64(c.Bound)}
}

// joinErrors joins err and the errors in more. It omits an error if the text of err already
// contains the text of that error: if an agent is lost, every request to it fails with the same
// error.
func joinErrors(err, more error) error {
	if joined, ok := more.(interface{ Unwrap() []error }); ok {
		for _, one := range joined.Unwrap() {
			err = joinErrors(err, one)
		}
		return err
	}
	if more == nil || err != nil && strings.Contains(err.Error(), more.Error()) {
		return err
	}
	return errors.Join(err, more)
}
