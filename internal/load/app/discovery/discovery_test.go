package discovery

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/load/app"
	"github.com/quorumbench/quorumbench/internal/scenario/application"
)

var (
	membership = Application{}
	catalog    = Application{Catalog: true}
)

// settings returns an application's default settings with the given changes.
func settings(a Application, changes map[string]float64) application.Settings {
	d := a.Definition()
	s := d.Defaults()
	for k, v := range changes {
		s[k] = v
	}
	return s
}

// The number of calls of each kind agrees with the profile within 1 %.
func TestScheduleMatchesTheProfile(t *testing.T) {
	for a, cases := range map[Application][]map[string]float64{
		membership: {nil, {churnKey: 50, usesKey: 3, servicesKey: 40}, {servicesKey: 7, usesKey: 7, clientsKey: 5, churnKey: 20}},
		catalog:    {nil, {churnKey: 10, usesKey: 3, servicesKey: 40}, {servicesKey: 7, usesKey: 7, clientsKey: 5, healthKey: 0.5, churnKey: 1}, {instancesKey: 100, churnKey: 0}},
	} {
		for _, changes := range cases {
			s := settings(a, changes)
			const length = 10 * time.Minute
			want := map[string]float64{}
			for _, c := range a.Profile(s, 0).Calls {
				want[c.Name] = c.PerSecond * length.Seconds()
			}
			for call, n := range newSchedule(newConfig(a.Catalog, s, 3), "", length).countByKind() {
				name, slack := callShapes(a.Catalog)[call].Name, 0.0
				if a.Catalog {
					slack = 1
				}
				w, ok := want[name]
				if ok != (name != "") || math.Abs(float64(n)-w) > 0.01*w+slack {
					t.Errorf("%v: %d calls %q in %v, want %.0f", changes, n, name, length, w)
				}
			}
		}
	}
}

// A window in which a service needs more than a million instance numbers is refused, because the
// keys of its instances would no longer differ.
func TestWindowsHaveEnoughInstanceNumbers(t *testing.T) {
	for _, a := range []Application{membership, catalog} {
		s := settings(a, map[string]float64{servicesKey: 1, usesKey: 1, instancesKey: 100, churnKey: 1000, healthKey: 0})
		if key, why := a.CheckWindow(s, 0, 1000*time.Second); key != churnKey || !strings.Contains(why, "each service 1000100 instances") {
			t.Errorf("catalog %v: CheckWindow returned the key %s and the reason %q, want %s and the number of instances", a.Catalog, key, why, churnKey)
		}
		if _, why := a.CheckWindow(s, 0, 999*time.Second); why != "" {
			t.Errorf("catalog %v: CheckWindow refused a window that needs 999,100 instance numbers: %s", a.Catalog, why)
		}
	}
}

// An instance is added once and removed at most once. It fails only while it exists, and passes
// again before it is removed or fails again. It is read only by clients that use its service.
func TestInstancesComeAndGoOnce(t *testing.T) {
	for a, changes := range map[Application]map[string]float64{
		membership: {servicesKey: 13, churnKey: 31, clientsKey: 17},
		catalog:    {servicesKey: 13, churnKey: 3, healthKey: 2},
	} {
		s := newSchedule(newConfig(a.Catalog, settings(a, changes), 9), "p/", time.Minute)
		added, gone, fails := map[uint32]int64{}, map[uint32]bool{}, map[uint32]bool{}
		for i, e := range s.entries {
			if i > 0 && s.due[i] < s.due[i-1] || s.due[i] < 0 || s.due[i] >= int64(time.Minute) {
				t.Fatalf("call %d is due at %d, before the previous call or outside the load", i, s.due[i])
			}
			at, ok := added[e.object]
			there := (ok || s.existsAtStart(e.object)) && !gone[e.object]
			switch e.call {
			case Register:
				if added[e.object] = s.due[i]; ok || s.existsAtStart(e.object) || e.object >= s.count() {
					t.Fatalf("instance %d is registered twice, or exists at the start, or has a number that is too large", e.object)
				}
			case Deregister:
				if gone[e.object] || fails[e.object] || !a.Catalog && !there {
					t.Fatalf("instance %d is deregistered twice, or while it fails, or before it exists", e.object)
				}
				gone[e.object] = true
			case Fail, Pass:
				if !there || fails[e.object] != (e.call == Pass) {
					t.Fatalf("the call on instance %d does not fit its state: %v", e.object, e.call)
				}
				fails[e.object] = e.call == Fail
			case Compare:
				if !s.existsAtStart(e.object) {
					t.Fatalf("a compare uses the node of instance %d, which does not exist at the start", e.object)
				}
			case Lookup:
				uses := false
				for k := range s.servicesPerClient {
					uses = uses || s.serviceForClient(int(e.client), k) == e.object/s.numbersPerService
				}
				if !ok || s.due[i] < at || !uses {
					t.Fatalf("client %d looks up instance %d, which is not registered yet or belongs to a service that the client does not use", e.client, e.object)
				}
			}
		}
	}
}

// Each instance's key is parsed as that instance's number, and other keys are rejected.
func TestInstanceKeysRoundTrip(t *testing.T) {
	for a, wrong := range map[Application][]string{
		membership: {"", "p/", "p/s000000/i00000x", "q/s000000/i000000", "p/s999999/i000000", "p/s000000/j000000", "p/s000000-i000000"},
		catalog:    {"", "p/", "p/s000000-i00000x", "q/s000000-i000000", "p/s999999-i000000", "p/s000000-j000000", "p/s000000/i000000"},
	} {
		s := newSchedule(newConfig(a.Catalog, settings(a, map[string]float64{servicesKey: 13, churnKey: 3}), 9), "p/", time.Minute)
		for object := range s.count() {
			if got, ok := s.number(s.appendKey(nil, object)); !ok || got != object {
				t.Fatalf("instance %d is read as %d", object, got)
			}
		}
		for _, key := range wrong {
			if _, ok := s.number([]byte(key)); ok {
				t.Errorf("%q is accepted as an instance's key", key)
			}
		}
	}
}

func TestRefusesImpossibleSettings(t *testing.T) {
	for _, a := range []Application{membership, catalog} {
		cases := map[string]map[string]float64{
			"": nil, usesKey: {usesKey: 101}, instancesKey: {servicesKey: 100_000, instancesKey: 100}, clientsKey: {clientsKey: 20_000, usesKey: 100},
		}
		if a.Catalog {
			cases[healthKey] = map[string]float64{churnKey: 100}
		}
		for want, changes := range cases {
			if got, why := a.Check(settings(a, changes)); got != want || (why != "") != (want != "") {
				t.Errorf("settings %v: Check returned the key %s and the reason %s", changes, got, why)
			}
		}
	}
}

// first returns the number of the first call of a given kind, and the call.
func (s *script) first(call Call) (n uint64, e entry) {
	for n, e := range s.schedule.entries {
		if e.call == call {
			return uint64(n), e
		}
	}
	return 0, entry{}
}

func setup(a Application, prefix string, length time.Duration, changes map[string]float64) app.Setup {
	return app.Setup{Settings: settings(a, changes), Length: length, Prefix: prefix, Connections: 3, Seed: 4}
}
