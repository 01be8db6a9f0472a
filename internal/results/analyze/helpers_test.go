package analyze

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/figures"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 601_234_567, time.UTC)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func fig(x float64) figures.Value { return figures.Value{Number: x, Known: true} }

// made is a generated run in a folder, with the data of its only trial.
type made struct {
	dir      string
	run      *record.Run
	response *measure.Histogram // the successes in the window
	service  *measure.Histogram
	failed   uint64
	done     []uint64 // for each second
}

// shape describes a run to generate.
type shape struct {
	seed      uint64
	seconds   float64 // length of the window
	perSecond int
	failures  float64
	open      bool
	idle      int   // a second in which no operation is due; -1 for none
	skip      []int // seconds that are not recorded
}

// record writes a run of random operations: a warm-up of one second, then the window.
func (s shape) record(t *testing.T) *made {
	t.Helper()
	rng := rand.New(rand.NewPCG(s.seed, 7))
	w, err := record.Create(t.TempDir(), "made", noon, record.Run{Name: "made", Planned: 1})
	must(t, err)
	c := record.Conditions{Number: 1, Name: "put", Repeat: 1, Repeats: 1, Store: "etcd", Version: "3.7.3", Operation: "put",
		Members: 1, Load: scenario.Load{Clients: 10, Connections: 10, Mix: []scenario.Operation{{Kind: kv.Put, Weight: 1}}}}
	if s.open {
		rate := 1000.0
		c.Arrival, c.Rate = scenario.Constant, &rate
	}
	tw, err := w.Trial(c, noon)
	must(t, err)
	m := &made{dir: w.Dir(), response: measure.NewHistogram(), service: measure.NewHistogram()}
	total := &measure.Totals{Seconds: s.seconds, ErrorTexts: map[kv.Outcome]string{}}
	must(t, tw.Begin(measure.Warmup, noon))
	must(t, tw.Second(s.second(rng, measure.Warmup, 0, &made{response: measure.NewHistogram(), service: measure.NewHistogram()}, &measure.Totals{})))
	must(t, tw.Begin(measure.Measured, noon.Add(time.Second)))
	tw.End(measure.Measured, noon.Add(time.Second+time.Duration(s.seconds*1e9)))
	for i := 0; float64(i) < s.seconds; i++ {
		skipped := false
		for _, n := range s.skip {
			skipped = skipped || n == i
		}
		if !skipped {
			must(t, tw.Second(s.second(rng, measure.Measured, i, m, total)))
		}
	}
	must(t, tw.Finish(record.NewTrial(c, record.Observed{Started: noon, Opened: noon.Add(time.Second), CPUSeconds: 1}, total, nil, nil)))
	must(t, w.Finish(record.Complete, "", noon.Add(time.Minute)))
	m.run, err = record.Open(m.dir)
	must(t, err)
	return m
}

func (s shape) second(rng *rand.Rand, phase measure.Phase, index int, m *made, total *measure.Totals) *measure.Second {
	cells := []*measure.Cell{{Series: measure.Series{Kind: kv.Put, Member: 1, Term: 2}}, {Series: measure.Series{Kind: kv.Put, Member: 2, Term: 2}}}
	for _, c := range cells {
		c.Response, c.Service = measure.NewHistogram(), measure.NewHistogram()
		c.Failed[measure.ErrorIndex(kv.TimedOut)] = measure.NewHistogram()
	}
	sec := &measure.Second{Phase: phase, Index: index, Clients: 10, Connections: 10, InFlight: 3, Tally: measure.Tally{Cells: cells}}
	n := 1 + rng.IntN(s.perSecond)
	if index == s.idle && phase == measure.Measured {
		n = 0
	}
	for range n {
		c := cells[rng.IntN(2)]
		ns := int64(rng.ExpFloat64() * 20e6)
		sec.Due++
		if rng.Float64() < s.failures {
			sec.Outcomes[kv.TimedOut]++
			measure.Record(c.Failed[measure.ErrorIndex(kv.TimedOut)], ns)
			m.failed++
			continue
		}
		sec.Outcomes[kv.OK]++
		sec.Done++
		measure.Record(c.Response, ns)
		measure.Record(c.Service, ns/2)
		// the operation waited for the generator, not for a connection
		total.Disturbance.Idle += ns - ns/2
		measure.Record(m.response, ns)
		measure.Record(m.service, ns/2)
	}
	m.done = append(m.done, sec.Done)
	total.Due += sec.Due
	total.Done += sec.Done
	for o := range sec.Outcomes {
		total.Outcomes[o] += sec.Outcomes[o]
	}
	copies := make([]*measure.Cell, 0, len(cells))
	total.Cells = measure.MergeCells(total.Cells, append(copies, cells...))
	return sec
}
