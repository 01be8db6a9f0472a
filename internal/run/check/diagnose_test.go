package check

import (
	"math"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/store"
)

// timer is 100 times, 98 of which are up to usual and two up to worst, as etcd
// tells them.
func timer(usual, worst float64) store.Reading {
	r := store.Reading{Count: 100, Sum: 98*usual + 2*worst}
	for upper := 0.001; upper < 9; upper *= 2 {
		b := store.Bucket{Upper: upper}
		if upper >= usual {
			b.Count = 98
		}
		if upper >= worst {
			b.Count = 100
		}
		r.Buckets = append(r.Buckets, b)
	}
	r.Buckets = append(r.Buckets, store.Bucket{Upper: math.Inf(1), Count: 100})
	return r
}

func mean(seconds float64) store.Reading { return store.Reading{Sum: 100 * seconds, Count: 100} }

// healthy is a cluster of one with nothing wrong.
func healthy() Figures {
	return Figures{
		Seconds: 60, Rate: 1000, Clients: 200, Throughput: 800,
		Members: []MemberFigures{{
			Name: "m1", Asked: 60, Slowest: 0.01, Connects: 60, Round: RoundTrip{0.0001, 0.0002, 0.001},
			Metrics: store.Sample{
				store.FsyncSeconds: timer(0.001, 0.004), store.CommitSeconds: timer(0.004, 0.016), store.PeerRoundTripSeconds: timer(0.001, 0.008),
				store.CPUSeconds: {Value: 30}, store.Processors: {Value: 2}, store.LeaderChanges: {},
			},
		}},
		Tester: TesterFigures{Loops: 1, LoopCPU: 6, RunDelay: 0.1, LongestPause: 0.002, MachineBusy: 0.5, Processors: 2},
	}
}

