package load

import (
	"errors"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
)

// If the preparation failed because the store ran out of space, the error reports this reason, even
// if other operations lost their connections. If no operation failed for this reason, the error
// does not report it.
func TestUnwrittenReportsNoSpaceFirst(t *testing.T) {
	t.Parallel()
	var totals measure.Totals
	if err := describeUnwritten(&totals, 10); err != nil {
		t.Error(err)
	}
	totals.Outcomes[kv.ConnectionLost] = 3
	var full *NoSpaceError
	if err := describeUnwritten(&totals, 10); err == nil || errors.As(err, &full) {
		t.Errorf("the error for lost connections is %v, want an error that is not a NoSpaceError", err)
	}
	totals.Outcomes[kv.NoSpace] = 2
	if err := describeUnwritten(&totals, 10); !errors.As(err, &full) {
		t.Errorf("the error for a full store is %v, want a NoSpaceError", err)
	}
}
