package measure

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/quorumbench/quorumbench/internal/kv"
)

// Handover is the name of the span of time from when somebody was to give an office up
// until another has it, and Failover that from when who had it was to die without a word.
// How many calls each took is a column of the table of calls.
const (
	Handover = "handover"
	Failover = "failover"
)

// Calls is what became of one kind of an application's calls in the window.
type Calls struct {
	Name     string // such as "create pod"
	Kind     kv.Kind
	Level    kv.Consistency
	Due      uint64 // in the window, whether they were sent or not
	Outcomes [kv.NumOutcomes]uint64
	Response *Histogram // of those that succeeded, nanoseconds
	Service  *Histogram
	// Bound is within what response time the application needs an answer, in
	// nanoseconds; 0: it does not say. Late counts those that ended later, or failed.
	Bound int64
	Late  uint64
	// Span says that it is no kind of calls, but a span of time that several make, such as
	// how long nobody led: it is no part of all calls.
	Span bool
	// Spanned is how many of those that succeeded belong to the spans that calls make, and
	// not to what came before the first; SpannedByFailovers likewise of failovers.
	Spanned            uint64
	SpannedByFailovers uint64
}

// NewCalls is of a kind of which nothing is known yet.
func NewCalls(name string, kind kv.Kind, level kv.Consistency) Calls {
	return Calls{Name: name, Kind: kind, Level: level, Response: NewHistogram(), Service: NewHistogram()}
}

// Ended counts a call, with its times in nanoseconds.
func (c *Calls) Ended(o kv.Outcome, response, service int64) {
	if c.Bound > 0 && (response > c.Bound || o.Failed()) {
		c.Late++
	}
	if c.Outcomes[o]++; !o.Failed() {
		Record(c.Response, response)
		Record(c.Service, service)
	}
}

// Cut takes that the window was interrupted: what was not taken up until then was not
// due. (What was due just before and waited is in the load's totals alone.)
func (c *Calls) Cut() {
	c.Due = 0
	for _, n := range c.Outcomes {
		c.Due += n
	}
}

// Done is how many succeeded, and Failed how many did not, those among them that were
// never taken up.
func (c *Calls) Done() (n uint64) {
	for o := range kv.NotSent {
		n += c.Outcomes[o]
	}
	return n
}

// Failed is how many of those that were due did not succeed.
func (c *Calls) Failed() uint64 { return c.Due - min(c.Done(), c.Due) }

// Missed is how many ended later than Bound, failed, or were never taken up; 0 without a
// Bound.
func (c *Calls) Missed() uint64 {
	if c.Bound == 0 {
		return 0
	}
	ended := uint64(0)
	for _, n := range c.Outcomes {
		ended += n
	}
	return c.Late + c.Due - min(ended, c.Due)
}

// wiredCalls is how they cross to another machine.
type wiredCalls struct {
	Name     string         `json:"name"`
	Kind     kv.Kind        `json:"kind"`
	Level    kv.Consistency `json:"level"`
	Due      uint64         `json:"due"`
	Outcomes []uint64       `json:"outcomes"`
	Response []byte         `json:"response"`
	Service  []byte         `json:"service"`
	Bound    int64          `json:"bound,omitempty"`
	Late     uint64         `json:"late,omitempty"`
	Span     bool           `json:"span,omitempty"`
	Spanned  uint64         `json:"spanned,omitempty"`
	ByDeaths uint64         `json:"spanned_by_failovers,omitempty"`
}

// MarshalJSON writes them for another machine.
func (c Calls) MarshalJSON() ([]byte, error) {
	return json.Marshal(wiredCalls{c.Name, c.Kind, c.Level, c.Due, c.Outcomes[:], AppendHistogram(nil, c.Response), AppendHistogram(nil, c.Service), c.Bound, c.Late, c.Span, c.Spanned, c.SpannedByFailovers})
}

// MostCallKinds is the most kinds of calls that an application has.
const MostCallKinds = 256

// UnmarshalJSON reads what MarshalJSON wrote, and takes nothing for granted.
func (c *Calls) UnmarshalJSON(b []byte) (err error) {
	var w wiredCalls
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	*c = Calls{Name: w.Name, Kind: w.Kind, Level: w.Level, Due: w.Due, Bound: w.Bound, Late: w.Late, Span: w.Span, Spanned: w.Spanned, SpannedByFailovers: w.ByDeaths}
	if w.Bound < 0 || w.Late > w.Due || w.Spanned > w.Due || w.ByDeaths > w.Due-w.Spanned || w.Kind >= kv.NumKinds || w.Level >= kv.NumConsistencies || len(w.Outcomes) != int(kv.NumOutcomes) {
		return errors.New("calls of a kind, or with an outcome, that does not exist")
	}
	copy(c.Outcomes[:], w.Outcomes)
	if c.Response, err = ReadHistogram(w.Response); err == nil {
		c.Service, err = ReadHistogram(w.Service)
	}
	if err != nil {
		return err
	}
	sum := uint64(0)
	for _, n := range c.Outcomes {
		if n > c.Due-sum {
			return fmt.Errorf("more calls %q ended than were due", c.Name)
		}
		sum += n
	}
	if done := c.Done(); uint64(c.Response.TotalCount()) != done || uint64(c.Service.TotalCount()) != done {
		return fmt.Errorf("%d calls %q succeeded, and others were timed", done, c.Name)
	}
	return nil
}
