// Package settle is for tests of real time: a machine that stops a test for
// a while breaks a bound that holds at any other time.
package settle

import (
	"fmt"
	"testing"
)

// Reporter is the part of testing.TB that reports what is wrong.
type Reporter interface {
	Helper()
	Errorf(format string, args ...any)
}

// Attempts is how often a measurement is made at most.
const Attempts = 5

// Within makes a measurement again until it keeps all its bounds. They can then
// be as strict as on a machine of one's own: what never keeps them is wrong.
func Within(t testing.TB, measure func(r Reporter)) {
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
