package preflight

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

const ms = int64(time.Millisecond)

// writesOf returns writes of one size, 50 per second. The function `wait` returns the time of each
// write.
func writesOf(seconds int, wait func(second, i int) int64) Writes {
	w := Writes{Sizes: []int{2300}, Interval: 20 * time.Millisecond}
	for s := range seconds {
		one := measure.WrittenSecond{First: 50 * s}
		for i := range 50 {
			ns := wait(s, i)
			one.WaitNS, one.SyncNS = append(one.WaitNS, ns), append(one.SyncNS, ns)
		}
		w.Seconds = append(w.Seconds, one)
	}
	return w
}

func steady(ns int64) func(int, int) int64 { return func(int, int) int64 { return ns } }

// set returns a check with one host for each of the given Writes, and a rule like etcd's.
func set(all ...Writes) (*Check, *kv.HostRules) {
	c := &Check{}
	for i, w := range all {
		c.Hosts = append(c.Hosts, Host{
			Name: "db" + string(rune('1'+i)), Writes: w, Steal: -1, Throttled: -1,
			Limits:  measure.HostLimits{FileSystem: "ext4", Durable: true, MemoryBytes: 16e9, SwapBytes: 0, OpenFiles: 4096},
			Machine: measure.Machine{CPUs: 4},
		})
	}
	return c, &kv.HostRules{Record: 2300, Disk: kv.DiskRule{Percentile: 99, Limit: 10 * time.Millisecond}, Document: kv.Document{Title: "doc"}}
}

func judged(c *Check, rules *kv.HostRules) *Verdict {
	c.Judge("store", rules)
	return c.Verdict("store")
}

// A fast disk passes after about 200 s and not before. A slow disk fails after about 30 s. Before
// that, the verdict contains the time that is still needed.
func TestTimeUntilADecision(t *testing.T) {
	for _, test := range []struct {
		seconds int
		wait    int64
		want    State
		more    time.Duration
	}{
		{30, ms, CannotTell, 166 * time.Second}, {195, ms, CannotTell, time.Second}, {196, ms, Pass, 0},
		{20, 15 * ms, CannotTell, 8 * time.Second}, {28, 15 * ms, Fail, 0},
	} {
		c, rules := set(writesOf(test.seconds, steady(test.wait)))
		if v := judged(c, rules); v.State != test.want || v.More != test.more {
			t.Errorf("%d s of writes that take %d ns: the verdict is %v, and it asks for %v more", test.seconds, test.wait, v.State, v.More)
		}
	}
}

// The verdict about a set of hosts is the verdict about the worst host, and contains the name of
// this host.
func TestOneBadHost(t *testing.T) {
	good, bad := writesOf(250, steady(ms)), writesOf(250, steady(20*ms))
	c, rules := set(good, bad, good)
	v := judged(c, rules)
	if v.State != Fail || v.Findings[1].State != Fail || v.Findings[1].Where[0] != "db2" || v.Findings[0].State != Pass {
		t.Errorf("%+v", v)
	}
	c.Hosts[1].Busy, c.Verdicts = 0.97, nil
	if f := judged(c, rules).Findings[1]; f.State != Fail || !strings.HasSuffix(f.Reason, "; the CPUs were 97 % busy, which may be the cause") {
		t.Errorf("on a busy machine: %+v", f)
	}
	if reason := v.Findings[1].Reason; !strings.HasPrefix(reason, "100.00 % of the writes in 4m10s took 10.0 ms or more (95 % interval ") {
		t.Error(reason)
	}
}

// A step to a new level is found, and the reason contains the time of the step. If the new level is
// good, the disk passes only after the new level has lasted as long as a good disk needs to pass.
func TestEndOfBurstCredits(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	noisy := func(base int64) int64 { return base + r.Int64N(base/5) }
	step := func(seconds int, after int64) Writes {
		return writesOf(seconds, func(s, _ int) int64 {
			if s < 100 {
				return noisy(ms)
			}
			return noisy(after)
		})
	}
	c, rules := set(step(220, 3*ms))
	f := judged(c, rules).Findings[0]
	if f.State != CannotTell || f.Disk.Trend.StepAt != 100 || !strings.Contains(f.Reason, "after 100 s, the typical time rose from 1.") {
		t.Errorf("the verdict is %v with a step at %d s: %s", f.State, f.Disk.Trend.StepAt, f.Reason)
	}
	c, rules = set(step(300, 3*ms))
	if v := judged(c, rules); v.State != Pass {
		t.Errorf("a good new level: %v", v.State)
	}
	c, rules = set(step(160, 30*ms))
	if v := judged(c, rules); v.State != Fail {
		t.Errorf("a bad new level: %v", v.State)
	}
}

