package trial

import (
	"context"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/figures"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/scenario/fault"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
	"github.com/quorumbench/quorumbench/internal/testing/simulate"
)

// silent is a server that sends no responses during a period, the silence. If slope is set, the
// server sends fewer and fewer responses before the silence. Times are in nanoseconds since the
// window opened.
type silent struct {
	simulate.Server
	opened              int64 // 0 if not yet
	from, length, slope int64
	responseTimes       []int64 // times at which responses were sent, since the window opened
	random              *rand.Rand
}

func (s *silent) Serve(at int64, endpoint string, q simulate.Request) (int64, kv.Outcome) {
	leaves, outcome := s.Server.Serve(at, endpoint, q)
	if s.opened == 0 {
		return leaves, outcome
	}
	since := leaves - s.opened
	before := s.from - since
	if since >= s.from && before > -s.length || before > 0 && before < s.slope && s.random.Float64() > float64(before)/float64(s.slope) {
		since = s.from + s.length + since%1_000_000
	}
	s.responseTimes = append(s.responseTimes, since)
	return s.opened + since, outcome
}

// longest returns the longest of the periods without a response that end after the given time.
func (s *silent) longest(after int64) (longest int64) {
	slices.Sort(s.responseTimes)
	for i, at := range s.responseTimes[1:] {
		if at > after {
			longest = max(longest, at-s.responseTimes[i])
		}
	}
	return longest
}

