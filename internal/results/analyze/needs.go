package analyze

import (
	"fmt"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// need is what a trial must have for a metric to be one of it.
type need struct {
	of  string // what the metric is of
	has func(*record.Conditions) bool
	// lacking ends the sentence about trials that do not have it; empty for one
	// that names them.
	lacking string
}

func openLoop() *need {
	return &need{of: "an open loop", has: (*record.Conditions).Open, lacking: "no such trial is one"}
}

func watchers() *need {
	return &need{of: "watchers", has: func(c *record.Conditions) bool { return c.Watch != nil }}
}

// timedEvents are those of the load's own writes.
func timedEvents() *need {
	return &need{of: "events of watched writes", has: func(c *record.Conditions) bool { return c.Watch != nil && len(c.Watch.Key) == 0 }}
}

func transactions() *need {
	return &need{of: kv.STM.String() + " operations", has: func(c *record.Conditions) bool { return c.STM != nil }}
}

// refused says that none of the trials named has what the metric needs.
func (n *need) refused(metric string, trials []string) string {
	why := n.lacking
	switch {
	case why != "":
	case len(trials) == 1:
		why = fmt.Sprintf("the trial %s has none", trials[0])
	default:
		why = fmt.Sprintf("none of the %d trials has any, of which the first is %s", len(trials), trials[0])
	}
	return fmt.Sprintf("%s is of %s, and %s", metric, n.of, why)
}

// population is what a distribution is made of, for sentences.
type population struct {
	many   string // operations
	none   string // why there is no figure at all
	failed string // what counts as slower than the rest
}

func ofOperations() population {
	return population{"operations", "no operation was due", "a failed operation, which is slower than any success"}
}

func ofEvents() population {
	return population{"events", "no event came", "a lost event, which counts as slower than any that came"}
}

func ofWatchers() population {
	return population{"watchers", "no watcher was created", ""}
}
