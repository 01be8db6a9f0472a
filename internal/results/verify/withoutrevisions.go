package verify

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure/history"
)

// checkWithoutRevisions checks the history of a store that returns no revisions of writes. First,
// it looks for contradictions between the results of the operations, their times, and the revisions
// in the responses to reads. Then, for a sample of the keys, it searches for a valid order of the
// operations on each key.
func (c *checker) checkWithoutRevisions() error {
	for part, includesKey := range c.parts() {
		c.table.reset()
		p := &pass{checker: c, includes: includesKey, byTime: true, first: part == 0, txns: &transactions{}, watchers: newWatchers()}
		p.leases.withoutRevisions = true
		if err := c.forEachOperation(p.takeTimed); err != nil {
			return err
		}
		c.keys(p)
	}
	return c.search()
}

// takeTimed processes an operation for a check by start and end times.
func (p *pass) takeTimed(ord uint32, o *history.Op) {
	switch p.ord = ord; o.Kind {
	case kv.Watch:
		p.checkEventInTime(o)
		return
	case kv.KeepAlive:
		p.processLease(o)
		return
	}
	if role := roleOf(o); role != unchecked && p.includes(o.Key) {
		e := entryOf(o, role, ord, 0)
		if o.Kind == kv.Exists && o.Read != history.Absent {
			e.flags |= keyExists
		}
		if e.revision = o.Invoked; role == read {
			e.revision = o.Done
		}
		e.member = p.member(o)
		p.table.add(o.Key, &e)
	}
}
