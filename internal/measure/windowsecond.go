package measure

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/quorumbench/quorumbench/internal/kv"
)

// WindowSecond contains the data of one second from which the recovery after faults is computed.
// Its JSON form is a line of slots.jsonl in the folder of a trial with faults.
type WindowSecond struct {
	Index     int          `json:"second"`    // number of the second in the window, from 0
	Completed Milliseconds `json:"completed"` // Second.Alive
	// P99 is the p99 of the response times of the operations that were due in this second, in
	// nanoseconds. It is nil if it is not known. P99Failed is set if the operation at the rank of
	// the p99 failed.
	P99       *float64 `json:"response_p99_ns"`
	P99Failed bool     `json:"response_p99_failed,omitempty"`
	Clients   int      `json:"clients"` // 0 in an open loop
	*SlotDetail
}

// NewWindowSecond selects the data of a second from which the recovery is computed. p99 is the p99
// of the second's response times. The result shares the SlotDetail of s.
func NewWindowSecond(s *Second, p99 Figure) *WindowSecond {
	w := &WindowSecond{Index: s.Index, Completed: s.Alive, P99Failed: p99.Failed, Clients: s.Clients, SlotDetail: s.SlotDetail}
	if p99.Known {
		w.P99 = new(p99.NS)
	}
	return w
}

// p99 returns the p99 of the response times.
func (w *WindowSecond) p99() Figure {
	if w.P99 == nil {
		return Figure{Failed: w.P99Failed}
	}
	return Figure{NS: *w.P99, Known: true, Failed: w.P99Failed}
}

// groupJSON is the JSON form of a Group. Member is in hexadecimal, as in all other files.
type groupJSON struct {
	Operation   string       `json:"operation"`
	Consistency string       `json:"consistency,omitempty"`
	Member      string       `json:"member"`
	Successes   Milliseconds `json:"successes"`
}

// MarshalJSON encodes the group with the names of its operation and consistency.
func (g Group) MarshalJSON() ([]byte, error) {
	return json.Marshal(groupJSON{g.Kind.String(), g.Consistency.String(), strconv.FormatUint(g.Member, 16), g.Alive})
}

// UnmarshalJSON decodes a group. It returns an error if a name or a number is not valid.
func (g *Group) UnmarshalJSON(b []byte) (err error) {
	var t groupJSON
	if err := json.Unmarshal(b, &t); err != nil {
		return err
	}
	*g = Group{Alive: t.Successes}
	if g.Kind, err = kv.ParseKind(t.Operation); err != nil {
		return err
	}
	if t.Consistency != "" {
		if g.Consistency, err = kv.ParseConsistency(t.Consistency); err != nil {
			return err
		}
	}
	if g.Member, err = strconv.ParseUint(t.Member, 16, 64); err != nil {
		return fmt.Errorf("%q is not the hexadecimal number of a member", t.Member)
	}
	return nil
}
