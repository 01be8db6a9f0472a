package kubernetes

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/quick"
	"time"

	"github.com/quorumbench/quorumbench/internal/scenario/application"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// In long loads, the number of calls that become due agrees with the profile within 1 % for each
// kind of call that is frequent enough.
func TestScheduleMatchesTheProfile(t *testing.T) {
	settle.SkipUnderRace(t)
	for _, c := range []Config{
		{Nodes: 100, PodsPerNode: 30, Churn: 5, Seed: 1}, {Nodes: 1000, PodsPerNode: 10, Churn: 50, Seed: 2}, {Nodes: 1, PodsPerNode: 1, Seed: 3},
	} {
		const length = 100 * time.Minute
		s := NewSchedule(c, length)
		rates, sum := c.Rates(), 0.0
		for call, n := range s.CountByKind() {
			want := rates[call] * length.Seconds()
			sum += want
			if limit := max(0.01*want, 2); math.Abs(float64(n)-want) > limit {
				t.Errorf("%+v: %d calls of kind %v due in %v, want %.1f", c, n, Call(call), length, want)
			}
		}
		if got := float64(len(s.Entries)); math.Abs(got-sum) > 0.01*sum || math.Abs(perSecond(c)*length.Seconds()-sum) > 1e-6*sum {
			t.Errorf("%+v: %.0f calls due, want %.1f", c, got, sum)
		}
	}
}

// Each pod is created, updated and removed once, in this order. Each event has its own number. Due
// times are sorted, and are inside the load.
func TestPodsAreCreatedAndRemovedOnce(t *testing.T) {
	settle.SkipUnderRace(t)
	err := quick.Check(func(seed uint64, nodes, pods uint8, churn uint16) bool {
		c := Config{Nodes: 1 + int(nodes)%40, PodsPerNode: 1 + int(pods)%20, Seed: seed}
		c.Churn = math.Min(float64(churn)/1000, float64(c.pods())/minPodLifetime)
		if _, wrong := (Application{}).Check(settings(c)); wrong != "" {
			t.Log(wrong)
			return false
		}
		s := NewSchedule(c, 40*time.Second)
		there, gone := map[uint32]bool{}, map[uint32]bool{}
		for i := range s.Before[Pods] {
			there[s.First[Pods]+i] = true
		}
		event, granted := s.First[Events], false
		for i, e := range s.Entries {
			if i > 0 && s.Due[i] < s.Due[i-1] || s.Due[i] < 0 || s.Due[i] >= int64(40*time.Second) {
				return false
			}
			switch e.Call {
			case CreatePod:
				if there[e.Object] || gone[e.Object] {
					return false
				}
				there[e.Object] = true
			case UpdatePod, GetPod:
				if !there[e.Object] {
					return false
				}
			case DeletePod:
				if !there[e.Object] {
					return false
				}
				delete(there, e.Object)
				gone[e.Object] = true
			case GrantLease:
				granted = true
			case CreateEvent:
				if e.Object != event || !granted {
					return false
				}
				event++
			}
			if r := e.Call.Resource(); r != NumResources && e.Call != ListPods && e.Call != ListKeys && e.Call != ListOne {
				if got, _ := s.Resource(e.Object); got != r || e.Object >= s.Count() {
					return false
				}
			}
		}
		return event == s.Count()
	}, &quick.Config{MaxCount: 200})
	if err != nil {
		t.Error(err)
	}
}

// A lease is used for at most one minute and for at most 1,000 events.
func TestEventsShareLeases(t *testing.T) {
	settle.SkipUnderRace(t)
	for _, churn := range []float64{0.5, 100} {
		s := NewSchedule(Config{Nodes: 1000, PodsPerNode: 5, Churn: churn}, 5*time.Minute)
		since, with := int64(math.MinInt64), 0
		for i, e := range s.Entries {
			switch e.Call {
			case GrantLease:
				if since > math.MinInt64 && s.Due[i]-since < int64(leaseReuse) && with < leaseObjects {
					t.Fatalf("churn %v: another lease is granted after %d events and %v", churn, with, time.Duration(s.Due[i]-since))
				}
				since, with = s.Due[i], 0
			case CreateEvent:
				if with++; with > leaseObjects || s.Due[i]-since > int64(leaseReuse) {
					t.Fatalf("churn %v: a lease has %d events after %v", churn, with, time.Duration(s.Due[i]-since))
				}
			}
		}
	}
}

