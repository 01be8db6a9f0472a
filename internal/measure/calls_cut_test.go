package measure

import (
	"encoding/json"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
)

// If a window is interrupted, calls that had not started do not count as failures.
func TestInterruptedCallsAreNotFailures(t *testing.T) {
	c := NewCalls("create pod", kv.CAS, 0)
	c.Due = 1200
	for range 3 {
		c.CountEnded(kv.OK, 10, 5)
	}
	c.CountEnded(kv.NotSent, 10, 0)
	if c.DropUnstarted(); c.Due != 4 || c.Done() != 3 || c.Failed() != 1 {
		t.Errorf("%d calls were due, %d done and %d failed; want 4, 3 and 1", c.Due, c.Done(), c.Failed())
	}
}

// TestCallsWithoutASuccessAreSent covers a kind of call whose calls all failed, or of which none
// was due: its histograms are empty.
func TestCallsWithoutASuccessAreSent(t *testing.T) {
	for _, failed := range []uint64{0, 3} {
		sent := Calls{Name: "put", Due: failed, Response: NewHistogram(), Service: NewHistogram()}
		sent.Outcomes[kv.StoreTimeout] = failed
		b, err := json.Marshal(sent)
		if err != nil {
			t.Fatal(err)
		}
		var received Calls
		if err := json.Unmarshal(b, &received); err != nil {
			t.Fatal(err)
		}
		if received.Outcomes != sent.Outcomes || received.Response.TotalCount() != 0 || received.Service.TotalCount() != 0 {
			t.Errorf("sent %+v, received %+v", sent, received)
		}
	}
}
