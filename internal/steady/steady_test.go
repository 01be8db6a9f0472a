package steady

import (
	"testing"
	"time"
)

// As long as nobody sets the machine's clock, both say the same.
func TestTheTimeOfDay(t *testing.T) {
	before := time.Now()
	is := Now()
	if is.Before(before) || is.After(time.Now()) {
		t.Errorf("it is %v, after %v", is, before)
	}
	if is.Round(0).Sub(before.Round(0)) != is.Sub(before) {
		t.Error("a time without its place on the steady clock is another one")
	}
	if ahead := Ahead(); ahead != 0 {
		t.Errorf("a clock that nobody set is %v ahead", ahead)
	}
}

// A reading in whose middle the process was stopped is no clock that was set.
func TestAStopBetweenTwoReadings(t *testing.T) {
	n := 0
	reading := func() time.Time {
		at := time.Now()
		if n++; n == 1 { // the clock of the day was read a second after the other one
			return at.Add(-time.Second).Round(0)
		}
		return at
	}
	if ahead := settled(reading); ahead != 0 {
		t.Errorf("it is %v ahead", ahead)
	}
}
