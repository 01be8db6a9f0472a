package measure

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/quorumbench/quorumbench/internal/kv"
)

// Handover is the name of a span in an application that elects a leader. The span starts at the
// time at which the current holder should resign, and ends when another client has become the
// holder. Failover is the name of the span that starts at the time at which the holder should
// crash. In the table of calls, a column shows the number of calls in each of these spans.
const (
	Handover = "handover"
	Failover = "failover"
)

// Calls holds the measurements for one kind of call that an application makes, in the measurement
// window.
type Calls struct {
	Name     string // such as "create pod"
	Kind     kv.Kind
	Level    kv.Consistency
	Due      uint64 // number of calls due in the window, including unsent calls
	Outcomes [kv.NumOutcomes]uint64
	Response *Histogram // times of the successes in nanoseconds
	Service  *Histogram
	// Limit is the longest response time that the application tolerates, in nanoseconds. 0 means
	// that there is no limit. Late is the number of calls that exceeded the limit or failed.
	Limit int64
	Late  uint64
	// IsSpan is set if Calls describes not a kind of call but spans of time that consist of several
	// calls, such as periods without a leader. The sum of all calls does not include spans.
	IsSpan bool
	// HandoverCalls is the number of successful calls that belong to handovers. FailoverCalls is
	// the number of successful calls that belong to failovers. Neither number includes the calls
	// before the first span.
	HandoverCalls uint64
	FailoverCalls uint64
}

// NewCalls returns empty measurements for a kind of call.
func NewCalls(name string, kind kv.Kind, level kv.Consistency) Calls {
	return Calls{Name: name, Kind: kind, Level: level, Response: NewHistogram(), Service: NewHistogram()}
}

// CountEnded counts a call that has ended. The times are in nanoseconds.
func (c *Calls) CountEnded(o kv.Outcome, response, service int64) {
	if c.Limit > 0 && (response > c.Limit || o.Failed()) {
		c.Late++
	}
	if c.Outcomes[o]++; !o.Failed() {
		Record(c.Response, response)
		Record(c.Service, service)
	}
}

// DropUnstarted adjusts Due after the window was interrupted: calls that had not started by the
// time of the interruption count as not due. (Some calls became due just before the interruption
// and had to wait. They are counted only in the totals of the load.)
func (c *Calls) DropUnstarted() {
	c.Due = 0
	for _, n := range c.Outcomes {
		c.Due += n
	}
}

// Done returns the number of calls that succeeded.
func (c *Calls) Done() (n uint64) {
	for o := range kv.NotSent {
		n += c.Outcomes[o]
	}
	return n
}

// Failed returns the number of due calls that did not succeed, including calls that were not sent.
func (c *Calls) Failed() uint64 { return c.Due - min(c.Done(), c.Due) }

// LateOrFailed returns the number of calls that exceeded Limit, failed, or were never started. It
// returns 0 if there is no Limit.
func (c *Calls) LateOrFailed() uint64 {
	if c.Limit == 0 {
		return 0
	}
	ended := uint64(0)
	for _, n := range c.Outcomes {
		ended += n
	}
	return c.Late + c.Due - min(ended, c.Due)
}

// callsJSON is the form in which Calls are sent to another machine.
type callsJSON struct {
	Name          string         `json:"name"`
	Kind          kv.Kind        `json:"kind"`
	Level         kv.Consistency `json:"level"`
	Due           uint64         `json:"due"`
	Outcomes      []uint64       `json:"outcomes"`
	Response      []byte         `json:"response"`
	Service       []byte         `json:"service"`
	Bound         int64          `json:"bound,omitempty"`
	Late          uint64         `json:"late,omitempty"`
	Span          bool           `json:"span,omitempty"`
	Spanned       uint64         `json:"spanned,omitempty"`
	FailoverCalls uint64         `json:"spanned_by_failovers,omitempty"`
}

// MarshalJSON encodes the measurements for another machine.
func (c Calls) MarshalJSON() ([]byte, error) {
	return json.Marshal(callsJSON{c.Name, c.Kind, c.Level, c.Due, c.Outcomes[:], AppendHistogram(nil, c.Response), AppendHistogram(nil, c.Service), c.Limit, c.Late, c.IsSpan, c.HandoverCalls, c.FailoverCalls})
}

// MaxCallKinds is the maximum number of kinds of calls that an application may have.
const MaxCallKinds = 256

// UnmarshalJSON decodes and checks what MarshalJSON encoded.
func (c *Calls) UnmarshalJSON(b []byte) (err error) {
	var w callsJSON
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	*c = Calls{Name: w.Name, Kind: w.Kind, Level: w.Level, Due: w.Due, Limit: w.Bound, Late: w.Late, IsSpan: w.Span, HandoverCalls: w.Spanned, FailoverCalls: w.FailoverCalls}
	if w.Bound < 0 || w.Late > w.Due || w.Spanned > w.Due || w.FailoverCalls > w.Due-w.Spanned || w.Kind >= kv.NumKinds || w.Level >= kv.NumConsistencies || len(w.Outcomes) != int(kv.NumOutcomes) {
		return errors.New("the measurements of calls contain an unknown kind or outcome, or impossible counts")
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
			return fmt.Errorf("more %q calls ended than were due", c.Name)
		}
		sum += n
	}
	if done := c.Done(); uint64(c.Response.TotalCount()) != done || uint64(c.Service.TotalCount()) != done {
		return fmt.Errorf("%d %q calls succeeded, but the number of their recorded times is different", done, c.Name)
	}
	return nil
}