// recordFault runs a load on the server, and records the load with a fault that begins shortly
// before the server is silent. It returns the fault as it is read from the run directory.
func (s *silent) recordFault(t *testing.T, w *simulate.World, a *load.Assignment) *record.Fault {
	t.Helper()
	out, err := record.CreateAt(filepath.Join(t.TempDir(), "run"), time.Now(), record.Run{Name: "silence", Planned: 1})
	if err != nil {
		t.Fatal(err)
	}
	c := record.Conditions{Number: 1, Name: "silence", Repeat: 1, Repeats: 1, Load: a.Load}
	trial, err := out.Trial(c, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := trial.Begin(measure.Measured, time.Now()); err != nil {
		t.Fatal(err)
	}
	worker := load.Local{World: w, Stores: func(string) (store.Store, error) { return simulate.Store{}, nil }}
	res, err := load.Run(context.Background(), &worker, a, load.Reports{
		OnPhaseChange: func(m load.PhaseChange) {
			if m.Phase == measure.Measured && !m.Ended {
				s.opened = w.Now()
			}
		},
		Second: func(second *measure.Second) {
			if second.Phase == measure.Measured {
				if err := trial.Second(second); err != nil {
					t.Error(err)
				}
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	observed := record.Observed{
		Members: []record.Member{{ID: 1, Name: "m1"}},
		Faults:  []record.Fault{{Number: 1, Description: "silence", BeganAt: new(s.faultBegan()), HealedAt: new(s.faultBegan()), RecoveredAt: new(s.faultBegan()), Member: "m1"}},
	}
	if err := trial.Finish(record.NewTrial(c, observed, res.Measured, nil, nil)); err != nil {
		t.Fatal(err)
	}
	if err := out.Finish(record.Complete, "", time.Now()); err != nil {
		t.Fatal(err)
	}
	run, err := record.Open(out.Dir())
	if err != nil {
		t.Fatal(err)
	}
	figures.ReadTrialFiles(run, out.Dir())
	return &run.Trials[0].Faults[0]
}

// faultBegan returns the time at which the fault begins, in seconds after the start of the window.
func (s *silent) faultBegan() float64 { return float64(s.from)/1e9 - 0.025 }

// In the generator's records, outages between 3 and 3,000 ms are found with an error of at most 10
// ms, whether they begin abruptly or with a slope. If the server was never silent, no outage is
// found.
func TestFindsOutagesOfAServer(t *testing.T) {
	settle.SkipUnderRace(t)
	r := rand.New(rand.NewPCG(7, 8))
	for i, length := range []int64{3, 4, 7, 13, 40, 90, 200, 450, 900, 1500, 2100, 3000, 0, 0} {
		s := &silent{Server: &simulate.Delaying{Times: simulate.ResponseTimes{Median: 1e6, Spread: 0.2, Seed: uint64(i + 1)}},
			from: 1_500_000_000 + r.Int64N(500_000_000), length: length * 1_000_000, random: r}
		if i%2 == 1 {
			s.slope = 20_000_000
		}
		if length == 0 {
			s.slope = 0
		}
		l := scenario.Load{
			Mix: []scenario.Operation{{Kind: kv.Put, Weight: 1}}, Arrival: scenario.Constant, Rate: scenario.Rate{PerSecond: 20_000}, Threads: 1,
			Connections: 10, Duration: time.Duration(4e9 + s.length), Warmup: 200 * time.Millisecond,
			KeySize: 8, ValueSize: 16, KeySpace: 1000, Distribution: scenario.Distribution{Name: "uniform"},
			Timeout: 10 * time.Second, MaxInFlight: 100_000, Seed: 1,
			Faults: []fault.Fault{{Kind: fault.Pause, At: time.Duration(s.from), Duration: time.Millisecond}},
		}
		w := simulate.New(1, 20_000, s, func(n int) simulate.Machine { return &simulate.Quiet{Jitter: 5_000, Seed: uint64(i + n + 1)} })
		f, began := s.recordFault(t, w, &load.Assignment{Load: l, Endpoints: []string{"m1"}}), s.faultBegan()
		if length == 0 {
			if f.Outage != nil || f.FirstFailureAt != nil || f.ThroughputRecoveredAt == nil || *f.ThroughputRecoveredAt != began {
				t.Errorf("the fault without a silence was recorded as %+v", f)
			}
			continue
		}
		truth := float64(s.longest(int64(began*1e9))) / 1e9
		switch {
		case f.Outage == nil:
			t.Errorf("no outage was found for a silence of %d ms with a slope of %d ms; the longest gap before is %v", length, s.slope/1_000_000, *f.LongestGapBefore)
			continue
		case math.Abs(*f.Outage-truth) > 0.010 || math.Abs(*f.OutageStart-float64(s.from)/1e9) > 0.020:
			t.Errorf("a silence of %d ms, which lasted %.4f s from %.4f s on, was recorded as an outage of %.4f s from %.4f s on", length, truth, float64(s.from)/1e9, *f.Outage, *f.OutageStart)
		case s.slope == 0 && math.Abs(*f.Outage-float64(length)/1e3) > 0.010:
			t.Errorf("a silence of %d ms was recorded as an outage of %.4f s", length, *f.Outage)
		}
		if len(f.ByPart) != 1 || f.ByPart[0].Member != "m1" || f.ByPart[0].Outage == nil || math.Abs(*f.ByPart[0].Outage-truth) > 0.010 {
			t.Errorf("the outages by member are %+v", f.ByPart)
		}
		// The operations that had to wait complete at once after the silence. One second therefore
		// has more completions than usual.
		if end := *f.OutageStart + *f.Outage; f.ThroughputRecoveredAt == nil || *f.ThroughputRecoveredAt < end || *f.ThroughputRecoveredAt > end+0.1 {
			t.Errorf("after a silence of %d ms until %.3f s, the throughput recovered at %v s", length, end, orNone(f.ThroughputRecoveredAt))
		}
	}
}

func orNone(x *float64) float64 {
	if x == nil {
		return math.NaN()
	}
	return *x
}

// oneOf is a server with several members, one of which is silent for a period.
type oneOf struct{ silent }

func (s *oneOf) Serve(at int64, endpoint string, q simulate.Request) (int64, kv.Outcome) {
	if endpoint != "m1" {
		return s.Server.Serve(at, endpoint, q)
	}
	return s.silent.Serve(at, endpoint, q)
}

// While one of three members is silent, only the clients of this member wait. If the member is
// silent until the end of the window, these clients are still waiting then.
func TestFindsOutagesOfClients(t *testing.T) {
	settle.SkipUnderRace(t)
	for _, length := range []int64{900, 5000} {
		s := &oneOf{silent{Server: &simulate.Delaying{Times: simulate.ResponseTimes{Median: 1e6, Spread: 0.2, Seed: 3}}, from: 1_500_000_000, length: length * 1_000_000}}
		l := scenario.Load{
			Mix: []scenario.Operation{{Kind: kv.Put, Weight: 1}}, Arrival: scenario.Closed, Clients: 12, Threads: 2,
			Connections: 6, Duration: 4 * time.Second, Warmup: 200 * time.Millisecond, Target: kv.Target{Mode: kv.AllMembers},
			KeySize: 8, ValueSize: 16, KeySpace: 1000, Distribution: scenario.Distribution{Name: "uniform"},
			Timeout: 10 * time.Second, Seed: 1,
			Faults: []fault.Fault{{Kind: fault.Pause, At: time.Duration(s.from), Duration: time.Millisecond}},
		}
		w := simulate.New(2, 20_000, s, func(n int) simulate.Machine { return &simulate.Quiet{Jitter: 5_000, Seed: uint64(n + 1)} })
		got := s.recordFault(t, w, &load.Assignment{Load: l, Endpoints: []string{"m1", "m2", "m3"}}).Clients
		if got == nil || got.Clients != 12 || got.Median != 0 || math.Abs(got.Worst-min(float64(length)/1e3, 2.5)) > 0.010 || (got.UnfinishedOutages == 4) != (length > 2500) {
			t.Errorf("the client outages for a silence of %d ms at one of three members are %+v", length, got)
		}
	}
}
