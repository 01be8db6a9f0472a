package engine

import (
	"testing"

	"github.com/quorumbench/quorumbench/internal/load/engine/poll"
)

// counter is a RunDelayPoller for which the test sets the counter.
type counter struct {
	poll.Poller
	is    int64
	gone  bool
	asked int
}

func (c *counter) RunDelay() (int64, bool) {
	c.asked++
	return c.is, !c.gone
}

// The wait that is reported for a turn is at most the increase of the counter since the reading
// before the turn, no matter when in the turn the test requests the wait. No wait counts in two
// turns.
func TestRunWaitsCountInOneTurn(t *testing.T) {
	c := &counter{is: 7 * secondNS}
	w := &runWaits{}
	now := int64(secondNS)
	w.begin(c, now)
	turn := func(after, waited int64) {
		now += after
		c.is += waited
		w.beginTurn(now)
	}
	ask := func(want int64) {
		t.Helper()
		if got := w.waited(now); got != want {
			t.Errorf("at %d ns the counted wait is %d ns, want %d", now, got, want)
		}
	}
	turn(millisecond, 300_000)
	ask(300_000)
	c.is += 100_000 // within the turn
	ask(300_000)    // the counter was already read in this turn
	turn(millisecond, 0)
	ask(100_000)
	turn(millisecond, 0)
	ask(0)
	turn(millisecond, 200_000) // not read
	turn(millisecond, 50_000)
	ask(250_000)
	for range 10 { // the counter is not read for longer than runWaitInterval
		turn(millisecond, 10_000)
	}
	turn(400*millisecond, 0) // stopped
	if got := w.waited(now); got > 10_000*runWaitInterval/millisecond {
		t.Errorf("a pause counts as %d ns of waiting", got)
	}
	if asked := c.asked; asked > 12 {
		t.Errorf("the counter was read %d times", asked)
	}
	c.gone, c.is = true, 9*secondNS
	turn(millisecond, 0)
	ask(0)
	c.gone = false
	turn(secondNS, secondNS)
	ask(0) // does not read the counter again
	w.end()
	if w.begin(&sim{}, now); w.waited(now) != 0 {
		t.Error("a poller without a counter waited")
	}
}
