package record

import (
	"fmt"
	"slices"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// Requirement is what a trial must have for a figure to be one of it.
type Requirement struct {
	of  string // what the figure is of
	Has func(*Conditions) bool
	// lacking ends the sentence about trials that do not have it; empty for one
	// that names them.
	lacking string
}

var (
	openLoop = &Requirement{of: "an open loop", Has: (*Conditions).Open, lacking: "no such trial is one"}
	watchers = &Requirement{of: "watchers", Has: func(c *Conditions) bool { return c.Watch != nil }}
	// timedEvents are those of the load's own writes.
	timedEvents = &Requirement{of: "events of watched writes", Has: func(c *Conditions) bool { return c.Watch != nil && len(c.Watch.Key) == 0 }}
	stmWrites   = &Requirement{of: kv.STM.String() + " operations", Has: func(c *Conditions) bool { return c.STM != nil }}
	manyKeys    = &Requirement{of: "operations that can read several keys", Has: func(c *Conditions) bool {
		return slices.ContainsFunc(c.Mix, func(o scenario.Operation) bool {
			return o.Kind == kv.Range || o.Kind == kv.TxnGet
		})
	}}
)

// Applies reports whether a trial of these conditions can have the figure.
func (f *Figure) Applies(c *Conditions) bool { return f.Requires == nil || f.Requires.Has(c) }

// OfWatch reports whether the figure is of what watchers get.
func (f *Figure) OfWatch() bool { return f.Requires == watchers || f.Requires == timedEvents }

// Refused says that none of the trials named has what the figure needs.
func (f *Figure) Refused(trials []string) string {
	why := f.Requires.lacking
	switch {
	case why != "":
	case len(trials) == 1:
		why = fmt.Sprintf("the trial %s has none", trials[0])
	default:
		why = fmt.Sprintf("none of the %d trials has any, of which the first is %s", len(trials), trials[0])
	}
	return fmt.Sprintf("%s is of %s, and %s", f.Name, f.Requires.of, why)
}
