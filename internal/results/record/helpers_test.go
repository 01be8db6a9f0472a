package record

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// noon is the time at which the runs in tests start. It is not a whole second.
var noon = time.Date(2026, 3, 1, 12, 0, 0, 601_234_567, time.UTC)

const leaderID, followerID = 0x8e9e05c52164694d, 0xfd422379fda50e48

// load simulates the output of a generator. It records the same random operations in two forms:
// separately for each second, and as totals.
type load struct {
	rng     *rand.Rand
	seconds []*measure.Second
	totals  [2]*measure.Totals
	// failures is the probability that an operation fails.
	failures float64
	open     bool
}

func newLoad(seed uint64, failures float64, open bool) *load {
	return &load{
		rng: rand.New(rand.NewPCG(seed, 1)), failures: failures, open: open,
		totals: [2]*measure.Totals{{}, {}},
	}
}

// phase adds the data of several seconds to a phase. Each second has at most perSecond operations.
func (l *load) phase(p measure.Phase, seconds, perSecond int) {
	t := l.totals[p]
	t.Seconds = float64(seconds)
	t.ErrorTexts = map[kv.Outcome]string{}
	if l.open {
		t.Lateness = measure.NewHistogram()
	}
	for i := range seconds {
		s := &measure.Second{Phase: p, Index: i, Connections: 10, Clients: 100, InFlight: 7, Tally: measure.Tally{Counts: measure.Counts{BytesIn: 1000, BytesOut: 900}}}
		if l.open {
			s.Lateness = measure.NewHistogram()
		}
		for range 1 + l.rng.IntN(perSecond) {
			l.operation(s, t)
		}
		t.Done += s.Done
		t.BytesIn += s.BytesIn
		t.BytesOut += s.BytesOut
		l.seconds = append(l.seconds, s)
	}
}

func (l *load) operation(s *measure.Second, t *measure.Totals) {
	series := measure.Series{Kind: kv.Put, Member: leaderID, Term: 2}
	if l.rng.IntN(2) == 0 {
		series = measure.Series{Kind: kv.Get, Consistency: kv.Linearizable, Member: followerID, Term: uint64(2 + l.rng.IntN(2))}
	}
	outcome := kv.OK
	switch {
	case l.rng.Float64() < l.failures:
		outcome = kv.NotSent + kv.Outcome(l.rng.IntN(measure.NumErrors))
		series.Member, series.Term = 0, 0
		t.ErrorTexts[outcome] = "it went wrong"
	case l.rng.IntN(50) == 0:
		outcome = kv.Miss
	}
	// The times range from less than the histogram's smallest unit to more than a minute.
	response := int64(l.rng.ExpFloat64() * 1e6)
	if l.rng.IntN(100) == 0 {
		response = l.rng.Int64N(90e9)
	} else if l.rng.IntN(100) == 0 {
		response = l.rng.Int64N(200)
	}
	late := l.rng.Int64N(1 + response)
	for _, into := range []*measure.Cell{cellOf(&s.Cells, series), cellOf(&t.Cells, series)} {
		if outcome.Failed() {
			add(&into.Failed[measure.ErrorIndex(outcome)], response)
			continue
		}
		add(&into.Response, response)
		add(&into.Service, response-late)
	}
	if l.open {
		measure.Record(s.Lateness, late)
		measure.Record(t.Lateness, late)
	}
	s.Due++
	s.Outcomes[outcome]++
	t.Due++
	t.Outcomes[outcome]++
	if !outcome.Failed() {
		s.Done++
		s.DoneKinds[series.Kind]++
	}
}

func cellOf(cells *[]*measure.Cell, series measure.Series) *measure.Cell {
	for _, c := range *cells {
		if c.Series == series {
			return c
		}
	}
	c := &measure.Cell{Series: series}
	*cells = append(*cells, c)
	return c
}

func add(h **measure.Histogram, ns int64) {
	if *h == nil {
		*h = measure.NewHistogram()
	}
	measure.Record(*h, ns)
}

func conditions() Conditions {
	rate, p99 := 1000.0, int64(3_400_000)
	return Conditions{
		Number: 1, Name: "put-leader", Repeat: 1, Repeats: 1, Store: "etcd", Version: "3.7.3",
		Operation: Mixed, Consistency: "linearizable", Members: 3,
		Load: scenario.Load{
			Mix:    []scenario.Operation{{Kind: kv.Put, Weight: 1}, {Kind: kv.Get, Consistency: kv.Linearizable, Weight: 1}},
			Target: kv.Target{Mode: kv.AllMembers}, Connections: 10, Clients: 100, Arrival: scenario.Constant,
			Warmup: 2 * time.Second, Timeout: 10 * time.Second, KeySize: 8, ValueSize: 256, KeySpace: 1000,
			Distribution: scenario.Distribution{Name: scenario.Uniform}, Preload: true, Seed: 42,
		},
		Endpoints: []string{"127.0.0.1:2379"}, Rate: &rate, Loops: 2, Tool: "0.1.0",
		Durability: &measure.Durability{FdatasyncP50NS: 1_200_000, FdatasyncP99NS: &p99, Fdatasyncs: 1000, FileSystem: "ext4", Synced: true},
	}
}

var roles = RoleHistory{
	{Member: leaderID, Name: "m1", Term: 2, Role: "leader"},
	{Member: followerID, Name: "m2", Term: 3, Role: "leader"},
}

// newRun begins a run in a fresh folder.
func newRun(t *testing.T) *Writer {
	t.Helper()
	w, err := Create(t.TempDir(), "quick", noon, Run{Name: "quick", Seed: 42, Planned: 1})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// write passes the data of each second of the load to a trial's writer.
func (l *load) write(t *testing.T, tw *TrialWriter) {
	t.Helper()
	must(t, tw.Begin(measure.Warmup, noon))
	warm := 0
	for _, s := range l.seconds {
		if s.Phase == measure.Warmup {
			warm++
		}
	}
	must(t, tw.Begin(measure.Measured, noon.Add(time.Duration(warm)*time.Second)))
	for _, s := range l.seconds {
		must(t, tw.Second(s))
	}
}

// noRecovery reads slots.jsonl, but computes no recovery.
func noRecovery(_ *Trial, read func() (*measure.WindowTimeline, error)) error {
	_, err := read()
	return err
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func readFile(t *testing.T, elem ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(elem...))
	must(t, err)
	return string(b)
}

// Merge returns the sum of the intervals with tags that `keep` accepts. The sum equals a histogram
// in which all their values were recorded.
func Merge(intervals []Interval, keep func(Tag) bool) *measure.Histogram {
	all := measure.NewHistogram()
	for i := range intervals {
		if keep(intervals[i].Tag) {
			all = intervals[i].AddTo(all)
		}
	}
	return all
}