func TestDiagnosis(t *testing.T) {
	m := func(change func(*MemberFigures)) func(*Figures) { return func(f *Figures) { change(&f.Members[0]) } }
	set := func(metric store.Metric, r store.Reading) func(*Figures) {
		return m(func(m *MemberFigures) { m.Metrics[metric] = r })
	}
	for _, test := range []struct {
		name   string
		change func(*Figures)
		what   string // empty: no cause
		text   string
	}{
		{"nothing", func(*Figures) {}, "", ""},
		{"fsync", set(store.FsyncSeconds, timer(0.004, 0.032)), CauseDisk, "member m1's fsync of its log had a p99 of 24.0 ms"},
		{"fsync at the limit", set(store.FsyncSeconds, timer(0.004, 0.008)), "", ""},
		{"fsync without buckets", set(store.FsyncSeconds, mean(0.011)), CauseDisk, "a mean of 11.0 ms over 100"},
		{"commit", set(store.CommitSeconds, timer(0.004, 0.064)), CauseDisk, "commit of its database had a p99"},
		{"one long fsync", set(store.FsyncSeconds, func() store.Reading {
			r := timer(0.001, 0.001)
			r.Count++
			for i := range r.Buckets {
				if r.Buckets[i].Upper >= 0.512 {
					r.Buckets[i].Count = 101
				} else if r.Buckets[i].Upper >= 0.001 {
					r.Buckets[i].Count = 100
				}
			}
			return r
		}()), CauseDisk, "longest fsync of its log took from 256 ms to 512 ms"},
		{"folder", func(f *Figures) { f.Probe = &ProbeFigures{Dir: "/data", FileSystem: "ext4", P99: 0.02, Count: 100} }, CauseDisk, "fdatasync in /data (ext4) has a p99 of 20.0 ms"},
		{"very slow folder", func(f *Figures) { f.Probe = &ProbeFigures{Dir: "/data", FileSystem: "ext4", P50: 0.05, Count: 100} }, CauseDisk, "fdatasync in /data (ext4) has a median of 50.0 ms"},
		{"quick folder", func(f *Figures) { f.Probe = &ProbeFigures{P99: 0.002} }, "", ""},
		{"member's processors", set(store.CPUSeconds, store.Reading{Value: 110}), CauseCPU, "member m1 used 92 % of its 2 processors (110.0 s in 60.0 s"},
		{"processors not told", m(func(m *MemberFigures) {
			m.Metrics[store.CPUSeconds] = store.Reading{Value: 600}
			delete(m.Metrics, store.Processors)
		}), "", ""},
		{"shared machine", func(f *Figures) { f.Tester.MachineBusy, f.Tester.Shared = 0.95, []string{"m1"} }, CauseCPU, "in use 95 % of the time (limit 85 %), which this program shares with m1"},
		{"own machine", func(f *Figures) { f.Tester.MachineBusy = 0.95 }, CauseTester, "the 2 processors of this machine were in use 95 %"},
		{"own loops", func(f *Figures) { f.Tester.LoopCPU = 55 }, CauseTester, "event loops were busy 92 %"},
		{"no processor", func(f *Figures) { f.Tester.RunDelay = 9 }, CauseTester, "waited for a processor 15 %"},
		{"stood still", func(f *Figures) { f.Tester.LongestPause = 0.7 }, CauseTester, "this program stood still for 700 ms"},
		{"throttled", func(f *Figures) { f.Tester.Throttled = 3 }, CauseTester, "held it back for 3.00 s"},
		{"far away", m(func(m *MemberFigures) { m.Round = RoundTrip{0.11, 0.12, 0.2} }), CauseNetwork, "between this program and member m1 has a median of 120 ms over 60"},
		{"too far for the clients", func(f *Figures) {
			f.Clients, f.Members[0].Round = 20, RoundTrip{0.015, 0.016, 0.02}
		}, CauseNetwork, "takes at least 15.0 ms, and 20 clients that write 1000 times a second have 20.0 ms"},
		{"lost packets", m(func(m *MemberFigures) { m.Round.Max = 1.01 }), CauseNetwork, "packets between this program and member m1 are lost"},
		{"no connection", m(func(m *MemberFigures) { m.Refused = 3 }), CauseNetwork, "3 of 60 TCP connections to member m1 did not come to be"},
		{"peers", set(store.PeerRoundTripSeconds, timer(0.1, 0.5)), CauseNetwork, "between member m1 and the other members had a p99"},
		{"election counted", set(store.LeaderChanges, store.Reading{Value: 2}), CauseElection, "member m1 counted 2 changes"},
		{"election by the term", func(f *Figures) { f.Elections = 1 }, CauseElection, "the cluster's term rose by 1"},
		{"alarm", m(func(m *MemberFigures) { m.Alarms = []string{"NOSPACE"} }), CauseAlarm, "member m1 raises the alarm NOSPACE"},
		{"silent", m(func(m *MemberFigures) { m.Slowest = 1.2 }), CauseMember, "took 1.20 s to answer a question about itself (limit 250 ms); its machine accepts TCP connections in 200 µs"},
		{"no answer", m(func(m *MemberFigures) { m.Unanswered = 4 }), CauseMember, "did not answer 4 of 60 questions"},
	} {
		f := healthy()
		test.change(&f)
		causes, looked := Diagnose(f)
		switch {
		case test.what == "" && len(causes) > 0:
			t.Errorf("%s: %+v", test.name, causes)
		case test.what == "":
			if len(looked) < 3 || !strings.Contains(looked[0], "member m1: fsync with a p99 of") {
				t.Errorf("%s: looked at %q", test.name, looked)
			}
		case len(causes) != 1 || causes[0].What != test.what || !strings.Contains(causes[0].Text, test.text):
			t.Errorf("%s: %+v", test.name, causes)
		}
	}
}

// A rule's figure is above its limit, and a member without metrics is said to
// be one.
func TestNothingIsMadeOfWhatIsNotKnown(t *testing.T) {
	f := Figures{Seconds: 60, Rate: 150, Clients: 50, Members: []MemberFigures{{Name: "m1", Unread: "it tells none"}}, Tester: TesterFigures{MachineBusy: -1}}
	causes, looked := Diagnose(f)
	if len(causes) > 0 || !strings.Contains(looked[0], "no metrics of its own (it tells none)") {
		t.Errorf("%+v, %q", causes, looked)
	}
}
