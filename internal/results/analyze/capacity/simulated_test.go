package capacity

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// server is a simulated server: a queue in simulated time.
type server struct {
	rng      *rand.Rand
	perSec   func(at float64) float64 // service rate at a given time
	random   bool                     // set if service times are exponential instead of constant
	poisson  bool                     // set if arrivals are random
	stall    float64                  // length of a pause
	period   float64
	phase    float64
	bound    float64 // shortest time of a bad response
	limit    float64
	now      float64
	overhead float64
	truth    func(at float64) float64

	disturbed float64 // share of the trials in which the generator pauses for a part of each second
	// the time, in seconds, at which the capacity changes abruptly; 0 if it does not
	changes float64

	until float64 // time limit of the search in seconds; 0 means 600
	last  float64 // the time at which the search ended
}

// begin returns the time at which the server can start an operation that arrives at the given time.
func (s *server) begin(at float64) float64 {
	if s.stall == 0 {
		return at
	}
	in := math.Mod(at+s.phase, s.period)
	if in < s.stall {
		return at + s.stall - in
	}
	return at
}

func (s *server) run(p Plan) (t Trial) {
	t = Trial{Plan: p, StartTime: s.now + p.Warmup, Length: p.Window}
	whole := int(math.Ceil(p.Window))
	undisturbed, observed := make([][]float64, whole), make([][]float64, whole)
	t.Seconds = make([]Second, whole)
	for i := range t.Seconds {
		t.Seconds[i].Bad = make([]float64, 1)
	}
	end := t.StartTime + p.Window
	at, free := s.now, s.now
	if t.Disturbed = s.rng.Float64() < s.disturbed; t.Disturbed {
		defer func() { s.disturb(&t, undisturbed, observed) }()
	}
	gap := 1 / p.Rate
	for {
		if s.poisson {
			at += gap * s.rng.ExpFloat64()
		} else {
			at += gap
		}
		if at >= end {
			break
		}
		free = s.begin(math.Max(free, at))
		work := 1 / s.perSec(free)
		if s.random {
			work *= s.rng.ExpFloat64()
		}
		free += work
		if free >= t.StartTime && free < end {
			t.Done++
		}
		if at >= t.StartTime {
			i := min(int(at-t.StartTime), whole-1)
			t.Due++
			t.Seconds[i].Due++
			if t.Disturbed {
				pause := math.Max(0.1-math.Mod(at, 1), 0)
				undisturbed[i], observed[i] = append(undisturbed[i], free-at), append(observed[i], free-at+pause)
			}
			if free-at >= s.bound {
				t.Seconds[i].Bad[0]++
			}
		}
		// count the operation as in flight at the end of each second if it had arrived by then but
		// was not done
		if at >= t.StartTime-10 {
			from := max(int(math.Ceil(at-t.StartTime)), 1)
			for k := from; k <= whole && t.StartTime+float64(k) < free; k++ {
				if at < t.StartTime+float64(k) {
					t.Seconds[k-1].InFlight++
				}
			}
		}
	}
	t.Served = t.Done
	s.now = math.Max(end, free) + s.overhead
	s.last = s.now
	return t
}

// disturb turns a trial into one that the generator disturbed. Bad counts the operations that were
// bad according to their observed times. CertainlyBad counts the operations whose observed time
// exceeds the bound by more than the error that a verdict would report for the percentile.
func (s *server) disturb(t *Trial, undisturbed, observed [][]float64) {
	percentile := func(of [][]float64) float64 {
		all := slices.Sorted(slices.Values(slices.Concat(of...)))
		return all[min(int(float64(len(all))*(1-s.limit)), len(all)-1)]
	}
	if t.Due == 0 {
		return
	}
	moved := percentile(observed)/percentile(undisturbed) - 1
	for i := range t.Seconds {
		bad, surely := 0.0, 0.0
		for _, time := range observed[i] {
			if time >= s.bound {
				bad++
			}
			if time >= s.bound*(1+moved) {
				surely++
			}
		}
		t.Seconds[i].Bad[0], t.Seconds[i].CertainlyBad = bad, []float64{surely}
	}
	goals := []Goal{{Limit: s.limit, Span: s.bound}}
	if !t.Holds(goals) && !t.Misses(goals) {
		t.VoidReason = "the generator stood still"
	}
}

// disturbing returns servers for which the generator pauses in a share of the trials.
func disturbing(of func(uint64) *server, share float64) func(uint64) *server {
	return func(seed uint64) *server {
		s := of(seed)
		s.disturbed, s.until = share, 600
		return s
	}
}

// changing returns servers whose capacity changes abruptly after a while. The new capacity is
// between a third and three quarters of the old one, or 1.3 to 3.3 times the old one.
func changing(of func(uint64) *server) func(uint64) *server {
	return func(seed uint64) *server {
		s := of(seed)
		before, truth := s.perSec(0), s.truth(0)
		s.until, s.changes = 600, 60+180*s.rng.Float64()
		to := before * (1./3 + s.rng.Float64()*5/12)
		if s.rng.IntN(3) == 0 {
			to = before * (1.3 + 2*s.rng.Float64())
		}
		s.perSec = func(at float64) float64 {
			if at >= s.changes {
				return to
			}
			return before
		}
		s.truth = func(at float64) float64 { return truth + s.perSec(at) - before }
		return s
	}
}

