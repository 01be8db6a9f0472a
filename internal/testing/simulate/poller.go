package simulate

import (
	"encoding/binary"
	"errors"
	"io"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/engine/poll"
)

// These are the CPU times of an event loop's calls, in nanoseconds. They are typical of a current
// CPU and loopback connections.
const (
	waitCost  = 500
	readCost  = 700
	writeCost = 1000
	// longTurn is a limit for the duration of a call. A shorter call advances its loop's clock
	// immediately, while the other loops wait. Before a longer call advances the clock, the other
	// loops run.
	longTurn = 100_000
)

// markReady records that a connection may be ready. The caller must hold the lock.
func (p *poller) markReady(i int, at int64) {
	if c := &p.conns[i]; !c.isPending {
		c.isPending = true
		p.pending = append(p.pending, i)
	}
	p.wake(at)
}

// pause lets the world run until the loop continues. The caller must hold the lock.
func (p *poller) pause() {
	p.state = waiting
	p.world.advance()
	for p.state != running {
		p.resumed.Wait()
	}
}

// spend uses CPU time. The caller must hold the lock.
func (p *poller) spend(ns int64) {
	at := p.machine.Run(p.now, ns)
	if at-p.now < longTurn {
		p.now = at
		return
	}
	p.wakeAt = at
	p.pause()
}

func (p *poller) Now() int64 {
	p.world.mu.Lock()
	defer p.world.mu.Unlock()
	return p.now
}

func (p *poller) Attach() int { return 0 }

// RunDelay returns the thread's run queue wait, in nanoseconds, from the machine's counter.
func (p *poller) RunDelay() (int64, bool) {
	p.world.mu.Lock()
	defer p.world.mu.Unlock()
	return p.machine.Used().RunDelay, true
}

// Release ends the loop.
func (p *poller) Release() {
	p.world.mu.Lock()
	defer p.world.mu.Unlock()
	p.state = ended
	p.world.advance()
}

func (p *poller) Wake() {
	p.world.mu.Lock()
	defer p.world.mu.Unlock()
	p.woken = true
	if !p.world.allWaiting {
		return // when the world begins, the loop wakes, whether or not it already waits now
	}
	// The loop wakes at the current time of the loop that woke it.
	at := p.now
	for _, other := range p.world.pollers {
		if other.state == running {
			at = max(at, other.now)
		}
	}
	p.wake(at)
}

func (p *poller) Wait(until int64, ready []poll.Ready) []poll.Ready {
	p.world.mu.Lock()
	defer p.world.mu.Unlock()
	p.spend(waitCost)
	if ready = p.scan(ready); len(ready) > 0 || p.woken && p.world.allWaiting || until <= p.now {
		p.woken = p.woken && !p.world.allWaiting
		return ready
	}
	p.machine.Sleep(p.now)
	p.until, p.wakeAt = until, never
	p.pause()
	p.woken = p.woken && !p.world.allWaiting
	return p.scan(ready)
}

// scan appends the connections that are ready. The caller must hold the lock.
func (p *poller) scan(ready []poll.Ready) []poll.Ready {
	kept := p.pending[:0]
	for _, i := range p.pending {
		c := &p.conns[i]
		if c.dialed {
			c.dialed = false
			ready = append(ready, poll.Ready{Conn: i, Reason: poll.Dialed, Err: c.dialErr})
		}
		if c.open && (len(c.in) > 0 || c.ended != nil) {
			ready = append(ready, poll.Ready{Conn: i, Reason: poll.Readable})
			kept = append(kept, i)
			continue
		}
		c.isPending = false
	}
	p.pending = kept
	return ready
}

func (p *poller) Dial(i int, endpoint string) {
	w := p.world
	w.mu.Lock()
	defer w.mu.Unlock()
	for i >= len(p.conns) {
		p.conns = append(p.conns, conn{})
	}
	p.reset(i)
	gen := p.conns[i].gen
	p.conns[i].endpoint = endpoint
	w.schedule(p.now+w.wire, func(at int64) {
		c := &p.conns[i]
		if c.gen != gen {
			return
		}
		c.dialErr = nil
		if d, ok := w.server.(DialRefuser); ok {
			c.dialErr = d.Dial(at, endpoint)
		}
		c.open, c.dialed = c.dialErr == nil, true
		p.markReady(i, at)
	})
}

// DialRefuser is an optional interface for a Server that can refuse connections.
type DialRefuser interface {
	// Dial returns the error of a connection attempt, or nil if the connection succeeds.
	Dial(at int64, endpoint string) error
}

func (p *poller) reset(i int) {
	c := &p.conns[i]
	*c = conn{gen: c.gen + 1, isPending: c.isPending}
}

func (p *poller) Read(i int, b []byte) (int, error) {
	n, _, err := p.ReadStamped(i, b)
	return n, err
}

// ReadStamped does the same as Read. It also returns the time in nanoseconds since the last byte
// arrived.
func (p *poller) ReadStamped(i int, b []byte) (int, int64, error) {
	p.world.mu.Lock()
	defer p.world.mu.Unlock()
	p.spend(readCost)
	c := &p.conns[i]
	if len(c.in) == 0 {
		if c.ended != nil {
			return 0, -1, c.ended
		}
		return 0, -1, poll.ErrAgain
	}
	n := copy(b, c.in)
	c.in = c.in[:copy(c.in, c.in[n:])]
	return n, max(p.now-c.arrived, 0), nil
}

func (p *poller) Write(i int, b []byte) (int, error) {
	w := p.world
	w.mu.Lock()
	defer w.mu.Unlock()
	c := &p.conns[i]
	if !c.open {
		return 0, errors.New("written to a closed connection")
	}
	p.spend(writeCost)
	for rest := b; len(rest) >= frame; rest = rest[frame:] {
		p.send(i, Request{Tag: binary.BigEndian.Uint32(rest), Kind: kv.Kind(rest[4])})
	}
	return len(b), nil
}

// send delivers a request to its server, and schedules the delivery of the response. The caller
// must hold the lock.
func (p *poller) send(i int, r Request) {
	w, gen, endpoint := p.world, p.conns[i].gen, p.conns[i].endpoint
	w.schedule(p.now+w.wire, func(at int64) {
		answered, outcome := w.server.Serve(at, endpoint, r)
		if answered < 0 {
			return
		}
		w.schedule(answered+w.wire, func(at int64) {
			c := &p.conns[i]
			if !c.open || c.gen != gen {
				return
			}
			at = p.machine.Arrive(at)
			c.in = append(binary.BigEndian.AppendUint32(c.in, r.Tag), byte(outcome))
			c.arrived = max(c.arrived, at)
			p.markReady(i, at)
		})
	})
}

// CloseConnections makes the server close all connections to an endpoint at the given time.
func (w *World) CloseConnections(at int64, endpoint string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.schedule(at, func(at int64) {
		for _, p := range w.pollers {
			for i := range p.conns {
				if c := &p.conns[i]; c.open && c.endpoint == endpoint {
					c.ended = io.EOF
					p.markReady(i, at)
				}
			}
		}
	})
}

func (p *poller) Close(i int) {
	p.world.mu.Lock()
	defer p.world.mu.Unlock()
	p.reset(i)
}
