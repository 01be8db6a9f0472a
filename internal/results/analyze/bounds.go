package analyze

import (
	"fmt"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/text"
)

// CauseClients is the number of clients of a closed loop.
const CauseClients = "number of clients"

// Bounds are what a trial's throughput came up against, the first first. A
// closed loop always comes up against something: where nothing that was recorded
// reached its limit, it is the number of its clients. An open loop that kept its
// rate and was quick came up against nothing.
//
// Every format says these of a trial, and nothing else. The causes are the worst of each
// kind; more says how many more findings of that kind there are.
func (l *Limits) Bounds() (causes []Cause, more []int) {
	t := l.Trial
	if causes, more = l.Worst(); len(causes) > 0 || t.Open() {
		return causes, more
	}
	// A leader change, or a time for which the generator stood still once, is no bound of a
	// trial that was quick.
	once := func(c *Cause) bool { return c.What == CauseElection || c.What == CauseTester && c.Unit == "s" }
	if causes, more = worstOfKinds(l.Causes, func(c *Cause) bool { return once(c) && !Slow(t) }); len(causes) > 0 {
		return causes, more
	}
	if c, ok := clientsBound(t); ok {
		return []Cause{c}, []int{0}
	}
	return nil, nil
}

// clientsBound is Little's law (1961): N clients that each wait for a time W on
// average make N/W operations a second, and no more.
func clientsBound(t *record.Trial) (Cause, bool) {
	mean := t.Headline().Mean
	if !Measured(t) || t.Open() || t.Clients <= 0 || !mean.Known || mean.NS <= 0 {
		return Cause{}, false
	}
	each := "that each wait %s on average make"
	if t.Clients == 1 {
		each = "that waits %s on average makes"
	}
	return Cause{What: CauseClients, Figure: float64(t.Clients),
		Text: fmt.Sprintf("%s "+each+" at most %s (Little's law). Nothing that was recorded reached its limit",
			text.Plural(uint64(t.Clients), "client"), text.Duration(mean.NS), text.PerSecond(float64(t.Clients)/mean.NS*1e9))}, true
}