// A disk that becomes slower and would reach the limit within an hour does not pass. The reason
// contains the time until the disk reaches the limit.
func TestDrift(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	c, rules := set(writesOf(250, func(s, _ int) int64 { return ms + int64(s)*ms/100 + r.Int64N(ms/5) }))
	f := judged(c, rules).Findings[0]
	if f.State != CannotTell || f.More <= 0 || !strings.Contains(f.Reason, "at this rate, the p99 will reach 10.0 ms in about ") {
		t.Errorf("the verdict is %v, and it asks for %v more: %s", f.State, f.More, f.Reason)
	}
}

// If the longest write is limited, a disk fails after two stalls and passes after 182 s without a
// stall.
func TestStalls(t *testing.T) {
	for _, test := range []struct {
		seconds int
		at      []int
		want    State
	}{
		{120, nil, CannotTell}, {182, nil, Pass}, {10, []int{3}, CannotTell}, {120, []int{40}, CannotTell}, {120, []int{40, 41}, CannotTell}, {120, []int{40, 80}, Fail},
	} {
		c, rules := set(writesOf(test.seconds, func(s, i int) int64 {
			if i == 0 && slices.Contains(test.at, s) {
				return 700 * ms
			}
			return ms
		}))
		rules.Disk = kv.DiskRule{Percentile: 100, Limit: 500 * time.Millisecond}
		if v := judged(c, rules); v.State != test.want {
			t.Errorf("%d s with stalls at %v: %v", test.seconds, test.at, v.State)
		}
	}
}

// After a single stall, a disk passes as soon as the suggested additional time has ended without
// another stall.
func TestMoreTimeAfterOneStall(t *testing.T) {
	for _, hosts := range []int{1, 5} {
		for _, seconds := range []int{5, 10, 14, 100, 245, 255, 400} {
			d := decideStalls(1, seconds, hosts)
			end := seconds + int(d.More/time.Second)
			if d.State != CannotTell || decideStalls(1, end-1, hosts).State != CannotTell || decideStalls(1, end, hosts).State != Pass {
				t.Errorf("after %d s with a single stall on one of %d hosts, the decision is %v, and %v for the following %v; want to pass at the end of this time",
					seconds, hosts, d.State, decideStalls(1, end, hosts).State, d.More)
			}
		}
	}
}

// A disk that always exceeds a limit for the longest write fails and never passes, because a long
// slow phase counts as several stalls. This is also true for several such hosts.
func TestAlwaysStalling(t *testing.T) {
	for _, seconds := range []int{25, 600} {
		w := writesOf(seconds, steady(700*ms))
		c, rules := set(w, w, w)
		rules.Disk = kv.DiskRule{Percentile: 100, Limit: 500 * time.Millisecond}
		if v := judged(c, rules); v.State != Fail {
			t.Errorf("%d s: %v", seconds, v.State)
		}
	}
}

// A file system in memory fails, and a network file system fails if the store does not support it.
func TestFileSystems(t *testing.T) {
	c, rules := set(writesOf(250, steady(ms)))
	c.Hosts[0].Limits.Durable, c.Hosts[0].Limits.FileSystem = false, "tmpfs"
	if v := judged(c, rules); v.State != Fail || v.Findings[0].Remedy == "" || !strings.HasPrefix(v.Findings[0].Reason, "tmpfs loses its data") {
		t.Errorf("tmpfs: %+v", v)
	}
	c, rules = set(writesOf(250, steady(ms)))
	rules.NoNetworkFiles = &kv.HostRule{Quantity: kv.NetworkFiles, Effect: "it does not work", Remedy: "use a local disk"}
	if v := judged(c, rules); v.State != Pass {
		t.Errorf("ext4: %+v", v)
	}
	c.Hosts[0].Limits.Networked, c.Hosts[0].Limits.FileSystem, c.Verdicts = true, "nfs", nil
	if v := judged(c, rules); v.State != Fail || v.Findings[1].Reason != "the folder is on nfs: it does not work" {
		t.Errorf("nfs: %+v", v)
	}
}

