package catalog

import (
	"math"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/load/app/discovery"
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

// What is sent is what the profile says, each kind within 1 %.
func TestScheduleIsTheProfile(t *testing.T) {
	for _, of := range []map[string]float64{nil, {discovery.ChurnKey: 10, discovery.UsesKey: 3, discovery.ServicesKey: 40}, {discovery.ServicesKey: 7, discovery.UsesKey: 7, discovery.ClientsKey: 5, healthKey: 0.5, discovery.ChurnKey: 1}, {discovery.InstancesKey: 100, discovery.ChurnKey: 0}} {
		s := settings(of)
		const length = 10 * time.Minute
		kinds := NewSchedule(ConfigOf(s, 3), length).Kinds()
		for i, c := range (Application{}).Profile(s, 0).Calls {
			if want := c.PerSecond * length.Seconds(); math.Abs(float64(kinds[i])-want) > 0.01*want+1 {
				t.Errorf("%v: %d calls %s in %v, want %.0f", of, kinds[i], c.Name, length, want)
			}
		}
	}
}

// The life of each instance is whole: it comes once, and goes once at most; it fails
// while it is there, and passes again before it goes or fails anew.
func TestLivesAreWhole(t *testing.T) {
	s := NewSchedule(ConfigOf(settings(map[string]float64{discovery.ServicesKey: 13, discovery.ChurnKey: 3, healthKey: 2}), 9), time.Minute)
	came, gone, fails := map[uint32]bool{}, map[uint32]bool{}, map[uint32]bool{}
	for i, e := range s.Entries {
		if i > 0 && s.Due[i] < s.Due[i-1] || s.Due[i] < 0 || s.Due[i] >= int64(time.Minute) {
			t.Fatalf("call %d is due at %d", i, s.Due[i])
		}
		there := (came[e.Object] || s.Before(e.Object)) && !gone[e.Object]
		switch e.Call {
		case Register:
			if came[e.Object] || s.Before(e.Object) || e.Object >= s.All() {
				t.Fatalf("instance %d comes twice", e.Object)
			}
			came[e.Object] = true
		case Deregister:
			if gone[e.Object] || fails[e.Object] {
				t.Fatalf("instance %d goes twice, or while it fails", e.Object)
			}
			gone[e.Object] = true
		case Fail, Pass:
			if !there || fails[e.Object] != (e.Call == Pass) {
				t.Fatalf("instance %d: %v", e.Object, e.Call)
			}
			fails[e.Object] = e.Call == Fail
		case Compare:
			if !s.Before(e.Object) {
				t.Fatalf("the node of instance %d is compared", e.Object)
			}
		}
	}
	for object := range s.All() {
		if got, ok := s.Number("p-", s.AppendID(nil, "p-", object)); !ok || got != object {
			t.Fatalf("instance %d is read as %d", object, got)
		}
	}
	for _, id := range []string{"", "p-", "p-s000000-i00000x", "q-s000000-i000000", "p-s999999-i000000", "p-s000000-j000000"} {
		if _, ok := s.Number("p-", []byte(id)); ok {
			t.Errorf("%q is an instance's ID", id)
		}
	}
}

func TestSettingsThatCannotBe(t *testing.T) {
	for want, of := range map[string]map[string]float64{
		"": nil, discovery.UsesKey: {discovery.UsesKey: 101}, discovery.InstancesKey: {discovery.ServicesKey: 100_000, discovery.InstancesKey: 100}, discovery.ClientsKey: {discovery.ClientsKey: 20_000, discovery.UsesKey: 100}, healthKey: {discovery.ChurnKey: 100},
	} {
		if got, why := (Application{}).Check(settings(of)); got != want || (why != "") != (want != "") {
			t.Errorf("%v: %s, %s", of, got, why)
		}
	}
}
