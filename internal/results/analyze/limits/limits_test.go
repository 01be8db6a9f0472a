package limits

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/analyze/samples"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
)

// timer returns a timer with 1,000 values, as etcd reports it. 980 of the values are at most
// `usual`, and the other 20 values are at most `worst`.
func timer(usual, worst float64) store.Reading {
	r := store.Reading{Count: 1000, Sum: 980*usual + 20*worst}
	for upper := 0.001; upper < 9; upper *= 2 {
		b := store.Bucket{Upper: upper}
		if upper >= usual {
			b.Count = 980
		}
		if upper >= worst {
			b.Count = 1000
		}
		r.Buckets = append(r.Buckets, b)
	}
	r.Buckets = append(r.Buckets, store.Bucket{Upper: math.Inf(1), Count: 1000})
	return r
}

// fewTimes returns a timer with n values, all between upper/2 and upper.
func fewTimes(n, upper float64) store.Reading {
	r := store.Reading{Count: n, Sum: n * upper}
	for b := 0.001; b < 9; b *= 2 {
		r.Buckets = append(r.Buckets, store.Bucket{Upper: b, Count: map[bool]float64{true: n}[b >= upper]})
	}
	r.Buckets = append(r.Buckets, store.Bucket{Upper: math.Inf(1), Count: n})
	return r
}

func meanOf(seconds float64) store.Reading { return store.Reading{Sum: 100 * seconds, Count: 100} }

// slowTrial returns an open loop of puts that did not reach its rate, on a healthy cluster with one
// member. The window is one minute long. There is a row at each end of the window, one inside it,
// one long before it and one long after it.
func slowTrial() *record.Trial {
	rate, busy := 1000.0, 0.5
	opened := noon
	c := record.Conditions{Name: "put", Operation: "put", Rate: &rate, Loops: 1, Machine: &measure.Machine{CPUs: 2},
		Durability: &measure.Durability{Synced: true, FileSystem: "ext4", FdatasyncP50NS: 1e6, Fdatasyncs: 1000, FdatasyncP99NS: new(int64(2e6))},
		Load:       scenario.Load{Arrival: scenario.Constant, MaxInFlight: 200, Mix: []scenario.Operation{{Kind: kv.Put, Weight: 1}}}}
	t := &record.Trial{Conditions: c, State: record.Complete, Opened: &opened, Seconds: 60, Counts: record.Counts{PerSecond: 800, ErrorsByKind: map[string]uint64{}},
		Usage: record.Usage{LoopCPUNS: 6e9, RunDelayNS: 1e8, LongestPauseNS: 2e6, BusyShare: &busy},
		Parts: record.Parts{ByMember: []record.ByMember{{Name: "m1", Endpoint: "h:1"}}}}
	before := store.Sample{store.LeaderChanges: {Value: 5}, store.CPUSeconds: {Value: 100}}
	for i, at := range []time.Duration{-time.Hour, 0, 30 * time.Second, time.Minute, time.Hour} {
		r := record.StoreRow{Time: opened.Add(at), Name: "m1", Endpoint: "h:1", ConnectTime: 200 * time.Microsecond, ResponseTime: 10 * time.Millisecond, Metrics: before}
		if i > 1 {
			r.Metrics = before.Since(nil) // a separate copy
			r.Metrics[store.CPUSeconds] = store.Reading{Value: 130}
			r.Metrics[store.Processors] = store.Reading{Value: 2}
			r.Metrics[store.FsyncSeconds] = timer(0.001, 0.004)
			r.Metrics[store.CommitSeconds] = timer(0.004, 0.016)
			r.Metrics[store.PeerRoundTripSeconds] = timer(0.001, 0.008)
		}
		t.Stores = append(t.Stores, r)
	}
	// The rows outside the window have worse figures.
	t.Stores[0].ResponseTime, t.Stores[4].ConnectTime = 9*time.Second, 9*time.Second
	t.Stores[4].Metrics[store.LeaderChanges], t.Stores[4].Metrics[store.FsyncSeconds] = store.Reading{Value: 50}, timer(1, 2)
	return t
}

