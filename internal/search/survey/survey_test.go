package survey

import (
	"context"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/analyze/preflight"
	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/run/probe"
	"github.com/quorumbench/quorumbench/internal/store/registry"
)

// simulatedHost is a host on whose disk each synced write takes 1 ms. A survey calls no other
// methods of host.Host than those below.
type simulatedHost struct {
	host.Host
	seconds int // number of seconds of writes
}

func (h *simulatedHost) Describe(context.Context) (host.Description, error) {
	return host.Description{}, nil
}

func (h *simulatedHost) Sample(context.Context, []int, bool) (host.Sample, error) {
	return host.Sample{}, nil
}

func (h *simulatedHost) Limits(context.Context, string) (measure.HostLimits, error) {
	return measure.HostLimits{FileSystem: "ext4", Durable: true}, nil
}

func (h *simulatedHost) WriteLog(_ context.Context, _ string, w probe.PacedWrites, second func(measure.WrittenSecond) bool) error {
	perSecond := int(time.Second / w.Interval)
	for h.seconds < int(w.Duration/time.Second) {
		one := measure.WrittenSecond{First: h.seconds * perSecond, WaitNS: make([]int64, perSecond)}
		for i := range one.WaitNS {
			one.WaitNS[i] = int64(time.Millisecond)
		}
		h.seconds++
		if !second(one) {
			return nil
		}
	}
	return nil
}

func (h *simulatedHost) Echo(context.Context) (*host.Echo, error) {
	return &host.Echo{Close: func() {}}, nil
}

func (h *simulatedHost) RoundTrips(context.Context, string, string, int) (measure.RoundTrips, error) {
	return measure.RoundTrips{NS: []int64{int64(time.Millisecond)}}, nil
}

// A survey ends as soon as it is certain whether the disk meets the rules. If no rules are set that
// end the survey early, the survey lasts for the whole duration of the writes.
func TestDurationOfASurvey(t *testing.T) {
	stores := registry.HostRules()
	for _, test := range []struct {
		duration time.Duration
		whole    bool
		want     int
		state    preflight.State
	}{
		{5 * time.Minute, false, 200, preflight.Pass},
		{5 * time.Minute, true, 300, preflight.Pass},
		{time.Minute, true, 60, preflight.CannotTell},
	} {
		h := &simulatedHost{}
		o := Options{
			Targets: []Target{{Name: "db1", Host: h, Dir: "/data"}}, Stores: stores,
			Writes:   probe.PacedWrites{Sizes: Sizes(stores), Interval: 20 * time.Millisecond, Duration: test.duration},
			Planned:  func(*preflight.Check, *probe.PacedWrites) {},
			Progress: func(string, int) {},
		}
		if !test.whole {
			o.EndWhenDecided = stores[0].Rules
		}
		c, err := Run(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if v := c.Verdict(stores[0].Store); h.seconds != test.want || v.State != test.state {
			t.Errorf("duration %v, whole %v: the survey took %d s, and the verdict is %v", test.duration, test.whole, h.seconds, v.State)
		}
	}
}

// The rounds contain each pair of hosts once, and each host at most once per round.
func TestPairings(t *testing.T) {
	for n := 2; n <= 16; n++ {
		seen := map[[2]int]bool{}
		for _, round := range pairings(n) {
			busy := map[int]bool{}
			for _, p := range round {
				if p[0] >= p[1] || p[1] >= n || seen[p] || busy[p[0]] || busy[p[1]] {
					t.Errorf("%d hosts: the pair %v is invalid, or repeats a pair or a host, in the round %v", n, p, round)
				}
				seen[p], busy[p[0]], busy[p[1]] = true, true, true
			}
		}
		if len(seen) != n*(n-1)/2 {
			t.Errorf("%d hosts have %d pairs", n, len(seen))
		}
	}
}
