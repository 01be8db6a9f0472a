// Package runs provides runs for tests: simulated runs, single trials, and recordings of real runs.
// Real runs would take too long in tests, for example an hour with 100 million operations. Every
// operation of a simulated run passes through the same histograms and recorder as the operations of
// a real run, but in simulated time.
package runs

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Hour is a large run for which a report must still be quick: an hour with 27,778 operations per
// second, 100 million in total.
var Hour = Run{Name: "hour", Warmup: 10, Seconds: 3600, PerSecond: 27_778, Seed: 1}

// Run describes an open loop of reads and writes on a cluster of three members, with metrics and
// events from the members.
type Run struct {
	Name      string
	Warmup    int // in seconds
	Seconds   int // length of the window in seconds
	PerSecond int
	Seed      uint64
	// Slower is the relative increase of every time: 0.02 for 2 %.
	Slower float64
	// Trials is the number of trials in the run; 0 means 1.
	Trials int
	// Day is the number of days from Noon to the start of the run. Version is the store's
	// version; if it is empty, the version is 3.7.3.
	Day     int
	Version string
}

// TenThousand is a run with ten thousand short trials. Realistic runs have fewer.
var TenThousand = Run{Name: "ten-thousand", Warmup: 1, Seconds: 2, PerSecond: 100, Seed: 3, Trials: 10_000}

// Noon is the time at which runs with Day 0 begin.
var Noon = time.Date(2026, 3, 1, 12, 0, 0, 601_234_567, time.UTC)

// StallTime is the response time of one slow operation. In every run, this operation occurs one
// third into the window. In the one-second interval that begins two thirds into the window, no
// operation completes.
const StallTime = 1_062 * time.Millisecond

const shards = 2 // event loops of the generator

// Record writes the whole run to a new run directory in the folder dir, and returns the path of the
// run directory.
func (r Run) Record(tb testing.TB, dir string) string {
	tb.Helper()
	a := r.Start(tb, dir)
	for range max(r.Trials, 1) {
		a.Begin()
		for a.Next() {
		}
	}
	return a.Finish()
}

// ActiveRun is a run that is being recorded.
type ActiveRun struct {
	*maker
	w              *record.Writer
	began          time.Time
	trial          int // the current trial, from 1
	collector      *measure.Collector
	second         int // index of the next one-second interval; 0 is at the start of the window
	writtenSeconds int // number of one-second intervals in the files of the current trial
}

// Start creates the run directory of the run in the folder dir.
func (r Run) Start(tb testing.TB, dir string) *ActiveRun {
	began := Noon.AddDate(0, 0, r.Day)
	w, err := record.Create(filepath.Join(dir, r.Name), r.Name, began, record.Run{Name: r.Name, Planned: max(r.Trials, 1), Seed: r.Seed, Machines: []measure.Machine{*machine()}})
	check(tb, err)
	check(tb, w.AddCluster(record.Cluster{ID: "c1", Store: "etcd", Version: r.version(), Started: true, Members: members(), Notes: []string{}}))
	return &ActiveRun{w: w, began: began, maker: &maker{Run: r, tb: tb, rng: rand.New(rand.NewPCG(r.Seed, 3))}}
}

// start returns the time at which a trial begins.
func (a *ActiveRun) start(trial int) time.Time {
	length := time.Duration(a.Seconds+a.Warmup+5) * time.Second
	return a.began.Add(time.Duration(trial-1) * length)
}

// opened returns the time at which the window of the current trial opens.
func (a *ActiveRun) opened() time.Time {
	return a.start(a.trial).Add(time.Duration(a.Warmup) * time.Second)
}

// Begin begins the next trial.
func (a *ActiveRun) Begin() {
	a.trial++
	a.second = -a.Warmup
	tw, err := a.w.Trial(a.conditions(a.trial), a.start(a.trial))
	check(a.tb, err)
	a.tw, a.used = tw, [len(ids)]member{}
	a.collector = measure.NewCollector(shards)
	a.collector.Recycle = func(h *measure.Histogram) { a.spare = append(a.spare, h) }
	a.writtenSeconds = 0
	a.collector.OnSecond = func(s *measure.Second) { check(a.tb, tw.Second(s)); a.writtenSeconds++ }
	check(a.tb, tw.Begin(measure.Warmup, a.start(a.trial)))
	check(a.tb, tw.Begin(measure.Measured, a.opened()))
	tw.End(measure.Measured, a.opened().Add(time.Duration(a.Seconds)*time.Second))
}

