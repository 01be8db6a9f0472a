package analyze

import (
	"fmt"
	"slices"

	"github.com/quorumbench/quorumbench/internal/readable"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// CauseClients is the number of clients of a closed loop.
const CauseClients = "number of clients"

// Bounds are what a trial's throughput came up against, the first first. A
// closed loop always comes up against something: where nothing that was recorded
// reached its limit, it is the number of its clients. An open loop that kept its
// rate and was quick came up against nothing.
func Bounds(t *record.Trial) []Cause {
	l := WhatLimited(t)
	if causes, _ := l.Worst(); len(causes) > 0 || t.Open() {
		return causes
	}
	// A leader change is no bound of a trial that was quick.
	causes := slices.DeleteFunc(l.Causes, func(c Cause) bool { return c.What == CauseElection && !Slow(t) })
	if len(causes) > 0 {
		return causes
	}
	if c, ok := clientsBound(t); ok {
		return []Cause{c}
	}
	return nil
}

// clientsBound is Little's law (1961): N clients that each wait for a time W on
// average make N/W operations a second, and no more.
func clientsBound(t *record.Trial) (Cause, bool) {
	mean := t.Headline().Mean
	if !Measured(t) || t.Open() || t.Clients <= 0 || !mean.Known || mean.NS <= 0 {
		return Cause{}, false
	}
	return Cause{What: CauseClients, Figure: float64(t.Clients),
		Text: fmt.Sprintf("%s that each wait %s on average make at most %s (Little's law), and nothing that was recorded reached its limit",
			readable.Plural(uint64(t.Clients), "client"), readable.Duration(mean.NS), readable.PerSecond(float64(t.Clients)/mean.NS*1e9))}, true
}
