package null

import (
	"fmt"
	"slices"
	"time"
)

// EventFault is what happens to a watch event.
type EventFault uint8

// The faults.
const (
	Sound     EventFault = iota // none
	Lose                        // it is not sent
	Duplicate                   // it is sent twice
	Reorder                     // it is sent behind the next event of its watcher, if one comes
	Postpone                    // it is sent later
)

var eventFaults = []string{"", "lose", "duplicate", "reorder"}

// EventRule gives every Every-th watch event the same fate. Events are counted
// over all watchers: a write with ten watchers is ten.
type EventRule struct {
	Fault EventFault
	By    time.Duration // of Postpone
	Every uint64        // from 1
}

// String returns the rule as Parse reads it.
func (r EventRule) String() string {
	what := r.By.String()
	if r.Fault != Postpone {
		what = eventFaults[r.Fault]
	}
	return fmt.Sprintf("watch=%s every %d", what, r.Every)
}

// DecideEvent says what happens to the n-th watch event, counted from 1, and by
// how much it is late.
func (s *Script) DecideEvent(n uint64) (EventFault, time.Duration) {
	for i := range s.Events {
		if r := &s.Events[i]; n%max(r.Every, 1) == 0 {
			return r.Fault, r.By
		}
	}
	return Sound, 0
}

// event reads =lose, duplicate, reorder or a duration, and how often.
func (p *parser) event() (err error) {
	if err := p.symbol('=', "watch=lose, watch=duplicate, watch=reorder or watch=5ms"); err != nil {
		return err
	}
	begin := p.at
	var r EventRule
	word := p.word("")
	if i := slices.Index(eventFaults, word); i > 0 {
		r.Fault = EventFault(i)
	} else {
		p.at = begin
		r.Fault = Postpone
		if r.By, err = p.duration(""); err != nil {
			return p.fail(begin, "%q is no fault of a watch event; known are lose, duplicate, reorder and a duration such as 5ms", word)
		}
	}
	if r.Every, err = p.count(); err == nil {
		p.script.Events = append(p.script.Events, r)
	}
	return err
}
