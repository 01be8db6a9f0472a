// Package simulate is a world with a clock of its own for the generator:
// waiting takes no time, the servers at the other ends of the connections are
// functions, and the machine gives or takes processor time by a model. Several
// event loops share one world and run one after the other in the order of its
// clock, so that a trial is the same each time it is run.
//
// It serves what no real machine does on demand: a thousand trials whose
// disturbance and whose truth are known.
package simulate

import (
	"container/heap"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/engine/poll"
)

const never = math.MaxInt64

// Server answers the requests of all connections.
type Server interface {
	// Serve takes a request that arrived at a server and returns when its
	// answer leaves, and what it says; a time below 0 is for no answer. Requests
	// come in the order of at, but for a few microseconds.
	Serve(at int64, endpoint string, request Request) (answered int64, outcome kv.Outcome)
}

// Request is what a server is asked.
type Request struct {
	Tag  uint32
	Kind kv.Kind
}

// World is the clock, the network and the servers. Its methods may be called
// from any goroutine.
type World struct {
	server   Server
	wire     int64 // how long a message travels one way
	machines func(loop int) Machine

	mu      sync.Mutex
	pollers []*poller
	loops   int // how many there will be
	events  events
	seq     uint64
	last    int64 // when the last event happened
	begin   bool  // Begin was called
	begun   bool  // and all loops were waiting since
}

// New returns a world for the given number of loops. Each has the machine that
// machines returns for it; wire is how long a message travels one way, in
// nanoseconds.
func New(loops int, wire int64, server Server, machines func(loop int) Machine) *World {
	return &World{server: server, wire: wire, machines: machines, loops: loops}
}

// Poller returns the next loop's poller.
func (w *World) Poller(conns int) (poll.Poller, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.pollers) == w.loops {
		return nil, fmt.Errorf("the simulated world was made for %d loops", w.loops)
	}
	p := &poller{world: w, machine: w.machines(len(w.pollers)), conns: make([]conn, conns), now: origin, wakeAt: never}
	p.resumed = sync.NewCond(&w.mu)
	w.pollers = append(w.pollers, p)
	return p, nil
}

// origin is the clock's first reading: not 0, which stands for "not known".
const origin = 1_000_000_000

// Now is the latest time that any loop has come to. Before the world has begun
// it is that of the last event: how far a loop has come by the real clock, which
// may not have waited yet, is not to be seen.
func (w *World) Now() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	latest := max(origin, w.last)
	if !w.begun {
		return latest
	}
	for _, p := range w.pollers {
		latest = max(latest, p.now)
	}
	return latest
}

// Begin lets the clock move on by itself. Before, it moves only as far as
// connecting takes, so that when the load begins does not depend on the real
// clock.
func (w *World) Begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.begin = true
	w.advance()
}

// event is something that happens in the world at a time.
type event struct {
	at  int64
	seq uint64
	do  func(at int64)
}

type events []event

func (h events) Len() int { return len(h) }
func (h events) Less(i, j int) bool {
	if h[i].at != h[j].at {
		return h[i].at < h[j].at
	}
	return h[i].seq < h[j].seq
}
func (h events) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *events) Push(x any)   { *h = append(*h, x.(event)) }
func (h *events) Pop() any {
	old := *h
	x := old[len(old)-1]
	old[len(old)-1] = event{}
	*h = old[:len(old)-1]
	return x
}

// at makes something happen; the lock is held.
func (w *World) at(at int64, do func(at int64)) {
	w.seq++
	heap.Push(&w.events, event{at: at, seq: w.seq, do: do})
}

// advance lets the world go on to the next time at which a loop runs, once all
// of them wait; the lock is held.
func (w *World) advance() {
	if len(w.pollers) < w.loops {
		return
	}
	for {
		var next *poller
		soonest := int64(never)
		if w.begin && !w.begun && !slices.ContainsFunc(w.pollers, func(p *poller) bool { return p.state == running }) {
			w.begun = true
			for _, p := range w.pollers {
				if p.woken {
					p.wake(p.now)
				}
			}
		}
		for _, p := range w.pollers {
			switch p.state {
			case running:
				return
			case waiting:
				if at := p.dueToWake(w.begun); at < soonest {
					next, soonest = p, at
				}
			}
		}
		if len(w.events) > 0 && w.events[0].at <= soonest {
			e := heap.Pop(&w.events).(event)
			w.last = e.at
			e.do(e.at)
			continue
		}
		if next == nil {
			return // all have ended, or Begin is awaited
		}
		if next.wakeAt == never {
			// Its own time has come; the machine may let it wait.
			next.wake(soonest)
			continue
		}
		next.now, next.wakeAt, next.state = max(next.now, next.wakeAt), never, running
		next.resumed.Signal()
		return
	}
}

type loopState uint8

const (
	running loopState = iota // or not begun: the world waits for it
	waiting
	ended
)

// poller is one loop's view of the world.
type poller struct {
	world   *World
	machine Machine
	state   loopState
	resumed *sync.Cond
	now     int64
	until   int64 // while it waits
	wakeAt  int64 // when it goes on; never while nothing woke it
	woken   bool  // Wake was called
	conns   []conn
	pending []int // connections that may be ready for something
}

type conn struct {
	open     bool
	gen      int
	endpoint string
	in       []byte
	arrived  int64 // when the last of in did
	ended    error
	dialed   bool
	dialErr  error
	listed   bool // in pending
}

// dueToWake is when the loop can go on as far as is known; the lock is held.
func (p *poller) dueToWake(begun bool) int64 {
	switch {
	case p.wakeAt != never:
		return p.wakeAt
	case !begun:
		return never
	}
	return max(p.until, p.now)
}

// wake makes the loop runnable at the given time; the lock is held.
func (p *poller) wake(at int64) {
	if p.state == waiting && p.wakeAt == never {
		p.wakeAt = p.machine.Wake(max(at, p.now))
	}
}