// Next records the next one-second interval of the current trial. After the last interval, it ends
// the trial and returns false.
func (a *ActiveRun) Next() bool {
	if a.second == a.Seconds {
		a.end()
		return false
	}
	for shard := range shards {
		a.collector.Add(shard, a.maker.second(shard, a.second))
	}
	a.samples(a.opened().Add(time.Duration(a.second+1)*time.Second), a.second)
	a.second++
	return true
}

// end ends the current trial.
func (a *ActiveRun) end() {
	for shard := range shards {
		a.collector.End(shard)
	}
	seconds := float64(a.Seconds)
	measured, warm := a.collector.Close(seconds)
	t := record.NewTrial(a.conditions(a.trial), record.Observed{Started: a.start(a.trial), Opened: a.opened(), CPUSeconds: 0.6 * seconds, MaxRSSBytes: 80 << 20,
		Store: &record.StoreUsage{CPUSeconds: 3 * seconds, MaxRSSBytes: 3 << 30}, Members: members(), DoneCounts: a.tw.DoneCounts()},
		measured, warm, record.RoleHistory{{Member: record.ID(ids[0]), Name: "m1", Term: 2, Role: kv.Leader.String()}})
	check(a.tb, a.tw.Finish(t))
}

// WrittenSeconds returns the number of one-second intervals that the files of the current trial
// contain.
func (a *ActiveRun) WrittenSeconds() int { return a.writtenSeconds }

// Dir returns the run directory.
func (a *ActiveRun) Dir() string { return a.w.Dir() }

// Kill leaves the run directory in the state in which a killed process leaves it.
func (a *ActiveRun) Kill() { a.w.Abandon() }

// Finish ends the run and returns its run directory.
func (a *ActiveRun) Finish() string {
	check(a.tb, a.w.Finish(record.Complete, "", a.start(max(a.trial, 1)+1)))
	return a.Dir()
}

