package verdictbench

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/load/keys"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testing/simulate"
	"github.com/quorumbench/quorumbench/internal/text"
)

// wire is the latency of a simulated message in one direction, in nanoseconds.
const wire = 25_000

// draws generates a trial's random numbers from its seed.
type draws struct {
	seed, n uint64
}

func (d *draws) unit() float64 {
	d.n++
	return keys.RandomUnit(d.seed, d.n)
}

// log returns a random number from lo to hi whose logarithm has a uniform distribution.
func (d *draws) log(lo, hi float64) float64 { return lo * math.Pow(hi/lo, d.unit()) }

func pick[T any](d *draws, of ...T) T { return of[int(d.unit()*float64(len(of)))] }

// subject is a load on a store.
type subject struct {
	load   scenario.Load
	server func() simulate.Server
	text   string
}

// draw returns a random load with several thousand operations in its window, and a store for it.
// The loop may be closed or open. The throughput of the store may or may not be limited.
func draw(d *draws) subject {
	median := d.log(0.3e6, 20e6)
	spread := pick(d, 0.1, 0.3, 0.6)
	times := simulate.ResponseTimes{Median: median, Spread: spread, Seed: d.seed}
	if d.unit() < 0.4 { // a store with a few slow operations
		times.Every, times.Long = pick[uint64](d, 12, 50, 150), pick(d, 4.0, 15)
	}
	mean := times.Mean()
	clients := pick(d, 1, 4, 16, 64)
	perSecond := float64(clients) / mean * 1e9
	workers := 0
	if d.unit() < 0.4 { // a store with limited throughput
		workers = max(clients/pick(d, 2, 4), 1)
		perSecond = float64(min(workers, clients)) / mean * 1e9
	}
	perSecond = min(perSecond, 8000)
	l := scenario.Load{
		Mix:         []scenario.Operation{{Kind: kv.Put, Weight: 1}},
		Connections: max(clients/pick(d, 1, 2, 4), 1), Clients: clients, Threads: 1,
		KeySize: 8, ValueSize: 16, KeySpace: 1000, Distribution: scenario.Distribution{Name: "uniform"},
		Timeout: 10 * time.Second, MaxInFlight: 100_000, Seed: d.seed,
		Warmup: 200 * time.Millisecond,
	}
	s := subject{text: fmt.Sprintf("%d clients at %s", clients, text.Duration(median))}
	if d.unit() < 0.4 {
		l.Arrival = pick(d, scenario.Constant, scenario.Poisson)
		l.Rate.PerSecond = perSecond * pick(d, 0.3, 0.6)
		s.text = fmt.Sprintf("%.0f/s (%v) at %s", l.Rate.PerSecond, l.Arrival, text.Duration(median))
	}
	// The window contains enough operations for a p99, and is long enough for infrequent
	// disturbances.
	if l.Arrival != scenario.Closed {
		perSecond = l.Rate.PerSecond
	}
	enough := pick(d, 6000, 6000, 12_000.0) // enough operations for p99, or for p99.9
	l.Duration = time.Duration(min(max(enough/perSecond, 4), 120) * 1e9)
	if times.Every > 0 {
		s.text += fmt.Sprintf(", each %dth %g times as long", times.Every, times.Long)
	}
	if workers > 0 {
		s.text += fmt.Sprintf(", %d workers", workers)
	}
	s.load = l
	s.server = func() simulate.Server {
		if workers > 0 {
			return simulate.NewQueueing(workers, times)
		}
		return &simulate.Delaying{Times: times}
	}
	return s
}

// On a quietMachine, a thread wakes within a few microseconds.
func quietMachine(seed uint64) simulate.Quiet { return simulate.Quiet{Jitter: 8_000, Seed: seed} }

// simulated runs the trial for a kind of disturbance and a seed, first without and then with the
// disturbance.
func simulated(kind Kind, seed uint64) (Outcome, error) {
	d := &draws{seed: keys.DeriveSeed(seed, "verdict's bench "+string(kind))}
	s := draw(d)
	truth, err := s.run(d.seed, func() simulate.Machine { q := quietMachine(d.seed); return &q }, nil)
	if err != nil {
		return Outcome{}, err
	}
	machine, text := kind.machine(d)
	got, err := s.run(d.seed+1, machine, nil)
	if err != nil {
		return Outcome{}, err
	}
	o := Outcome{Kind: kind, Seed: seed, What: s.text + "; " + text}
	o.Judge(truth, got)
	return o, nil
}

// run runs the subject on a machine and returns a trial with its verdict. ranForLoad is the value
// for Observed.RanForLoad. A real sampler would report this value on a machine that also runs
// members.
func (s *subject) run(seed uint64, machine func() simulate.Machine, ranForLoad *float64) (*record.Trial, error) {
	l := s.load
	u := &usage{}
	world := simulate.New(1, wire, s.server(), func(int) simulate.Machine {
		u.machine = machine()
		return u.machine
	})
	worker := load.Local{World: world, Stores: func(string) (store.Store, error) { return simulate.Store{}, nil }}
	a := &load.Assignment{Load: l, Endpoints: []string{"m1"}}
	res, err := load.Run(context.Background(), &worker, a, load.Reports{OnPhaseChange: u.mark})
	if err != nil {
		return nil, fmt.Errorf("seed %d: %w", seed, err)
	}
	c := record.NewConditions(&scenario.Trial{Load: l})
	c.Loops = 1
	if l.Arrival != scenario.Closed {
		c.Rate = &l.Rate.PerSecond
	}
	o := record.Observed{Opened: res.Opened, RanForLoad: ranForLoad}
	u.fill(&o, res.Measured)
	t := record.NewTrial(c, o, res.Measured, res.Warmup, nil)
	return &t, nil
}