// If a member reports its CPU use for less than a second, for example after a restart, the CPU use
// is not judged.
func TestCPUUseOfAMomentIsNotJudged(t *testing.T) {
	m := samples.MemberMetrics{Name: "m1", Seconds: 0.9, Metrics: store.Sample{store.CPUSeconds: {Value: 1.8}, store.Processors: {Value: 2}}}
	if got := processors(&m); got != nil {
		t.Errorf("the CPU use over 0.9 s is judged: %+v", got)
	}
	if m.Seconds = 1; processors(&m) == nil {
		t.Error("the CPU use over 1 s is not judged")
	}
}

// Each row describes a trial with a single cause. Find must find this cause and no other.
func TestFindLimits(t *testing.T) {
	end := func(metric store.Metric, r store.Reading) func(*record.Trial) {
		return func(t *record.Trial) { t.Stores[3].Metrics[metric] = r }
	}
	each := func(change func(*record.StoreRow)) func(*record.Trial) {
		return func(t *record.Trial) {
			for i := range t.Stores[1:4] {
				change(&t.Stores[i+1])
			}
		}
	}
	mid := func(change func(*record.StoreRow)) func(*record.Trial) {
		return func(t *record.Trial) { change(&t.Stores[2]) }
	}
	reads := func(level kv.Consistency, then func(*record.Trial)) func(*record.Trial) {
		return func(t *record.Trial) {
			t.Mix = []scenario.Operation{{Kind: kv.Get, Consistency: level, Weight: 1}}
			then(t)
		}
	}
	yes := true
	for _, test := range []struct {
		name   string
		change func(*record.Trial)
		what   string // empty if there is no cause
		text   string
	}{
		{"nothing", func(*record.Trial) {}, "", ""},
		{"fsync", end(store.FsyncSeconds, timer(0.004, 0.032)), CauseDisk, "member m1: log fsync p99 24.0 ms"},
		// no p90, because fewer than ten values are above it
		{"few fsyncs", end(store.FsyncSeconds, fewTimes(99, 0.032)), CauseDisk, "log fsync median 24.0 ms over 99 calls"},
		{"fsync at the limit", end(store.FsyncSeconds, timer(0.004, 0.008)), "", ""},
		{"fsync without buckets", end(store.FsyncSeconds, meanOf(0.011)), CauseDisk, "log fsync mean 11.0 ms over 100"},
		{"fsync that reads do not wait for", reads(kv.Linearizable, end(store.FsyncSeconds, timer(0.004, 0.032))), "", ""},
		{"commit", end(store.CommitSeconds, timer(0.004, 0.064)), CauseDisk, "database commit p99"},
		{"one long fsync", end(store.FsyncSeconds, func() store.Reading {
			r := timer(0.001, 0.001)
			r.Count++
			for i := range r.Buckets {
				if r.Buckets[i].Upper >= 0.512 {
					r.Buckets[i].Count = 1001
				}
			}
			return r
		}()), CauseDisk, "longest log fsync 256 ms to 512 ms"},
		{"folder", func(t *record.Trial) { t.Durability.FdatasyncP99NS = new(int64(2e7)) }, CauseDisk, "data folder (ext4): p99 20.0 ms over 1000 calls before the load"},
		{"the folder given", func(t *record.Trial) {
			t.DataDir = &record.DataDir{Path: "/data", Durability: measure.Durability{FileSystem: "ext4", FdatasyncP50NS: 1e6, FdatasyncP99NS: new(int64(2e7)), Fdatasyncs: 1000}}
		}, CauseDisk, "fdatasync in /data (ext4): p99 20.0 ms over 1000 calls after the load"},
		{"very slow folder", func(t *record.Trial) {
			t.Durability = &measure.Durability{Synced: true, FdatasyncP50NS: 5e7, Fdatasyncs: 60}
		}, CauseDisk, "median 50.0 ms over 60 calls"},
		{"folder without waiting writes", func(t *record.Trial) {
			t.Durability.FdatasyncP99NS, t.Durability.Synced = new(int64(2e7)), false
		}, "", ""},
		{"no folder", func(t *record.Trial) { t.Durability = nil }, "", ""},
		{"member's processors", end(store.CPUSeconds, store.Reading{Value: 210}), CauseCPU, "member m1 used 92 % of its 2 CPUs (110.0 s in 60.0 s"},
		{"processors not known", func(t *record.Trial) {
			t.Stores[3].Metrics[store.CPUSeconds] = store.Reading{Value: 700}
			delete(t.Stores[3].Metrics, store.Processors)
		}, "", ""},
		{"shared machine", func(t *record.Trial) { t.BusyShare, t.SharesMachine = new(0.95), &yes }, CauseCPU, "the 2 CPUs of this machine were 95 % busy (limit 85 %); members and load generator share them; run"},
		{"others' machine", func(t *record.Trial) { t.BusyShare, t.SharesMachine, t.ForeignShare = new(0.95), &yes, new(0.6) }, CauseOthers, "; other programs used 60 %"},
		{"a few others", func(t *record.Trial) { t.BusyShare, t.SharesMachine, t.ForeignShare = new(0.99), &yes, new(0.12) }, CauseCPU, "; other programs used 12 %"},
		{"own machine", func(t *record.Trial) { t.BusyShare = new(0.95) }, CauseGenerator, "the 2 CPUs of this machine were 95 % busy"},
		{"own loops", func(t *record.Trial) { t.LoopCPUNS = 55e9 }, CauseGenerator, "event loops were busy 92 %"},
		{"no CPU", func(t *record.Trial) { t.RunDelayNS = 9e9 }, CauseGenerator, "waited for a CPU 15 %"},
		{"paused", func(t *record.Trial) { t.LongestPauseNS = 7e8 }, CauseGenerator, "it did not run for 700 ms"},
		{"throttled", func(t *record.Trial) { t.ThrottledNS = new(int64(3e9)) }, CauseGenerator, "its CPU quota paused it for 3.00 s"},
		{"far away", each(func(r *record.StoreRow) { r.ConnectTime = 120 * time.Millisecond }), CauseNetwork, "the round trip to member m1 has a median of 120 ms over 3"},
		{"too far for the clients", func(t *record.Trial) {
			t.MaxInFlight = 20
			each(func(r *record.StoreRow) { r.ConnectTime = 15 * time.Millisecond })(t)
		}, CauseNetwork, "takes at least 15.0 ms, but with 20 clients and 1000 operations per second, each operation may take only 20.0 ms"},
		{"lost packets", mid(func(r *record.StoreRow) { r.ConnectTime = 1010 * time.Millisecond }), CauseNetwork, "packets to member m1 were lost"},
		{"no connection", mid(func(r *record.StoreRow) { r.ConnectTime, r.ConnectFailure = 0, "refused" }), CauseNetwork, "1 of 3 TCP connections to member m1 failed"},
		{"a member where it cannot be reached from here", func(t *record.Trial) {
			t.ByMember[0].Endpoint = "service:1"
			each(func(r *record.StoreRow) {
				*r = record.StoreRow{Time: r.Time, Name: r.Name, Endpoint: r.Endpoint, ConnectFailure: "x", Failure: "x"}
			})(t)
		}, "", ""},
		{"peers", end(store.PeerRoundTripSeconds, timer(0.1, 0.5)), CauseNetwork, "between member m1 and the other members: p99"},
		{"peers that linearizable reads wait for", reads(kv.Linearizable, end(store.PeerRoundTripSeconds, timer(0.1, 0.5))), CauseNetwork, "the other members"},
		{"peers that local reads do not wait for", reads(kv.Local, end(store.PeerRoundTripSeconds, timer(0.1, 0.5))), "", ""},
		{"election counted", end(store.LeaderChanges, store.Reading{Value: 7}), CauseElection, "member m1 counted 2 changes"},
		{"election by the term", func(t *record.Trial) { t.TermChanges = 1 }, CauseElection, "the cluster's term rose by 1"},
		{"alarm", func(t *record.Trial) { t.ByMember[0].Alarms = []string{"NOSPACE"} }, CauseAlarm, "member m1 raised the alarm NOSPACE"},
		{"silent", mid(func(r *record.StoreRow) { r.ResponseTime = 1200 * time.Millisecond }), CauseMember, "a status request took 1.20 s (limit 250 ms); TCP connects took 200 µs"},
		{"no answer", mid(func(r *record.StoreRow) { r.Failure, r.Metrics = "no response within the time limit", nil }), CauseMember, "did not respond to 1 of 3 status requests; TCP connects took"},
		{"no answer of our own member", func(t *record.Trial) {
			each(func(r *record.StoreRow) { r.ConnectTime = 0 })(t)
			t.Stores[2].Failure, t.Stores[2].Metrics = "no response within the time limit", nil
		}, CauseMember, "did not respond to 1 of 3 status requests"},
	} {
		trial := slowTrial()
		test.change(trial)
		l := Find(trial)
		if !isSlow(trial) {
			t.Errorf("%s: the trial is not slow", test.name)
		}
		switch {
		case test.what == "" && len(l.Causes) > 0:
			t.Errorf("%s: %+v", test.name, l.Causes)
		case test.what == "":
			if len(l.Evidence) < 3 || !strings.HasPrefix(l.Evidence[0], "member m1: ") {
				t.Errorf("%s: the evidence is %q", test.name, l.Evidence)
			}
		case len(l.Causes) != 1 || l.Causes[0].Kind != test.what || !strings.Contains(l.Causes[0].Text, test.text):
			t.Errorf("%s: %+v", test.name, l.Causes)
		}
	}
}