// hardLimit and the following functions return models of servers whose capacity is known.
func hardLimit(seed uint64) *server {
	rng := rand.New(rand.NewPCG(seed, 1))
	mu := 1000 * math.Pow(10, rng.Float64())
	return &server{rng: rng, perSec: func(float64) float64 { return mu }, bound: 0.02, limit: 0.01, overhead: 0.3, until: 1800,
		truth: func(float64) float64 { return mu }}
}

func markovian(seed uint64) *server {
	rng := rand.New(rand.NewPCG(seed, 2))
	mu := 2000 * math.Pow(5, rng.Float64())
	return &server{rng: rng, perSec: func(float64) float64 { return mu }, random: true, poisson: true, until: 3600, bound: 0.02, limit: 0.01, overhead: 0.3,
		truth: func(float64) float64 { return mu - math.Log(100)/0.02 }}
}

// stalling returns a server that pauses periodically. During a pause, it starts no operation.
func stalling(seed uint64) *server {
	rng := rand.New(rand.NewPCG(seed, 3))
	mu := 1000 * math.Pow(10, rng.Float64())
	period := 5 + 5*rng.Float64()
	stall := 0.02 + period*0.01*(0.2+0.3*rng.Float64())
	s := &server{rng: rng, perSec: func(float64) float64 { return mu }, poisson: true, bound: 0.02, limit: 0.01, overhead: 0.3,
		stall: stall, period: period, phase: period * rng.Float64()}
	low, high := 0.0, 1.0 // utilization; the share of bad operations increases with it
	for range 40 {
		if rho := (low + high) / 2; s.shareStalled(mu, rho) > s.limit {
			high = rho
		} else {
			low = rho
		}
	}
	capacity := mu * low
	s.truth = func(float64) float64 { return capacity }
	return s
}

// shareStalled returns the share of operations whose response takes at least the bound, at a
// utilization of rho. An operation that arrives at a time t after the start of a pause of length S
// must wait for the queue from before the pause and for ρμt operations. So response times decrease
// linearly. They reach the bound after E[τ] = (S-B+(Q+1)/μ)/(1-ρ). After that, they exceed the
// bound again by chance, for a total time of ρ/(2μ(1-ρ)²) (a Lévy process with that drift and the
// variance ρ/μ). Operations that were waiting when the pause began are also late.
func (s *server) shareStalled(mu, rho float64) float64 {
	queue := rho * rho / (2 * (1 - rho)) // for M/D/1, without the operation in service
	late := (s.stall-s.bound+(queue+1)/mu)/(1-rho) + rho/(2*mu*(1-rho)*(1-rho)) + queue/(rho*mu)
	return late / s.period
}

// steady returns a queue with constant service times and a comparatively long bound. Operations
// have to wait only in long busy periods. The tail of the response times is about exp(-2(1-ρ)μt)
// (M/D/1 in heavy traffic).
func steady(rng *rand.Rand, mu float64) *server {
	const bound = 0.1
	mu *= 0.9 + 0.2*rng.Float64()
	capacity := mu - math.Log(100)/(2*bound)
	return &server{rng: rng, perSec: func(float64) float64 { return mu }, poisson: true, bound: bound, limit: 0.01, overhead: 0.5,
		truth: func(float64) float64 { return capacity }}
}

// link returns a server that is as fast as a store of large values over a slow network. The
// function fast returns a server that is as fast as a store of small values on one machine.
func link(seed uint64) *server { return steady(rand.New(rand.NewPCG(seed, 4)), 550) }
func fast(seed uint64) *server { return steady(rand.New(rand.NewPCG(seed, 5)), 20_000) }

// drifting returns a server that steadily becomes faster or slower, by 3 to 20 % in ten minutes.
func drifting(seed uint64) *server {
	s := markovian(seed + 1_000_000)
	s.until = 600
	mu := s.perSec(0)
	by := 0.03 * math.Pow(20.0/3, s.rng.Float64())
	if s.rng.IntN(2) == 0 {
		by = -by
	}
	s.perSec = func(at float64) float64 { return mu * (1 + by*at/600) }
	s.truth = func(at float64) float64 { return s.perSec(at) - math.Log(100)/0.02 }
	return s
}

func (s *server) options() Options {
	return Options{Goals: []Goal{{Name: "p99<20ms", Limit: s.limit, Span: s.bound, Percentile: true}}, TimeLimit: cmp.Or(s.until, 600), InitialRate: 100, MinRate: 1, MaxRate: 1e6}
}

// search runs a complete search.
func (s *server) search() (*Search, Result) {
	c := New(s.options())
	for {
		p, ok := c.Next(s.now)
		if !ok {
			return c, c.Result()
		}
		began := s.now
		t := s.run(p)
		c.Add(t, s.now-began)
	}
}

// holds reports whether the interval contains the capacity, or all of its values during the search.
func (s *server) holds(i Interval) bool {
	a, b := s.truth(0), s.truth(s.last)
	return i.Lower <= math.Min(a, b) && math.Max(a, b) <= i.Upper
}
