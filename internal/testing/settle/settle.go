// Package settle supports tests that measure real time. If the machine interrupts such a test for a
// moment, the test exceeds limits that it would otherwise meet.
package settle

import (
	"fmt"
	"testing"
)

// Reporter contains the methods of testing.TB that report failures.
type Reporter interface {
	Helper()
	Errorf(format string, args ...any)
}

// Attempts is the maximum number of attempts for a measurement.
const Attempts = 5

// RetryMeasurement repeats a measurement until one attempt meets all limits. So the limits can be
// as strict as on an idle machine. If no attempt meets the limits, the test fails.
func RetryMeasurement(t testing.TB, measure func(r Reporter)) {
	t.Helper()
	for n := 1; ; n++ {
		var missed list
		measure(&missed)
		if len(missed) == 0 {
			return
		}
		for _, text := range missed {
			if n == Attempts {
				t.Error(text)
			} else {
				t.Logf("attempt %d: %s", n, text)
			}
		}
		if n == Attempts {
			return
		}
	}
}

type list []string

func (*list) Helper() {}

func (l *list) Errorf(format string, args ...any) { *l = append(*l, fmt.Sprintf(format, args...)) }
