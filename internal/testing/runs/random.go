package runs

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// RandomRun is a recorded run of random operations, with the data of its only trial.
type RandomRun struct {
	Dir      string
	Run      *record.Run
	Response *measure.Histogram // the successes in the window
	Service  *measure.Histogram
	Failed   uint64
	Done     []uint64 // operations done in each recorded second of the window
}

// Random describes a short run of random operations on two members.
type Random struct {
	Seed      uint64
	Seconds   float64 // length of the window
	PerSecond int     // maximum number of operations per second
	Failures  float64 // probability that an operation fails
	Open      bool    // the load is an open loop
	Idle      int     // a second in which no operation is due; -1 for none
	Skip      []int   // seconds that are not recorded
}

// Record writes the run to a temporary folder: a warm-up of one second, then the window.
func (s Random) Record(t testing.TB) *RandomRun {
	t.Helper()
	rng := rand.New(rand.NewPCG(s.Seed, 7))
	w, err := record.Create(t.TempDir(), "made", Noon, record.Run{Name: "made", Planned: 1})
	check(t, err)
	c := record.Conditions{Number: 1, Name: "put", Repeat: 1, Repeats: 1, Store: "etcd", Version: "3.7.3", Operation: "put",
		Members: 2, Load: scenario.Load{Clients: 10, Connections: 10, Mix: []scenario.Operation{{Kind: kv.Put, Weight: 1}}}}
	if s.Open {
		rate := 1000.0
		c.Arrival, c.Rate = scenario.Constant, &rate
	}
	tw, err := w.Trial(c, Noon)
	check(t, err)
	m := &RandomRun{Dir: w.Dir(), Response: measure.NewHistogram(), Service: measure.NewHistogram()}
	total := &measure.Totals{Seconds: s.Seconds, ErrorTexts: map[kv.Outcome]string{}}
	check(t, tw.Begin(measure.Warmup, Noon))
	check(t, tw.Second(s.second(rng, measure.Warmup, 0, &RandomRun{Response: measure.NewHistogram(), Service: measure.NewHistogram()}, &measure.Totals{})))
	check(t, tw.Begin(measure.Measured, Noon.Add(time.Second)))
	tw.End(measure.Measured, Noon.Add(time.Second+time.Duration(s.Seconds*1e9)))
	for i := 0; float64(i) < s.Seconds; i++ {
		skipped := false
		for _, n := range s.Skip {
			skipped = skipped || n == i
		}
		if !skipped {
			check(t, tw.Second(s.second(rng, measure.Measured, i, m, total)))
		}
	}
	check(t, tw.Finish(record.NewTrial(c, record.Observed{Started: Noon, Opened: Noon.Add(time.Second), CPUSeconds: 1}, total, nil, nil)))
	check(t, w.Finish(record.Complete, "", Noon.Add(time.Minute)))
	m.Run, err = record.Open(m.Dir)
	check(t, err)
	return m
}

func (s Random) second(rng *rand.Rand, phase measure.Phase, index int, m *RandomRun, total *measure.Totals) *measure.Second {
	cells := []*measure.Cell{{Series: measure.Series{Kind: kv.Put, Member: 1, Term: 2}}, {Series: measure.Series{Kind: kv.Put, Member: 2, Term: 2}}}
	for _, c := range cells {
		c.Response, c.Service = measure.NewHistogram(), measure.NewHistogram()
		c.Failed[measure.ErrorIndex(kv.TimedOut)] = measure.NewHistogram()
	}
	sec := &measure.Second{Phase: phase, Index: index, Clients: 10, Connections: 10, InFlight: 3, Tally: measure.Tally{Cells: cells}}
	n := 1 + rng.IntN(s.PerSecond)
	if index == s.Idle && phase == measure.Measured {
		n = 0
	}
	for range n {
		c := cells[rng.IntN(2)]
		ns := int64(rng.ExpFloat64() * 20e6)
		sec.Due++
		if rng.Float64() < s.Failures {
			sec.Outcomes[kv.TimedOut]++
			measure.Record(c.Failed[measure.ErrorIndex(kv.TimedOut)], ns)
			m.Failed++
			continue
		}
		sec.Outcomes[kv.OK]++
		sec.Done++
		measure.Record(c.Response, ns)
		measure.Record(c.Service, ns/2)
		// the operation waited for the generator, not for a connection
		total.Disturbance.Idle += ns - ns/2
		measure.Record(m.Response, ns)
		measure.Record(m.Service, ns/2)
	}
	m.Done = append(m.Done, sec.Done)
	total.Due += sec.Due
	total.Done += sec.Done
	for o := range sec.Outcomes {
		total.Outcomes[o] += sec.Outcomes[o]
	}
	copies := make([]*measure.Cell, 0, len(cells))
	total.Cells = measure.MergeCells(total.Cells, append(copies, cells...))
	return sec
}
