package patroni

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"testing/quick"
	"time"

	"github.com/quorumbench/quorumbench/internal/scenario/application"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

func config(clusters, members int) Config {
	return Config{Clusters: clusters, Members: members, WrittenClusters: clusters, LoopWait: 10 * time.Second, TTL: 30 * time.Second, RetryTimeout: 10 * time.Second, Seed: 3}
}

// The number of calls of each kind agrees with the profile, within 1 % for kinds with many calls.
func TestScheduleMatchesTheProfile(t *testing.T) {
	settle.SkipUnderRace(t)
	for _, c := range []Config{config(100, 3), config(7, 1), {Clusters: 50, Members: 5, WrittenClusters: 20, LoopWait: 2 * time.Second, TTL: 30 * time.Second, RetryTimeout: time.Second}} {
		for c.Way = range numWays {
			const length = 20 * time.Minute
			s := NewSchedule(c, length)
			rates := c.Rates()
			for call, n := range s.CountByKind() {
				want, begins := rates[call]*length.Seconds(), 0
				if c.Way == Nodes && Call(call) == Join {
					begins = c.MemberCount()
				} else if c.Way == Nodes && Call(call) == Lead {
					begins = c.Clusters
				}
				if limit := max(0.01*want, 2); math.Abs(float64(n)-want-float64(begins)) > limit || begins > 0 && int(n) != begins {
					t.Errorf("%+v: %d calls of %v due in %v, want %.1f", c, n, c.Way.CallName(Call(call)), length, want)
				}
			}
		}
	}
}

// Calls are sorted by due time, and are inside the window. A dead leader makes no calls. The other
// members do not race before the leader's lease can have expired.
func TestFailovers(t *testing.T) {
	const length = 3 * time.Minute
	err := quick.Check(func(seed uint64, clusters, members, storm, way uint8) bool {
		c := config(1+int(clusters)%20, 2+int(members)%4)
		c.LeaderFailures, c.Seed, c.Way = int(storm)%(c.Clusters+1), seed, Way(way)%numWays
		s, dies := NewSchedule(c, length), c.LeaderDeath(length)
		raced := make([]int, c.Clusters)
		renewed := make([]time.Duration, c.Clusters)
		for i, e := range s.Entries {
			at := time.Duration(s.Due[i])
			if at < 0 || at >= length || i > 0 && s.Due[i] < s.Due[i-1] {
				return false
			}
			storm := int(e.Cluster) < c.LeaderFailures
			switch {
			case e.AfterFailover && !storm, storm && !e.AfterFailover && e.Caller == 0 && at >= dies+leaderLasts(&c), int(e.Caller) >= c.Members:
				t.Logf("the call %+v must not be due at %v", e, at)
				return false
			case e.AfterFailover && at < renewed[e.Cluster]+c.TTL:
				t.Logf("the call %+v is due at %v, although the lease was renewed at %v", e, at, renewed[e.Cluster])
				return false
			}
			if e.Call == RenewLeader && !e.AfterFailover {
				renewed[e.Cluster] = at
			}
			if e.Call == Race {
				raced[e.Cluster]++
			}
		}
		for cluster, n := range raced {
			if want := map[bool]int{true: c.Members - 1}[cluster < c.LeaderFailures]; n != want {
				t.Logf("%d members of cluster %d raced, want %d", n, cluster, want)
				return false
			}
		}
		return dies > 0 == (c.LeaderFailures > 0)
	}, nil)
	if err != nil {
		t.Error(err)
	}
	c := config(3, 3)
	if c.LeaderFailures = 3; c.LeaderDeath(40*time.Second) != 0 {
		t.Error("leaders die in a load that ends before their leases expire")
	}
}

// A window that is too short for the failovers is refused, with the length that it must exceed. A
// window of any length is accepted if no leader dies.
func TestWindowContainsTheFailovers(t *testing.T) {
	d := Application{}.Definition()
	s := d.Defaults()
	for way, bound := range []time.Duration{Leases: 51800 * time.Millisecond, Locks: 51800 * time.Millisecond, Nodes: 63800 * time.Millisecond} {
		s[failoversKey] = 100
		key, short := (Application{}).CheckWindow(s, way, bound)
		_, fine := (Application{}).CheckWindow(s, way, bound+time.Millisecond)
		if want := "a <duration> above " + bound.String() + ","; key != failoversKey || !strings.Contains(short, want) || fine != "" {
			t.Errorf("way %d: CheckWindow returned the key %s, %q for a window of %v and %q for a longer window, want %q and nothing", way, key, short, bound, fine, want)
		}
		s[failoversKey] = 0
		if _, why := (Application{}).CheckWindow(s, way, time.Second); why != "" {
			t.Errorf("way %d: without failovers, CheckWindow returned %q, want nothing", way, why)
		}
	}
}

// leaderLasts returns the time from the start to the end of a leader's loop.
func leaderLasts(c *Config) time.Duration {
	if c.Way == Nodes { // until the leader's last ping
		return c.LoopWait
	}
	return memberDelay
}

