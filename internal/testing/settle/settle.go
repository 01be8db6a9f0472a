// Package settle supports tests of real time: a machine that stops a test for a while
// exceeds limits that hold at any other time.
package settle

import (
	"fmt"
	"testing"
)

// Reporter is the part of testing.TB that reports failures.
type Reporter interface {
	Helper()
	Errorf(format string, args ...any)
}

// Attempts is the highest number of attempts for a measurement.
const Attempts = 5

// RetryMeasurement repeats a measurement until it is within all its limits, so that they can be as
// strict as on an idle machine: a measurement that never meets them is wrong.
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