// A member that waits for a CPU counts the wait as disk time. So full CPUs are listed before the
// disk's timers.
func TestDiskTimersOnFullCPUs(t *testing.T) {
	const unsure = "; fdatasync alone had a p99 of 2.00 ms before the load, and all CPUs were busy, so the member may have waited for a CPU"
	slow := func(change func(*record.Trial)) []Cause {
		trial := slowTrial()
		trial.Stores[3].Metrics[store.FsyncSeconds] = timer(0.004, 0.032)
		trial.BusyShare, trial.SharesMachine = new(0.95), new(true)
		change(trial)
		l := Find(trial)
		return l.Causes
	}
	c := slow(func(*record.Trial) {})
	if len(c) != 2 || c[0].Kind != CauseCPU || c[1].Kind != CauseDisk || !strings.HasSuffix(c[1].Text, unsure) {
		t.Errorf("%+v", c)
	}
	for name, change := range map[string]func(*record.Trial){
		"idle CPUs":                     func(t *record.Trial) { t.BusyShare = new(0.5) },
		"members elsewhere":             func(t *record.Trial) { t.SharesMachine = new(false) },
		"nothing known of the disk":     func(t *record.Trial) { t.Durability = nil },
		"a disk that is slow by itself": func(t *record.Trial) { t.Durability.FdatasyncP99NS = new(int64(2e7)) },
	} {
		for _, one := range slow(change) {
			if strings.Contains(one.Text, "may have waited") {
				t.Errorf("%s: %s", name, one.Text)
			}
		}
	}
}