func check(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

var ids = [...]uint64{0x8e9e05c52164694d, 0xfd422379fda50e48, 0x91bc3c398fb3c146}

func members() (all []record.Member) {
	for i, id := range ids {
		all = append(all, record.Member{ID: record.ID(id), Name: fmt.Sprintf("m%d", i+1), Endpoint: endpoint(i), Version: "3.7.3", Machine: machine().Name})
	}
	return all
}

func endpoint(member int) string { return fmt.Sprintf("127.0.0.1:%d", 2379+10*member) }

func machine() *measure.Machine {
	return &measure.Machine{Name: "bench", System: "linux", Kernel: "6.12", Architecture: "amd64", CPU: "a processor", CPUs: 8, MemoryBytes: 32 << 30}
}

func (r *Run) version() string { return cmp.Or(r.Version, "3.7.3") }

func (r *Run) conditions(n int) record.Conditions {
	rate, shared, name := float64(r.PerSecond), true, "mixed"
	if r.Trials > 1 {
		name += fmt.Sprintf("-%d", n)
	}
	return record.Conditions{
		Number: n, Name: name, Repeat: 1, Repeats: 1, Store: "etcd", Version: r.version(), Operation: record.Mixed, Members: len(ids), Cluster: "c1",
		Load: scenario.Load{
			Mix:     []scenario.Operation{{Kind: kv.Put, Weight: 1}, {Kind: kv.Get, Consistency: kv.Linearizable, Weight: 3}, {Kind: kv.Get, Consistency: kv.Local, Weight: 1}},
			Arrival: scenario.Constant, Connections: 30, Clients: 300, Duration: time.Duration(r.Seconds) * time.Second, Warmup: time.Duration(r.Warmup) * time.Second,
			Timeout: 10 * time.Second, KeySize: 16, ValueSize: 256, KeySpace: 100_000, Distribution: scenario.Distribution{Name: scenario.Uniform}, Preload: true,
		},
		Endpoints: []string{endpoint(0), endpoint(1), endpoint(2)}, Rate: &rate, Loops: shards, Tool: "0.1.0", Machine: machine(), SharesMachine: &shared,
		Durability: &measure.Durability{FdatasyncP50NS: 1_200_000, Fdatasyncs: 1000, FileSystem: "ext4", Synced: true},
	}
}

// kinds lists the series of responses. Each series has a share of the operations, in percent, and a
// median time.
var kinds = [...]struct {
	measure.Series
	share  int
	median float64 // nanoseconds
}{
	{measure.Series{Kind: kv.Put, Member: ids[0], Term: 2}, 20, 2.1e6},
	{measure.Series{Kind: kv.Get, Consistency: kv.Linearizable, Member: ids[0], Term: 2}, 20, 0.7e6},
	{measure.Series{Kind: kv.Get, Consistency: kv.Linearizable, Member: ids[1], Term: 2}, 20, 0.9e6},
	{measure.Series{Kind: kv.Get, Consistency: kv.Linearizable, Member: ids[2], Term: 2}, 20, 1.0e6},
	{measure.Series{Kind: kv.Get, Consistency: kv.Local, Member: ids[1], Term: 2}, 20, 0.3e6},
}

// maker simulates the output of a load generator.
type maker struct {
	Run
	tb    testing.TB
	tw    *record.TrialWriter
	rng   *rand.Rand
	spare []*measure.Histogram
	used  [len(ids)]member
}

func (m *maker) histogram() *measure.Histogram {
	if n := len(m.spare); n > 0 {
		h := m.spare[n-1]
		m.spare = m.spare[:n-1]
		return h
	}
	return measure.NewHistogram()
}

// second returns the part that one event loop contributes to a one-second interval. The index of
// the interval counts from the start of the window and is negative in the warm-up.
func (m *maker) second(shard, index int) *measure.Second {
	s := &measure.Second{Phase: measure.Measured, Index: index, Length: 1e9, Connections: 15, InFlight: 20 + m.rng.IntN(20)}
	if index < 0 {
		s.Phase, s.Index = measure.Warmup, index+m.Warmup
	}
	s.Lateness = m.histogram()
	for i := range kinds {
		s.Cells = append(s.Cells, &measure.Cell{Series: kinds[i].Series, Response: m.histogram(), Service: m.histogram()})
	}
	if index == m.Seconds*2/3 {
		return s
	}
	// A wave with a period of one minute, noise that changes every second, and an occasional
	// slow second.
	pace := (1 + m.Slower) * (1 + 0.1*math.Sin(float64(index)/60*2*math.Pi) + 0.05*m.rng.Float64())
	if m.rng.IntN(60) == 0 {
		pace *= 1 + 3*m.rng.Float64()
	}
	for n := (m.PerSecond + shard) / shards; n > 0; n-- {
		kind := n % len(kinds)
		ns := kinds[kind].median * pace * math.Exp(0.5*m.rng.NormFloat64())
		if m.rng.IntN(1000) == 0 {
			ns *= 20 // a slow response, which belongs to the distribution's second mode
		}
		if index == m.Seconds/3 && n == 1 && shard == 0 {
			ns = float64(StallTime)
		}
		late := m.rng.ExpFloat64() * 30e3
		measure.Record(s.Cells[kind].Service, int64(ns))
		measure.Record(s.Cells[kind].Response, int64(ns+late))
		measure.Record(s.Lateness, int64(late))
		s.Due++
		s.Done++
		s.DoneKinds[kinds[kind].Kind]++
	}
	s.Outcomes[kv.OK], s.Keys = s.Due, s.Due
	s.BytesIn, s.BytesOut = 300*s.Due, 200*s.Due
	for ms := range 1000 {
		s.Alive.Add(int64(ms) * 1_000_000)
	}
	return s
}

// member contains the resources that a member's process has used so far, and the timers that the
// member has reported.
type member struct {
	cpu, written float64
	timers       [3]store.Reading // readings of the timer metrics
}

// samples writes the samples that are taken at the end of a one-second interval.
func (m *maker) samples(end time.Time, second int) {
	elapsed := float64(second + m.Warmup + 1)
	process := func(name string, cpu, rss, written float64) *record.MachineRow {
		r := record.NewMachineRow(end, name)
		r.PID, r.User, r.System, r.RSS, r.ReadBytes, r.WriteBytes = 100, 0.8*cpu, 0.2*cpu, rss, 0, written
		return r
	}
	rows := []*record.MachineRow{process(record.GeneratorName, 0.8*elapsed, 80<<20, 0)}
	total := 0.0
	for i := range m.used {
		u := &m.used[i]
		u.cpu += 0.8 + 0.4*m.rng.Float64()
		u.written += 8e6 + 2e6*m.rng.Float64()
		total += u.cpu
		rows = append(rows, process(fmt.Sprintf("m%d", i+1), u.cpu, float64(400<<20+second*100_000), u.written))
		m.stores(end, i, second)
	}
	whole := record.NewMachineRow(end, record.MachineName)
	whole.User, whole.System, whole.ReadSectors, whole.WrittenSectors = 0.8*total+elapsed, 0.2*total, 0, 60_000*elapsed
	whole.Received, whole.Sent, whole.Loopback = 5e6*elapsed, 6e6*elapsed, 9e6*elapsed
	whole.IOStalled, whole.IOFull, whole.CPUStalled, whole.Busy, whole.Queue = 0.1*elapsed, 0.02*elapsed, 0.3*elapsed, 0.4*elapsed, 0.9*elapsed
	check(m.tb, m.tw.Machines(append(rows, whole)))
	kind, text := store.SignalKind(""), ""
	switch {
	case second%300 == 299:
		kind, text = store.Compaction, "old revisions were removed"
	case second%120 == 60:
		kind, text = store.SnapshotDone, "a snapshot was written"
	case m.rng.IntN(20) == 0:
		kind, text = store.SlowFsync, "the log was synced slowly"
	}
	if kind != "" {
		name := fmt.Sprintf("m%d", 1+m.rng.IntN(len(ids)))
		took := time.Duration(20+m.rng.IntN(200)) * time.Millisecond
		check(m.tb, m.tw.Event(record.Event{Time: end.Add(-time.Duration(m.rng.IntN(900)) * time.Millisecond), Kind: string(kind), Member: name, Text: name + ": " + text, Line: text, Duration: took}))
	}
}

// stores writes the metrics that a member itself reports. Its timers have as many buckets as
// etcd's.
func (m *maker) stores(when time.Time, i, second int) {
	u := &m.used[i]
	for t := range u.timers {
		r := &u.timers[t]
		if r.Buckets == nil {
			for upper := 0.001; upper < 10; upper *= 2 {
				r.Buckets = append(r.Buckets, store.Bucket{Upper: upper})
			}
			r.Buckets = append(r.Buckets, store.Bucket{Upper: math.Inf(1)})
		}
		for range 50 {
			took := 0.001 * math.Exp(0.5*m.rng.NormFloat64())
			r.Count++
			r.Sum += took
			for b := range r.Buckets {
				if took <= r.Buckets[b].Upper {
					r.Buckets[b].Count++
				}
			}
		}
	}
	value := func(x float64) store.Reading { return store.Reading{Value: x} }
	check(m.tb, m.tw.Store(&record.StoreRow{Time: when.Add(time.Duration(i) * time.Millisecond), Name: fmt.Sprintf("m%d", i+1), Endpoint: endpoint(i),
		ConnectTime: 90 * time.Microsecond, ResponseTime: 3 * time.Millisecond, Metrics: store.Sample{
			store.FsyncSeconds: u.timers[0], store.CommitSeconds: u.timers[1], store.PeerRoundTripSeconds: u.timers[2],
			store.CPUSeconds: value(u.cpu), store.Processors: value(8), store.ResidentBytes: value(float64(400<<20 + second*100_000)),
			store.LeaderChanges: value(1), store.DatabaseBytes: value(float64(100<<20 + second*10_000)),
		}}))
}
