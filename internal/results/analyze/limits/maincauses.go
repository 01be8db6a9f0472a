package limits

import (
	"fmt"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/text"
)

// CauseClients is the kind of cause for a closed loop whose throughput is limited by its number of
// clients.
const CauseClients = "number of clients"

// MainCauses returns the causes that limited a trial's throughput, in the order of Limits.Causes.
// If no resource of a closed loop reached its limit, the cause is the number of clients. A closed
// loop without a known mean time may have no cause. An open loop has no cause if it is neither slow
// (isSlow) nor suspect.
//
// MainCauses returns only the worst cause of each kind. For each of these causes, `more` contains
// the number of other causes of the same kind. All output formats report exactly the returned
// causes.
func (l *Limits) MainCauses() (causes []Cause, more []int) {
	t := l.Trial
	if causes, more = l.worstPerKind(); len(causes) > 0 || t.Open() {
		return causes, more
	}
	// A leader change, or a single pause of the load generator, does not limit a trial with short
	// response times.
	once := func(c *Cause) bool { return c.Kind == CauseElection || c.Kind == CauseGenerator && c.Unit == "s" }
	if causes, more = worstOfKinds(l.Causes, func(c *Cause) bool { return once(c) && !isSlow(t) }); len(causes) > 0 {
		return causes, more
	}
	if c, ok := clientsBound(t); ok {
		return []Cause{c}, []int{0}
	}
	return nil, nil
}

// clientsBound applies Little's law (1961): N clients whose operations take W on average complete
// at most N/W operations per second.
func clientsBound(t *record.Trial) (Cause, bool) {
	mean := t.Headline().Mean
	if !analyze.HasFigures(t) || t.Open() || t.Clients <= 0 || !mean.Known || mean.NS <= 0 {
		return Cause{}, false
	}
	each := "with a mean time of %s complete"
	if t.Clients == 1 {
		each = "with a mean time of %s completes"
	}
	return Cause{Kind: CauseClients, Figure: float64(t.Clients),
		Text: fmt.Sprintf("%s "+each+" at most %s (Little's law)",
			text.Plural(uint64(t.Clients), "client"), text.Duration(mean.NS), text.PerSecond(float64(t.Clients)/mean.NS*1e9))}, true
}