// A replica's query returns once per loop on average. The wait that it requests is shorter than a
// loop, because the query returns late by up to a sixteenth of its wait.
func TestReplicasQueryOncePerLoop(t *testing.T) {
	c := config(1, 2)
	if mean := c.QueryWait() + c.QueryWait()/waitJitter/2; (mean - c.LoopWait).Abs() > time.Microsecond {
		t.Errorf("a query every %v, want one per loop", mean)
	}
	c.LoopWait = 6 * time.Second // an interval for which the pings of Patroni were observed
	if n, every := c.pings(); n != 3 || every != 1800*time.Millisecond {
		t.Errorf("%d pings, one every %v; want 3, one every 1.8 s", n, every)
	}
}

// A key's number can be parsed from the key, and the number of the call from the value.
func TestKeysAndValues(t *testing.T) {
	c, prefix := config(120, 4), []byte("/service/")
	seen := map[uint64]bool{}
	for cluster := range c.Clusters {
		for k := range Key(c.KeysPerCluster()) {
			key := AppendKey(nil, prefix, cluster, k)
			n, ok := c.Number(prefix, key)
			if !ok || n != uint64(cluster*c.KeysPerCluster()+int(k)) || seen[n] || !bytes.HasPrefix(key, AppendScope(nil, prefix, cluster)) {
				t.Fatalf("the key %s is parsed as %d, %v", key, n, ok)
			}
			seen[n] = true
		}
	}
	for _, key := range []string{"", "/service/", "/service/pg-000001/", "/service/pg-000120/leader", "/service/pg-000001/members/pg-000002-0",
		"/service/pg-000001/members/pg-000001-4", "/service/pg-000001/members/pg-000001-", "/service/pg-000001/else", "/other/pg-000001/leader"} {
		if n, ok := c.Number(prefix, []byte(key)); ok {
			t.Errorf("%q is key %d", key, n)
		}
	}
	for _, n := range []uint64{0, 1, 77, 1 << 30} {
		for _, v := range [][]byte{AppendMember(nil, 1, true, n), AppendMember(nil, 2, false, n), AppendStatus(nil, 5, 3, n), AppendHistory(nil, 5, 1, n)} {
			if got, ok := ParseCallNumber(v); !ok || got != n {
				t.Errorf("%s: written by call %d, want %d", v, got, n)
			}
		}
	}
	for _, v := range []string{"", ConfigValue, InitializeValue, `{"optime":5}`, `{"optime":67108865}`, `{"optime":}`} {
		if n, ok := ParseCallNumber([]byte(v)); ok {
			t.Errorf("%s: written by call %d, want none", v, n)
		}
	}
}

func FuzzNumber(f *testing.F) {
	f.Add([]byte("/service/pg-000001/members/pg-000001-0"), []byte(`{"xlog_location":67108864}`))
	c := config(30, 3)
	f.Fuzz(func(t *testing.T, key, value []byte) {
		if n, ok := c.Number([]byte("/service/"), key); ok && n >= c.Keys() {
			t.Errorf("%q is key %d of %d", key, n, c.Keys())
		}
		ParseCallNumber(value)
	})
}

func TestCheck(t *testing.T) {
	d := Application{}.Definition()
	if p := d.OutOfBounds(d.Defaults()); p != nil {
		t.Errorf("the default of %s is not within its bounds", p.Key)
	}
	if key, why := (Application{}).Check(d.Defaults()); why != "" {
		t.Error(key, why)
	}
	for want, change := range map[string]application.Settings{
		clustersKey: {clustersKey: 50_000}, ttlKey: {loopKey: 11}, failoversKey: {failoversKey: 1001},
	} {
		s := d.Defaults()
		for key, v := range change {
			s[key] = v
		}
		if key, why := (Application{}).Check(s); key != want || why == "" {
			t.Errorf("settings %v: Check returned the key %s and the reason %s", change, key, why)
		}
	}
	s := d.Defaults()
	s[failoversKey], s[writtenKey] = 5, 0.25
	if got := (Application{}).Phrase(s); got != "1,000 clusters of 3 members, 250 of the clusters with database writes, 5 simultaneous leader failures" {
		t.Error(got)
	}
	for way, want := range []struct {
		rate     float64
		watchers int
	}{Leases: {700, 3000}, Locks: {1000, 2000}, Nodes: {3700, 3000}} {
		p := (Application{}).Profile(d.Defaults(), way)
		if got := p.PerSecond(); math.Abs(got-want.rate) > 1e-6 || p.Connections != 3000 || p.Watchers != want.watchers || p.Streams != p.Watchers {
			t.Errorf("way %d: %v calls per second, profile %+v", way, got, p)
		}
	}
	if len(d.Ways) != int(numWays) {
		t.Errorf("the definition has the ways %+v", d.Ways)
	}
}
