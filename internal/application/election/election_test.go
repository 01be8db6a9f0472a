package election

import (
	"math"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/application"
)

func settings(of map[string]float64) application.Settings {
	d := Application{}.Definition()
	s := d.Defaults()
	for k, v := range of {
		s[k] = v
	}
	return s
}

// As many leaders are to resign as the profile says, within 1 %, none before somebody can
// lead, and each candidate stands once.
func TestScheduleIsTheProfile(t *testing.T) {
	for _, app := range []Application{{}, {Queue: true}} {
		for _, of := range []map[string]float64{nil, {electionsKey: 300, candidatesKey: 2, tenureKey: 1}, {electionsKey: 1, tenureKey: 0.1}} {
			s := settings(of)
			const length = 10 * time.Minute
			c := ConfigOf(s, 3)
			line := NewSchedule(c, 20*time.Second, length)
			want := app.Profile(s, 0).Calls[Resign].PerSecond * length.Seconds()
			if got := line.Kinds()[Resign]; math.Abs(float64(got)-want) > 0.01*want {
				t.Errorf("%v: %d resignations in %v, want %.0f", of, got, length, want)
			}
			if got, want := float64(line.Kinds()[Renew]), float64(c.All())*length.Seconds()/20; math.Abs(got-want) > 0.01*want {
				t.Errorf("%v: %v renewals, want %v", of, got, want)
			}
			stood := make([]int, c.All())
			for i, e := range line.Entries {
				switch {
				case e.Call == Stand:
					stood[e.Of]++
				case e.Call == Renew:
				case line.Due[i] < int64(settled) || int(e.Of) >= c.Offices:
					t.Fatalf("%v: %+v at %d", of, e, line.Due[i])
				}
			}
			for i, n := range stood {
				if n != 1 {
					t.Fatalf("%v: candidate %d stands %d times at first", of, i, n)
				}
			}
		}
	}
}

// A way names each call that it makes, and the names of candidates are read as written.
func TestWaysNameTheirCalls(t *testing.T) {
	for _, app := range []Application{{}, {Queue: true}} {
		d := app.Definition()
		for way := range d.Ways {
			w := app.Way(way)
			for call, n := range w.PerHandover(5) {
				if n > 0 && w.Shapes[call].Name == "" {
					t.Errorf("%s: call %d has no name", d.Ways[way].Name, call)
				}
			}
		}
	}
	for _, n := range []int{0, 12, 49_999} {
		if got, run, ok := Candidate(AppendCandidate(nil, n, 0xfedcba98)); !ok || got != n || run != 0xfedcba98 {
			t.Errorf("candidate %d is read as %d", n, got)
		}
	}
	for _, name := range []string{"", "c000001", "c00001-00000000", "d000001-00000000", "c00000x-00000000", "c000001-0000000x", "c000001 00000000"} {
		if _, _, ok := Candidate([]byte(name)); ok {
			t.Errorf("%q is a candidate", name)
		}
	}
}

func TestSettingsThatCannotBe(t *testing.T) {
	for want, of := range map[string]map[string]float64{"": nil, electionsKey: {electionsKey: 10_000, candidatesKey: 6}} {
		if got, why := (Application{}).Check(settings(of)); got != want || (why != "") != (want != "") {
			t.Errorf("%v: %s, %s", of, got, why)
		}
	}
}
