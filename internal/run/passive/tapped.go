package passive

import (
	"sync/atomic"
	"unsafe"
)

// Bounds of what waits in memory to be understood, in bytes with pieceCost for each piece.
const (
	heldOfOne = 16 << 20 // of one connection
	relayHeld = 64 << 20
)

// pieceCost is what a piece takes beside its bytes, so that very many small ones are
// bounded, too. The queue that holds them may have twice the room that it needs.
const pieceCost = 2 * int(unsafe.Sizeof(piece{}))

// tapped is one connection's copy on its way to the tap. Pieces have numbers, taken
// before they are written: an answer's is higher than that of what it answers, so
// that the tap hears them in an order that can be.
type tapped struct {
	relay      *Relay
	queue      *queue
	next       atomic.Uint64
	held       atomic.Int64 // bytes that wait to be understood
	unrecorded atomic.Bool  // nothing more is understood

	// Those below are of the queue's goroutine.
	conn  *Conn
	want  uint64           // the number that is understood next
	early map[uint64]piece // that came before others; nil until one does
}

// piece is what one read brought, or what is to be known of a connection from then on.
type piece struct {
	of     *tapped
	b      []byte
	buf    *buffer // is free when the piece was understood; nil: others need it yet
	number uint64
	at     int64
	size   int // with which it was let in
	what   what
}

// what a piece is.
type what uint8

const (
	pieceOfServer what = iota
	pieceOfClient
	late // the connection goes on, and what is understood does not
	over // the connection has ended
)

// tap begins to tap a connection.
func (r *Relay) tap(conn uint32, q *queue) *tapped {
	return &tapped{relay: r, queue: q, conn: r.cfg.Tap.Begin(conn), want: 1}
}

// admit returns what is to be given to the queue in place of a piece: the piece itself, if
// so much memory more may be held, else that it is late, once, and then nothing.
func (t *tapped) admit(p piece) (given piece, any bool) {
	if t.unrecorded.Load() {
		return piece{}, false
	}
	size := int64(p.size + pieceCost)
	if t.held.Add(size) <= heldOfOne {
		if t.relay.held.Add(size) <= relayHeld {
			return p, true
		}
		t.relay.held.Add(-size)
	}
	t.held.Add(-size)
	return piece{of: t, at: p.at, what: late}, t.unrecorded.CompareAndSwap(false, true)
}

// take understands a piece, and all that waited for it.
func (t *tapped) take(p piece) {
	switch {
	case p.what == late:
		t.conn.End(p.at, "the connection's bytes came faster than they could be read: from here on it is not recorded")
		return
	case p.what == over:
		for _, p := range t.early {
			t.release(&p)
		}
		t.early = nil
		t.conn.End(p.at, "")
		return
	case p.number != t.want:
		if t.early == nil {
			t.early = map[uint64]piece{}
		}
		t.early[p.number] = p
		return
	}
	t.feed(&p)
	for len(t.early) > 0 {
		p, ok := t.early[t.want]
		if !ok {
			return
		}
		delete(t.early, t.want)
		t.feed(&p)
	}
}

func (t *tapped) feed(p *piece) {
	t.want++
	if !t.conn.Feed(p.what == pieceOfClient, p.at, p.b) {
		t.unrecorded.Store(true)
	}
	t.release(p)
}

// release lets go of a piece's memory.
func (t *tapped) release(p *piece) {
	size := int64(p.size + pieceCost)
	t.held.Add(-size)
	t.relay.held.Add(-size)
	if p.buf != nil {
		t.relay.free(p.buf)
	}
}