// The order of a member's alarms is random; a report sorts them.
func TestAlarmsAreInOrder(t *testing.T) {
	trial := &record.Trial{State: record.Complete, Seconds: 1, Parts: record.Parts{ByMember: []record.ByMember{{Name: "m2", Alarms: []string{"NOSPACE", "CORRUPT"}}, {Name: "m1", Alarms: []string{"NOSPACE"}}}}}
	var got []string
	for _, c := range Find(trial).Causes {
		got = append(got, c.Text)
	}
	if want := []string{"member m2 raised the alarm CORRUPT", "member m2 raised the alarm NOSPACE", "member m1 raised the alarm NOSPACE"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// Unknown figures do not lead to causes. They are listed as missing.
func TestUnknownFiguresCauseNoFinding(t *testing.T) {
	opened := noon
	trial := &record.Trial{State: record.Complete, Opened: &opened, Seconds: 60, AttachedData: record.AttachedData{Stores: []record.StoreRow{{Time: noon, Name: "m1", Endpoint: "h:1", ResponseTime: time.Millisecond, Failure: "it reports none"}}}}
	l := Find(trial)
	if len(l.Causes) > 0 || !strings.Contains(l.Evidence[0], "no metrics (it reports none)") {
		t.Errorf("%+v", l)
	}
	// If a store has no metrics, the rows of its members describe only the connections.
	trial.Stores[0].ResponseTime, trial.Stores[0].Failure, trial.Stores[0].ConnectTime = 0, "", time.Millisecond
	if l = Find(trial); len(l.Causes) > 0 || !strings.Contains(l.Evidence[0], "no metrics (the store has none)") {
		t.Errorf("a store without metrics has %+v", l)
	}
	if l = Find(&record.Trial{State: record.Failed}); len(l.Causes) > 0 || len(l.Evidence) > 0 {
		t.Errorf("a failed trial has %+v", l)
	}
}

// A trial that reached its rate with short times has no causes.
func TestIsSlow(t *testing.T) {
	known := func(ns float64) measure.Figure { return measure.Figure{NS: ns, Known: true} }
	kept := func(change func(*record.Trial)) *record.Trial {
		t := slowTrial()
		t.PerSecond = 999
		t.SuccessResponseTime.Max = known(3e8)
		t.ResponseTime.Percentiles[6] = known(9e7)
		change(t)
		return t
	}
	if got := kept(func(*record.Trial) {}).ResponseTime.Percentile(99); got != known(9e7) {
		t.Fatalf("p99 is %+v", got)
	}
	for name, test := range map[string]struct {
		t    *record.Trial
		slow bool
	}{
		"kept its rate":     {kept(func(*record.Trial) {}), false},
		"did not":           {slowTrial(), true},
		"a p99 of 110 ms":   {kept(func(t *record.Trial) { t.ResponseTime.Percentiles[6] = known(1.1e8) }), true},
		"a p99 that failed": {kept(func(t *record.Trial) { t.ResponseTime.Percentiles[6] = measure.Figure{Failed: true} }), true},
		"one of 600 ms":     {kept(func(t *record.Trial) { t.SuccessResponseTime.Max = known(6e8) }), true},
		"a gap of 600 ms":   {kept(func(t *record.Trial) { t.LongestGap = 0.6 }), true},
		"a closed loop":     {kept(func(t *record.Trial) { t.Arrival, t.Rate = scenario.Closed, nil }), false},
		"a slow closed loop": {kept(func(t *record.Trial) {
			t.Arrival, t.Rate, t.ResponseTime.Percentiles[6] = scenario.Closed, nil, known(1.1e8)
		}), true},
		"nothing was measured": {&record.Trial{State: record.Failed}, false},
		"interrupted":          {&record.Trial{State: record.Interrupted, Seconds: 1}, false},
	} {
		if isSlow(test.t) != test.slow {
			t.Errorf("%s: slow is %v", name, !test.slow)
		}
	}
}

// If several members have a slow disk, the slowest member is named and the others are counted.
func TestWorstOfAKind(t *testing.T) {
	trial := slowTrial()
	for i, worst := range []float64{0.064, 0.512} {
		for _, r := range trial.Stores[1:4] {
			r.Name, r.Endpoint = []string{"m2", "m3"}[i], []string{"h:2", "h:3"}[i]
			r.Metrics = r.Metrics.Since(nil)
			if r.Time.After(noon) {
				r.Metrics[store.FsyncSeconds] = timer(0.004, worst)
			}
			trial.Stores = append(trial.Stores, r)
		}
	}
	trial.LongestPauseNS = 7e8
	l := Find(trial)
	worst, more := l.worstPerKind()
	if len(worst) != 2 || worst[0].Member != "m3" || more[0] != 1 || worst[1].Kind != CauseGenerator || more[1] != 0 {
		t.Errorf("%+v, %v", worst, more)
	}
	trial.PerSecond = 1000
	if worst, _ := l.worstPerKind(); len(worst) > 0 {
		t.Errorf("a trial that is not slow has the worst causes %+v", worst)
	}
}

// Rows are in the order of the members' responses, which differs between runs.
func TestMembersAreOrdered(t *testing.T) {
	trial := slowTrial()
	trial.ByMember = []record.ByMember{{Name: "m1", Endpoint: "h:1"}, {Name: "m2", Endpoint: "h:2"}}
	trial.Stores = nil
	for _, name := range []string{"9", "8", "2", "1"} {
		trial.Stores = append(trial.Stores, record.StoreRow{Time: noon, Name: "m" + name, Endpoint: "h:" + name, ResponseTime: time.Millisecond})
	}
	got := ""
	for _, m := range samples.AllMemberMetrics(trial) {
		got += m.Name + " "
	}
	if got != "m1 m2 m8 m9 " {
		t.Errorf("the order is %s", got)
	}
}
