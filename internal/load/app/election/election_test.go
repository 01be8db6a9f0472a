package election

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/scenario/application"
)

func settings(of map[string]float64) application.Settings {
	d := Application{}.Definition()
	s := d.Defaults()
	for k, v := range of {
		s[k] = v
	}
	return s
}

// The number of resignations agrees with the profile within 1 %. No resignation is due before an
// office can have a leader. The schedule contains one first attempt (Stand) for each candidate.
func TestScheduleMatchesTheProfile(t *testing.T) {
	for _, app := range []Application{{}, {Queue: true}} {
		for _, of := range []map[string]float64{nil, {electionsKey: 300, candidatesKey: 2, tenureKey: 1}, {electionsKey: 1, tenureKey: 0.1}} {
			s := settings(of)
			const length = 10 * time.Minute
			c := NewConfig(s, 3)
			line := NewSchedule(c, app.Way(0), length)
			want := app.Profile(s, 0).Calls[Resign].PerSecond * length.Seconds()
			if got := line.CountByKind()[Resign]; math.Abs(float64(got)-want) > 0.01*want {
				t.Errorf("%v: %d resignations in %v, want %.0f", of, got, length, want)
			}
			stood := make([]int, c.CandidateCount())
			for i, e := range line.Entries {
				switch {
				case e.Call == Stand:
					stood[e.Index]++
				case line.Due[i] < int64(firstResignation) || int(e.Index) >= c.Offices:
					t.Fatalf("%v: the call %+v must not be due at %d", of, e, line.Due[i])
				}
			}
			for i, n := range stood {
				if n != 1 {
					t.Fatalf("%v: candidate %d stands %d times at the start, want 1", of, i, n)
				}
			}
		}
	}
}

// Every call that a way makes has a name. Candidates' names can be parsed.
func TestWaysNameTheirCalls(t *testing.T) {
	for _, app := range []Application{{}, {Queue: true}} {
		d := app.Definition()
		for way := range d.Ways {
			w := app.Way(way)
			for call, n := range w.CallsPerHandover(5) {
				if n > 0 && w.Shapes[call].Name == "" {
					t.Errorf("%s: call %d has no name", d.Ways[way].Name, call)
				}
			}
		}
	}
	for _, n := range []int{0, 12, 49_999} {
		if got, run, ok := ParseCandidate(AppendCandidate(nil, n, 0xfedcba98)); !ok || got != n || run != 0xfedcba98 {
			t.Errorf("candidate %d is read as %d", n, got)
		}
	}
	for _, name := range []string{"", "c000001", "c00001-00000000", "d000001-00000000", "c00000x-00000000", "c000001-0000000x", "c000001 00000000"} {
		if _, _, ok := ParseCandidate([]byte(name)); ok {
			t.Errorf("%q is accepted as a candidate", name)
		}
	}
}

func TestRefusesImpossibleSettings(t *testing.T) {
	for want, of := range map[string][]map[string]float64{
		"":           {nil, {failoversKey: 20, ttlKey: 10}, {ttlKey: 40}},
		electionsKey: {{electionsKey: 10_000, candidatesKey: 6}},
		failoversKey: {{failoversKey: 21}},
		ttlKey:       {{ttlKey: 9}, {ttlKey: 10.5}, {ttlKey: 0.001}},
	} {
		for _, of := range of {
			if got, why := (Application{}).Check(settings(of)); got != want || (why != "") != (want != "") {
				t.Errorf("settings %v: Check returned the key %s and the reason %s", of, got, why)
			}
		}
	}
}

// Leaders die only if the window is long enough for the whole failover. If the window is too short,
// the error names the minimum length. Each leader that dies has kept its session alive before its
// death. The office of a dead leader has no resignations from shortly before the death until the
// last dead leader has returned.
func TestWindowContainsTheFailover(t *testing.T) {
	for _, app := range []Application{{}, {Queue: true}} {
		for way := range app.Definition().Ways {
			w := app.Way(way)
			s := settings(map[string]float64{failoversKey: 5, ttlKey: 12, tenureKey: 1})
			c := NewConfig(s, 3)
			least := c.minWindow(w)
			if part := least % time.Second; part > 0 {
				least += time.Second - part
			}
			_, short := app.CheckWindow(s, way, least-time.Second)
			_, fine := app.CheckWindow(s, way, least)
			if !strings.Contains(short, "at least "+least.String()) || fine != "" || c.LeaderDeath(w, least-time.Second) != 0 {
				t.Errorf("%s: too short: %q; %v: %q", w.Name, short, least, fine)
			}
			lives, every := w.KeepAlive(&c)
			for _, length := range []time.Duration{least, 5 * least} {
				dies := c.LeaderDeath(w, length)
				over := dies + lives + w.MaxVacancy(lives) + ReturnDelay
				if dies < firstResignation+every || over+time.Second > length || lives != 12*time.Second {
					t.Errorf("%s: in a window of %v leaders die at %v, with sessions of %v", w.Name, length, dies, lives)
				}
				line, after := NewSchedule(c, w, length), 0
				for i, e := range line.Entries {
					at := time.Duration(line.Due[i])
					if e.Call == Resign && e.Index < 5 && at >= dies-firstResignation && at < over {
						t.Errorf("%s: an office whose leader dies at %v has a resignation at %v", w.Name, dies, at)
					} else if e.Call == Resign && e.Index < 5 && at > over {
						after++
					}
				}
				if length > least && after < 5 {
					t.Errorf("%s: %d resignations after the failovers", w.Name, after)
				}
			}
			calm := NewConfig(settings(nil), 3)
			if _, every := w.KeepAlive(&calm); (every == 0) != w.SessionPerConnection {
				t.Errorf("%s: without deaths a session is kept alive every %v", w.Name, every)
			}
		}
	}
}
