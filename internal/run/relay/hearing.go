package relay

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/quorumbench/quorumbench/internal/recording"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Bounds of what waits in memory to be understood, in bytes with pieceCost for each piece.
const (
	heldOfOne = 16 << 20 // of one connection
	heldOfAll = 64 << 20
)

// pieceCost is what a piece takes beside its bytes, so that very many small ones are
// bounded, too. The queue that holds them may have twice the room that it needs.
const pieceCost = 2 * int(unsafe.Sizeof(piece{}))

// hearing is one connection's copy on its way to the tap. Pieces have numbers, taken
// before they are written: an answer's is higher than that of what it answers, so
// that the tap hears them in an order that can be.
type hearing struct {
	relay *Relay
	ear   *ear
	conn  uint32
	tap   store.Tap
	next  atomic.Uint64
	held  atomic.Int64 // bytes that wait to be understood
	deaf  atomic.Bool  // nothing more is understood

	// Those below are of the ear's goroutine.
	want  uint64           // the number that is understood next
	early map[uint64]piece // that came before others; nil until one does
	told  bool             // the tap has ended
}

// piece is what one read brought, or what is to be known of a connection from then on.
type piece struct {
	of     *hearing
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
	ofServer what = iota
	ofClient
	late // the connection goes on, and what is understood does not
	over // the connection has ended
)

// hear begins to hear a connection.
func (r *Relay) hear(conn uint32, e *ear) *hearing {
	h := &hearing{relay: r, ear: e, conn: conn, want: 1}
	h.tap = r.cfg.Tapped.Tap(store.TapConfig{Conn: conn, Veil: r.cfg.Veil, Call: r.cfg.Sink.Call, Gap: r.cfg.Sink.Gap})
	return h
}

// admit returns what is to be given to the ear in place of a piece: the piece itself, if
// so much memory more may be held, else that it is late, once, and then nothing.
func (h *hearing) admit(p piece) (given piece, any bool) {
	if h.deaf.Load() {
		return piece{}, false
	}
	size := int64(p.size + pieceCost)
	if h.held.Add(size) <= heldOfOne {
		if h.relay.held.Add(size) <= heldOfAll {
			return p, true
		}
		h.relay.held.Add(-size)
	}
	h.held.Add(-size)
	return piece{of: h, at: p.at, what: late}, h.deaf.CompareAndSwap(false, true)
}

// take understands a piece, and all that waited for it.
func (h *hearing) take(p piece) {
	switch {
	case p.what == late:
		h.end(p.at, "the connection's bytes came faster than they could be read: from here on it is not recorded")
		return
	case p.what == over:
		for _, p := range h.early {
			h.release(&p)
		}
		h.early = nil
		h.end(p.at, "")
		return
	case p.number != h.want:
		if h.early == nil {
			h.early = map[uint64]piece{}
		}
		h.early[p.number] = p
		return
	}
	h.feed(&p)
	for len(h.early) > 0 {
		p, ok := h.early[h.want]
		if !ok {
			return
		}
		delete(h.early, h.want)
		h.feed(&p)
	}
}

func (h *hearing) feed(p *piece) {
	h.want++
	if !h.told {
		if err := h.tap.Feed(p.what == ofClient, p.at, p.b); err != nil {
			h.deaf.Store(true)
			h.end(p.at, fmt.Sprintf("the connection is not understood from here on: %v", err))
		}
	}
	h.release(p)
}

// release lets go of a piece's memory.
func (h *hearing) release(p *piece) {
	size := int64(p.size + pieceCost)
	h.held.Add(-size)
	h.relay.held.Add(-size)
	if p.buf != nil {
		h.relay.free(p.buf)
	}
}

// end ends what is understood, once, with what is missing from a time on, if anything is:
// that time is long past where much waited to be understood.
func (h *hearing) end(at int64, why string) {
	if h.told {
		return
	}
	h.told = true
	if why != "" {
		h.relay.cfg.Sink.Gap(recording.Gap{At: at, Conn: h.conn, Why: why})
	}
	h.tap.End(at)
}