func TestSameSeedSameSchedule(t *testing.T) {
	c := Config{Nodes: 50, PodsPerNode: 30, Churn: 10, Seed: 9}
	a, b := NewSchedule(c, time.Minute), NewSchedule(c, time.Minute)
	c.Seed++
	other := NewSchedule(c, time.Minute)
	if !slices.Equal(a.Due, b.Due) || !slices.Equal(a.Entries, b.Entries) || slices.Equal(a.Due, other.Due) {
		t.Error("the schedule is not a function of its seed")
	}
}

// Each object has its own key, each key is parsed as its object's number, and the keys of pods sort
// in the order of their numbers.
func TestKeys(t *testing.T) {
	s := NewSchedule(Config{Nodes: 70, PodsPerNode: 30, Churn: 20, Seed: 4}, 100*time.Second)
	k, other := NewKeys("/registry/", s.Objects, 12345), NewKeys("/registry/", s.Objects, 12346)
	seen := map[string]uint32{}
	var before []byte
	for n := range s.Count() {
		key := k.Append(nil, n)
		if was, ok := seen[string(key)]; ok {
			t.Fatalf("objects %d and %d have the key %s", was, n, key)
		}
		seen[string(key)] = n
		r, place := s.Resource(n)
		if got, ok := k.Number(r, key); !ok || got != n {
			t.Fatalf("%s is parsed as %d (%v), want %d", key, got, ok, n)
		}
		if !bytes.HasPrefix(key, []byte("/registry/"+r.Path())) {
			t.Fatalf("%s is not a key of %v", key, r)
		}
		_, ok := other.Number(r, key)
		if there := place < s.Before[r]; ok != there {
			t.Fatalf("a different load can parse the key %s: %v", key, ok)
		}
		if r == Pods {
			if bytes.Compare(before, key) >= 0 {
				t.Fatalf("%s does not sort after %s", key, before)
			}
			before = key
		}
	}
	if len(seen) == 0 {
		t.Fatal("no keys")
	}
}

func FuzzNumber(f *testing.F) {
	s := NewSchedule(Config{Nodes: 7, PodsPerNode: 30, Churn: 2, Seed: 4}, 10*time.Second)
	k := NewKeys("/registry/", s.Objects, 7)
	for n := range s.Count() {
		if n%97 == 0 {
			r, _ := s.Resource(n)
			f.Add(uint8(r), k.Append(nil, n))
		}
	}
	f.Add(uint8(Pods), []byte("/-"))
	f.Fuzz(func(t *testing.T, r uint8, key []byte) {
		if n, ok := k.Number(Resource(r%uint8(NumResources)), key); ok && !bytes.Equal(k.Append(nil, n), key) {
			t.Errorf("%q is read as object %d", key, n)
		}
	})
}

// settings returns settings for which NewConfig returns the given configuration.
func settings(c Config) application.Settings {
	return application.Settings{nodesKey: float64(c.Nodes), podsKey: float64(c.PodsPerNode), churnKey: c.Churn}
}

func perSecond(c Config) float64 {
	p := Application{}.Profile(settings(c), 0)
	return p.PerSecond()
}

func TestRefusesImpossibleSettings(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for name, c := range map[string]Config{
		podsKey: {Nodes: 100_000, PodsPerNode: 400}, churnKey: {Nodes: 1, PodsPerNode: 1, Churn: 1 + r.Float64()},
	} {
		if key, why := (Application{}).Check(settings(c)); key != name || why == "" {
			t.Errorf("settings %+v: Check returned the key %s and the reason %s", c, key, why)
		}
	}
	d := Application{}.Definition()
	if p := d.OutOfBounds(d.Defaults()); p != nil {
		t.Errorf("the default of %s is not within its bounds", p.Key)
	}
	if key, why := (Application{}).Check(d.Defaults()); why != "" {
		t.Error(key, why)
	}
	if got := fmt.Sprint(CreatePod, Pods); got != "create pod pods" {
		t.Error(got)
	}
}