// usage reads the simulated machine's counters at the times at which a real trial reads the
// system's counters.
type usage struct {
	machine simulate.Machine

	mu          sync.Mutex
	first, last simulate.Usage
}

func (u *usage) mark(m load.PhaseChange) {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case m.Phase != measure.Measured:
	case m.Ended:
		u.last = u.machine.Used()
	default:
		u.first = u.machine.Used()
	}
}

// processors is the number of CPUs in the simulated machine: the generator's CPU and one idle CPU.
const processors = 2

func (u *usage) fill(o *record.Observed, m *measure.Totals) {
	u.mu.Lock()
	defer u.mu.Unlock()
	total := processors * m.Seconds * 1e9
	held := u.last.Throttled - u.first.Throttled
	// The hypervisor withholds the same amount of time from each CPU.
	stolen := float64(u.last.Stolen-u.first.Stolen) * processors / total
	m.LoopCPU, m.RunDelay, m.Slices = u.last.CPU-u.first.CPU, u.last.RunDelay-u.first.RunDelay, u.last.Slices-u.first.Slices
	busy := float64(m.LoopCPU) / total
	o.ThrottledNS, o.StolenShare, o.BusyShare = &held, &stolen, &busy
}

// machine returns a machine with a random disturbance of kind k, and a description of the
// disturbance. The disturbance may be anything from negligible to extreme.
func (k Kind) machine(d *draws) (func() simulate.Machine, string) {
	q := quietMachine(d.seed + 2)
	ms := func(ns float64) string { return text.Duration(ns) }
	switch k {
	case Stopped:
		length := d.log(5e6, 200e6)
		period := length / d.log(0.0005, 0.4)
		return func() simulate.Machine {
			return &simulate.Interrupted{Quiet: q, Spans: simulate.RandomSpans(period, length, d.seed)}
		}, fmt.Sprintf("stopped for %s every %s", ms(length), ms(period))
	case Regular:
		length := d.log(10e6, 300e6)
		period := max(length/d.log(0.003, 0.4), 2*length)
		return func() simulate.Machine {
			return &simulate.Interrupted{Quiet: q, Spans: simulate.PeriodicSpans(period, length, d.seed)}
		}, fmt.Sprintf("stopped for %s in each %s", ms(length), ms(period))
	case RealTime:
		length := d.log(1e6, 150e6)
		share := d.log(0.0005, 0.4)
		period := length / share
		return func() simulate.Machine {
			return &simulate.Interrupted{Quiet: q, Spans: simulate.RandomSpans(period, length, d.seed), Preempt: true}
		}, fmt.Sprintf("a real-time program has the processor for %s of the time, %s at once", text.Share(share), ms(length))
	case Steal:
		length := d.log(1e6, 50e6)
		share := d.log(0.0005, 0.4)
		period := length / share
		return func() simulate.Machine {
			return &simulate.Interrupted{Quiet: q, Spans: simulate.RandomSpans(period, length, d.seed), Steal: true}
		}, fmt.Sprintf("%s of the time stolen, %s at once", text.Share(share), ms(length))
	case BusyLoop:
		duty, refused := d.log(0.003, 1), d.log(0.02, 0.9)
		return func() simulate.Machine {
			return &simulate.Shared{Quiet: q, Slice: 3e6, Other: 3e6, Refused: refused, Busy: duties(duty, d.seed)}
		}, fmt.Sprintf("a busy loop on its CPU for %s of the time, which continues at %s of the wake-ups", text.Share(duty), text.Share(refused))
	case LowPriority:
		duty, refused, other := d.log(0.001, 1), d.log(0.02, 0.9), d.log(5e6, 50e6)
		return func() simulate.Machine {
			return &simulate.Shared{Quiet: q, Slice: 1e6, Other: other, Refused: refused, Busy: duties(duty, d.seed)}
		}, fmt.Sprintf("a program of a higher priority for %s of the time, up to %s at once at %s of the wake-ups", text.Share(duty), ms(other), text.Share(refused))
	case Quota:
		quota, otherCPU := d.log(0.5e6, 20e6), d.unit()
		return func() simulate.Machine {
			return &simulate.Throttled{Quiet: q, Quota: int64(quota), Period: 100e6, OtherCPU: otherCPU}
		}, fmt.Sprintf("a quota of %s in 100 ms, %s of it used by others", ms(quota), text.Share(otherCPU))
	}
	return func() simulate.Machine { q := q; return &q }, "nothing"
}

// spell is the duration of each busy phase of an occasionally busy program, in nanoseconds.
const spell = 300e6

// duties returns a function that reports whether a program is busy at a given time. The program is
// busy during randomly selected spells. The parameter `share` is the share of the time that these
// spells take.
func duties(share float64, seed uint64) func(int64) bool {
	return func(at int64) bool { return keys.RandomUnit(seed, uint64(at/spell)) < share }
}
