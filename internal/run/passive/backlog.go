package passive

import (
	"sync/atomic"
	"unsafe"
)

// Bounds of what waits in memory to be decoded, in bytes with pieceCost for each piece.
const (
	waitingOfOne = 16 << 20 // of one connection
	waitingOfAll = 64 << 20
)

// pieceCost is the memory of a piece besides its bytes, so that very many small pieces are
// bounded, too. The queue that holds them may have twice the room that it needs.
const pieceCost = 2 * int(unsafe.Sizeof(piece{}))

// backlog holds a connection's bytes that are forwarded and not decoded yet. Pieces have
// numbers, taken before they are written: a reply's number is higher than that of its
// request, so that the decoder sees them in an order that is possible.
type backlog struct {
	relay      *Relay
	queue      *queue
	next       atomic.Uint64 // the number given last
	waiting    atomic.Int64  // bytes that wait to be decoded
	unrecorded atomic.Bool   // nothing more is decoded

	// The fields below belong to the queue's goroutine.
	conn  *Conn
	want  uint64           // the number that is decoded next
	early map[uint64]piece // pieces that came before those with lower numbers; nil until one does
}

// piece is what one read returned, or what happened to its connection.
type piece struct {
	of     *backlog
	bytes  []byte
	number uint64
	at     int64
	kind   pieceKind
}

type pieceKind uint8

const (
	pieceOfServer pieceKind = iota
	pieceOfClient
	recordingEnds  // the connection goes on and is not decoded any more
	connectionEnds // nothing more is forwarded
)

// newBacklog starts to decode a connection, whose pieces wait in q.
func (r *Relay) newBacklog(conn uint32, q *queue) *backlog {
	return &backlog{relay: r, queue: q, conn: r.cfg.Tap.Begin(conn), want: 1}
}

// add gives a piece to the queue and reports whether it keeps the piece's bytes. Once there
// is no memory for a piece, the connection is not recorded any more.
func (b *backlog) add(p piece) bool {
	p.of = b
	if b.unrecorded.Load() {
		return false
	}
	if b.reserve(p.size()) {
		b.queue.add(p)
		return true
	}
	if b.unrecorded.CompareAndSwap(false, true) {
		b.queue.add(piece{of: b, at: p.at, kind: recordingEnds})
	}
	return false
}

// end says that nothing more is forwarded.
func (b *backlog) end(at int64) { b.queue.add(piece{of: b, at: at, kind: connectionEnds}) }

func (p *piece) size() int64 { return int64(len(p.bytes) + pieceCost) }

// reserve counts memory, and reports whether that much more may be held.
func (b *backlog) reserve(size int64) bool {
	if b.waiting.Add(size) <= waitingOfOne {
		if b.relay.waiting.Add(size) <= waitingOfAll {
			return true
		}
		b.relay.waiting.Add(-size)
	}
	b.waiting.Add(-size)
	return false
}

// take decodes a piece and the early ones that follow it.
func (b *backlog) take(p piece) {
	switch {
	case p.kind == recordingEnds:
		b.conn.End(p.at, "the connection's bytes came faster than they could be read: from here on it is not recorded")
		return
	case p.kind == connectionEnds:
		for _, p := range b.early {
			b.release(p.size())
		}
		b.early = nil
		b.conn.End(p.at, "")
		return
	case p.number != b.want:
		if b.early == nil {
			b.early = map[uint64]piece{}
		}
		b.early[p.number] = p
		return
	}
	for following := true; following; p, following = b.early[b.want] {
		delete(b.early, p.number)
		b.decode(&p)
	}
}

func (b *backlog) decode(p *piece) {
	b.want++
	if !b.conn.Feed(p.kind == pieceOfClient, p.at, p.bytes) {
		b.unrecorded.Store(true)
	}
	b.release(p.size())
}

func (b *backlog) release(size int64) {
	b.waiting.Add(-size)
	b.relay.waiting.Add(-size)
}
