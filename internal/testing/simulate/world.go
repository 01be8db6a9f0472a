// Package simulate implements a simulated world for the load generator, with its own clock. Waiting
// takes no real time, servers are functions, and a model of the machine decides when threads
// receive CPU time. Several event loops share one world. They run one after the other in the order
// of the world's clock, so that a trial has identical results each time it runs.
//
// Simulated trials are so fast that tests can run thousands of them. The disturbances and the true
// figures of a simulated trial are known, which is impossible on a real machine.
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

// Server serves the requests from all connections.
type Server interface {
	// Serve returns the time at which the response leaves the server, and the outcome. The
	// parameter `at` is the time at which the request arrives. A returned time below 0 means that
	// the server sends no response. Successive calls have increasing values of `at`, with
	// deviations of a few microseconds.
	Serve(at int64, endpoint string, request Request) (answered int64, outcome kv.Outcome)
}

// Request is a request to a server.
type Request struct {
	Tag  uint32
	Kind kv.Kind
}

// World contains the clock, the network and the servers. Its methods are safe for concurrent use.
type World struct {
	server   Server
	wire     int64 // latency of a message in one direction, in nanoseconds
	machines func(loop int) Machine

	mu         sync.Mutex
	pollers    []*poller
	loops      int // total number of loops
	events     events
	seq        uint64
	last       int64 // time of the last event
	begin      bool  // Begin was called
	allWaiting bool  // Begin was called, and after that all loops waited at the same time
}

// New returns a world for the given number of event loops. Each loop runs on the Machine that the
// function `machines` returns for the loop. The parameter `wire` is the latency of a message in one
// direction, in nanoseconds.
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

// origin is the clock's first reading. It is not 0, because 0 means that a time is unknown.
const origin = 1_000_000_000

// Now returns the latest time that any loop has reached. Before the world begins, it returns the
// time of the last event instead. It does so because the progress of a loop before its first wait
// depends on the real clock, and must not be visible.
func (w *World) Now() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	latest := max(origin, w.last)
	if !w.allWaiting {
		return latest
	}
	for _, p := range w.pollers {
		latest = max(latest, p.now)
	}
	return latest
}

// Begin starts the clock. Until then, time advances only while connections are established, so that
// the start of the load does not depend on the real clock.
func (w *World) Begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.begin = true
	w.advance()
}

// event is a function that the world calls at a given time.
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

// schedule schedules an event. The caller must hold the lock.
func (w *World) schedule(at int64, do func(at int64)) {
	w.seq++
	heap.Push(&w.events, event{at: at, seq: w.seq, do: do})
}

// advance moves the world to the next time at which a loop runs. It does nothing until all loops
// wait. The caller must hold the lock.
func (w *World) advance() {
	if len(w.pollers) < w.loops {
		return
	}
	for {
		var next *poller
		soonest := int64(never)
		if w.begin && !w.allWaiting && !slices.ContainsFunc(w.pollers, func(p *poller) bool { return p.state == running }) {
			w.allWaiting = true
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
				if at := p.earliestWake(w.allWaiting); at < soonest {
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
			return // all loops have ended, or Begin was not called
		}
		if next.wakeAt == never {
			// The loop becomes runnable now, but the machine may delay it.
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
	running loopState = iota // the loop runs or has not begun; the world waits for it
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
	until   int64 // end of the wait, while the loop waits
	wakeAt  int64 // time at which the loop continues; never if nothing has woken the loop
	woken   bool  // Wake was called
	conns   []conn
	pending []int // connections that may be ready for something
}

type conn struct {
	open      bool
	gen       int
	endpoint  string
	in        []byte
	arrived   int64 // time at which the last bytes in the field `in` arrived
	ended     error
	dialed    bool
	dialErr   error
	isPending bool // the connection is in pending
}

// earliestWake returns the earliest known time at which the loop can continue, or never. The caller
// must hold the lock.
func (p *poller) earliestWake(begun bool) int64 {
	switch {
	case p.wakeAt != never:
		return p.wakeAt
	case !begun:
		return never
	}
	return max(p.until, p.now)
}

// wake makes the loop runnable at the given time. The caller must hold the lock.
func (p *poller) wake(at int64) {
	if p.state == waiting && p.wakeAt == never {
		p.wakeAt = p.machine.Wake(max(at, p.now))
	}
}