// Rules about hosts and pairs of hosts name the places that do not meet them. A missed guideline
// does not change the verdict, and an unknown value is not a failure.
func TestRules(t *testing.T) {
	c, rules := set(writesOf(250, steady(ms)), writesOf(250, steady(ms)))
	c.Hosts[1].Limits.MemoryBytes = 1e9
	ahead, bound := 3*time.Second, time.Millisecond
	c.Hosts[0].Ahead, c.Hosts[0].AheadBound, c.Hosts[1].Ahead, c.Hosts[1].AheadBound = new(time.Duration), &bound, &ahead, &bound
	c.Pairs = []Pair{{From: "db1", To: "db2", Trips: measure.RoundTrips{NS: []int64{60 * ms, 80 * ms, 40 * ms}, Segments: 100, Retransmitted: 5}}}
	memory := kv.HostRule{Quantity: kv.Memory, AtLeast: 2e9, Advice: true, Effect: "little memory", Remedy: "buy more"}
	trip := kv.HostRule{Quantity: kv.MeanRoundTrip, AtMost: 0.05, Effect: "far away", Remedy: "move closer"}
	clock := kv.HostRule{Quantity: kv.ClockDifference, AtMost: 1, Advice: true}
	rules.Rules = []kv.HostRule{memory, trip, clock}
	var got kv.Measured
	rules.Settings = func(m kv.Measured) []kv.Setting { got = m; return []kv.Setting{{Name: "x"}} }
	v := judged(c, rules)
	f := v.Findings[2:]
	if v.State != Fail || f[0].State != Fail || !f[0].Advice || f[0].Place() != "db2" || f[1].Place() != "db1 → db2" || f[1].Reason != "60.0 ms; limit: at most 50.0 ms: far away" || f[2].State != Fail {
		t.Errorf("%+v", v)
	}
	if got.MeanRoundTrip != 60*time.Millisecond || got.LongestWrite != time.Millisecond || len(v.Settings) != 1 {
		t.Errorf("settings from %+v", got)
	}
	if times := c.Pairs[0].Times(); times.Jitter != 30*time.Millisecond || times.Loss != 0.05 {
		t.Errorf("%+v", times)
	}
	c.Pairs[0], c.Verdicts, rules.Rules = Pair{From: "db1", To: "db2", Failure: "no route"}, nil, []kv.HostRule{trip}
	if v = judged(c, rules); v.State != CannotTell || v.Findings[2].Reason != "no route" {
		t.Errorf("the verdict on a pair that was not measured is %+v", v)
	}
	// More time would decide the rule for the disks, but the pair would still be unmeasured. The
	// verdict therefore does not ask for more time.
	for i := range c.Hosts {
		c.Hosts[i].Writes = writesOf(100, steady(ms))
	}
	c.Verdicts = nil
	if v = judged(c, rules); v.State != CannotTell || v.Findings[0].More == 0 || v.More != 0 {
		t.Errorf("with short writes and a pair that was not measured, the verdict asks for %v more: %+v", v.More, v)
	}
}

// If there are too many hosts, the finding about the number of hosts names all hosts.
func TestNumberOfHosts(t *testing.T) {
	w := writesOf(250, steady(ms))
	for n, want := range map[int]State{1: Pass, 2: Fail} {
		c, rules := set(slices.Repeat([]Writes{w}, n)...)
		rules.Rules = []kv.HostRule{{Quantity: kv.HostCount, AtMost: 1, Advice: true, Effect: "only one is supported"}}
		v := judged(c, rules)
		if f := v.Findings[n]; v.State != Pass || f.State != want || len(f.Where) != n {
			t.Errorf("%d hosts: %v, %+v", n, v.State, f)
		} else if n == 2 && f.Reason != "2; guideline: at most 1: only one is supported" {
			t.Error(f.Reason)
		}
	}
}

// A few slow round trips do not violate a limit for the p99, but a share of 5 % does.
func TestP99OfRoundTrips(t *testing.T) {
	for slow, want := range map[int]State{0: Pass, 5: Pass, 10: Fail} {
		c, rules := set(writesOf(250, steady(ms)), writesOf(250, steady(ms)))
		p := Pair{From: "db1", To: "db2"}
		for i := range 200 {
			ns := 10 * ms
			if i < slow {
				ns = 150 * ms
			}
			p.Trips.NS = append(p.Trips.NS, ns)
		}
		c.Pairs = []Pair{p}
		rules.Rules = []kv.HostRule{{Quantity: kv.P99RoundTrip, AtMost: 0.1}}
		if v := judged(c, rules); v.State != want {
			t.Errorf("with %d slow round trips of 200, the verdict is %v: %s", slow, v.State, v.Findings[2].Reason)
		}
	}
}

// The interval of the share of slow writes contains the true share in at least 95 % of the
// measurements, for independent slow writes and for slow phases.
func TestIntervalOfTheShare(t *testing.T) {
	settle.SkipUnderRace(t)
	const runs, length = 400, 200
	for name, disk := range map[string]func(r *rand.Rand) (slow []float64){
		"independent, 3 %": func(r *rand.Rand) (slow []float64) {
			for range length {
				n := 0
				for range 50 {
					if r.Float64() < 0.03 {
						n++
					}
				}
				slow = append(slow, float64(n)/50)
			}
			return slow
		},
		"phases of 4 s, 10 %": func(r *rand.Rand) (slow []float64) {
			is := r.Float64() < 0.1
			for range length {
				share := 0.0
				if is {
					share = 1
				}
				slow = append(slow, share)
				if is && r.Float64() < 1.0/4 || !is && r.Float64() < 1.0/36 {
					is = !is
				}
			}
			return slow
		},
	} {
		truth, held := 0.1, 0
		if strings.HasPrefix(name, "independent") {
			truth = 0.03
		}
		for i := range runs {
			s := shareOf(disk(rand.New(rand.NewPCG(9, uint64(i)))))
			if s.Low <= truth && truth <= s.High {
				held++
			}
		}
		if t.Logf("%s: %d of %d", name, held, runs); held < runs*93/100 {
			t.Errorf("%s: only %d of %d intervals contain the share", name, held, runs)
		}
	}
}
