package measure

import (
	"testing"
	"time"
)

// Now agrees with the machine's clock unless the clock is set.
func TestNowAgreesWithTheWallClock(t *testing.T) {
	before := time.Now()
	is := Now()
	if is.Before(before) || is.After(time.Now()) {
		t.Errorf("Now returned %v, and the time before was %v", is, before)
	}
	if later := Now(); later.Round(0).Sub(is.Round(0)) != later.Sub(is) {
		t.Errorf("the time between %v and %v differs from the time without monotonic readings", is, later)
	}
	if ahead := WallClockLead(); ahead != 0 {
		t.Errorf("WallClockLead of a clock that was not set is %v", ahead)
	}
}

// A pause of the process between the readings of the two clocks is not mistaken for a clock that
// was set. A clock that was set is detected even after such a pause.
func TestAheadIgnoresPausesBetweenReadings(t *testing.T) {
	const us = time.Microsecond
	for _, tt := range []struct {
		readings []time.Duration
		want     time.Duration
	}{
		{[]time.Duration{900 * us}, 0},
		{[]time.Duration{time.Second, 3 * us}, 0},
		{[]time.Duration{time.Hour, time.Hour + us}, time.Hour + us},
		{[]time.Duration{-5 * time.Second, -time.Hour, -time.Hour + us}, -time.Hour + us},
	} {
		n := 0
		got := readUntilSteady(func() time.Duration {
			n++
			return tt.readings[n-1]
		})
		if got != tt.want || n != len(tt.readings) {
			t.Errorf("%v: %v after %d readings, want %v", tt.readings, got, n, tt.want)
		}
	}
}
