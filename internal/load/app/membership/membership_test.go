package membership

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
	for _, of := range []map[string]float64{nil, {discovery.ChurnKey: 50, discovery.UsesKey: 3, discovery.ServicesKey: 40}, {discovery.ServicesKey: 7, discovery.UsesKey: 7, discovery.ClientsKey: 5, discovery.ChurnKey: 20}} {
		s := settings(of)
		const length = 10 * time.Minute
		kinds := NewSchedule(discovery.ConfigOf(s, 3), length).Kinds()
		for i, c := range (Application{}).Profile(s, 0).Calls {
			if want := c.PerSecond * length.Seconds(); math.Abs(float64(kinds[i])-want) > 0.01*want {
				t.Errorf("%v: %d calls %s in %v, want %.0f", of, kinds[i], c.Name, length, want)
			}
		}
	}
}

// The life of each instance is whole: it comes once, and goes once at most; who reads it
// uses its service; and each number has one key.
func TestLivesAreWhole(t *testing.T) {
	s := NewSchedule(discovery.ConfigOf(settings(map[string]float64{discovery.ServicesKey: 13, discovery.ChurnKey: 31, discovery.ClientsKey: 17}), 9), time.Minute)
	came, gone := map[uint32]int64{}, map[uint32]bool{}
	for i, e := range s.Entries {
		switch at, ok := came[e.Object]; e.Call {
		case Register:
			if came[e.Object] = s.Due[i]; ok || s.Before(e.Object) || e.Object >= s.All() {
				t.Fatalf("instance %d comes twice", e.Object)
			}
		case Deregister:
			if gone[e.Object] || !ok && !s.Before(e.Object) {
				t.Fatalf("instance %d goes, and is not there", e.Object)
			}
			gone[e.Object] = true
		case Lookup:
			uses := false
			for k := range s.Uses {
				uses = uses || s.Service(int(e.Client), k) == e.Object/s.Room
			}
			if !ok || s.Due[i] < at || !uses {
				t.Fatalf("client %d reads instance %d", e.Client, e.Object)
			}
		}
	}
	for object := range s.All() {
		if got, ok := s.Number("p/", s.AppendKey(nil, "p/", object)); !ok || got != object {
			t.Fatalf("instance %d is read as %d", object, got)
		}
	}
	for _, key := range []string{"", "p/", "p/s000000/i00000x", "q/s000000/i000000", "p/s999999/i000000", "p/s000000/j000000"} {
		if _, ok := s.Number("p/", []byte(key)); ok {
			t.Errorf("%q is an instance's key", key)
		}
	}
}

func TestSettingsThatCannotBe(t *testing.T) {
	for want, of := range map[string]map[string]float64{
		"": nil, discovery.UsesKey: {discovery.UsesKey: 101}, discovery.InstancesKey: {discovery.ServicesKey: 100_000, discovery.InstancesKey: 100}, discovery.ClientsKey: {discovery.ClientsKey: 20_000, discovery.UsesKey: 100},
	} {
		if got, why := (Application{}).Check(settings(of)); got != want || (why != "") != (want != "") {
			t.Errorf("%v: %s, %s", of, got, why)
		}
	}
}
