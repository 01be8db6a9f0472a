package trial

import (
	"strings"
	"testing"
	"time"
)

// noon is the start time of the elections in these tests.
var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func atSecond(seconds float64) time.Time { return noon.Add(time.Duration(seconds * 1e9)) }

// If a log reports an election, the time in the log is used. The election is counted once, no
// matter which source reports it first.
func TestElectionHasTheTimeOfTheLog(t *testing.T) {
	for name, c := range map[string]struct {
		log, seen election
		once      bool
	}{
		"by its term":           {election{"m2", 5, 0, atSecond(1), time.Time{}}, election{"m2", 5, 4, atSecond(9), atSecond(8)}, true},
		"another term":          {election{"m2", 5, 0, atSecond(1), time.Time{}}, election{"m2", 6, 5, atSecond(1.1), atSecond(0)}, false},
		"by its time":           {election{"m2", 0, 0, atSecond(1), time.Time{}}, election{"m2", 5, 4, atSecond(3), atSecond(0.5)}, true},
		"another member":        {election{"m3", 0, 0, atSecond(1), time.Time{}}, election{"m2", 5, 4, atSecond(1.1), atSecond(0.5)}, false},
		"long before":           {election{"m2", 0, 0, atSecond(1), time.Time{}}, election{"m2", 5, 4, atSecond(9), atSecond(8)}, false},
		"the leader was silent": {election{"m2", 0, 0, atSecond(1), time.Time{}}, election{"m2", 5, 4, atSecond(9), time.Time{}}, true},
	} {
		for _, logFirst := range []bool{true, false} {
			l := &elections{}
			if logFirst {
				l.addLogged(c.log)
			}
			l.add(c.seen)
			if early := l.unlogged(c.seen.at); len(early) > 0 {
				t.Errorf("%s: an election was reported as unlogged before the log had time to report it: %+v", name, early)
			}
			if !logFirst {
				l.addLogged(c.log)
			}
			left := l.unlogged(atSecond(100))
			if c.once != (len(left) == 0) {
				t.Errorf("%s: the elections that no log reports are %+v", name, left)
			}
			want := map[bool]int{true: 1, false: 2}[c.once]
			if got := l.countBetween(atSecond(0), atSecond(20)); got != want {
				t.Errorf("%s: %d elections were counted, want %d", name, got, want)
			}
			if len(l.unlogged(atSecond(200))) > 0 {
				t.Errorf("%s: an unlogged election was reported twice", name)
			}
		}
	}
}

// Only elections in the window are counted. Elections in the warm-up and the drain are not.
func TestElectionsAreCountedInTheWindow(t *testing.T) {
	l := &elections{}
	for _, s := range []float64{1, 2, 3} {
		l.addLogged(election{member: "m1", at: atSecond(s)})
		l.add(election{member: "m2", term: uint64(s), at: atSecond(s + 0.5)})
	}
	l.unlogged(atSecond(100))
	for _, c := range []struct {
		from, to float64
		want     int
	}{{0, 9, 6}, {1, 3.5, 6}, {1.1, 3.4, 4}, {1.6, 1.9, 0}, {4, 9, 0}} {
		if got := l.countBetween(atSecond(c.from), atSecond(c.to)); got != c.want {
			t.Errorf("from %v to %v, %d elections were counted, want %d", c.from, c.to, got, c.want)
		}
	}
}

func TestUnloggedElectionSaysWhenItWasSeen(t *testing.T) {
	e := election{member: "m2", term: 5, before: 4, at: atSecond(1.5)}
	event := e.event()
	if !event.Time.Equal(e.at) || event.Member != "m2" || !strings.HasSuffix(event.Text, "(seen at 12:00:01.500)") {
		t.Errorf("%+v", event)
	}
}
