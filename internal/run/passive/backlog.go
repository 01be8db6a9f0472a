package passive

import (
	"sync/atomic"
	"unsafe"
)

// Limits on the memory, in bytes, of pieces that are waiting to be decoded. A piece counts as the
// length of its bytes plus pieceOverhead.
const (
	maxConnBacklog  = 16 << 20 // for a single connection
	maxTotalBacklog = 64 << 20 // for all connections
)

// pieceOverhead is the memory that a piece needs in addition to its bytes. Counting this memory
// also limits the number of small pieces. The factor 2 allows for a queue slice whose capacity is
// twice its length.
const pieceOverhead = 2 * int(unsafe.Sizeof(piece{}))

// backlog holds the bytes of a connection that were forwarded but are not decoded yet. Each piece
// gets its number before it is written to the other side. A reply therefore has a higher number
// than its request. Because the pieces are decoded in the order of their numbers, each request is
// decoded before its reply.
type backlog struct {
	relay      *Relay
	queue      *queue
	lastNumber atomic.Uint64 // the latest number that was assigned
	waiting    atomic.Int64  // memory of the pieces that are waiting to be decoded
	unrecorded atomic.Bool   // whether decoding has stopped

	// Only the queue's goroutine uses the following fields.
	conn         *Conn
	nextToDecode uint64           // the number of the piece to decode next
	earlyPieces  map[uint64]piece // pieces that arrived before pieces with lower numbers; nil until the first such piece
}

// piece holds either the bytes that one read returned or an event on the connection.
type piece struct {
	backlog   *backlog
	bytes     []byte
	number    uint64
	timestamp int64
	kind      pieceKind
}

type pieceKind uint8

const (
	serverPiece pieceKind = iota
	clientPiece
	recordingEnds  // the connection continues but is no longer decoded
	connectionEnds // no more bytes are forwarded
)

// newBacklog starts decoding a connection. The connection's pieces wait in the queue q.
func (r *Relay) newBacklog(conn uint32, q *queue) *backlog {
	return &backlog{relay: r, queue: q, conn: r.cfg.Tap.Begin(conn), nextToDecode: 1}
}

// add adds a piece to the queue. It returns true if the queue keeps the piece's bytes. If the piece
// would exceed a memory limit, add drops the piece and stops recording the connection.
func (b *backlog) add(p piece) bool {
	p.backlog = b
	if b.unrecorded.Load() {
		return false
	}
	if b.reserve(p.size()) {
		b.queue.add(p)
		return true
	}
	if b.unrecorded.CompareAndSwap(false, true) {
		b.queue.add(piece{backlog: b, timestamp: p.timestamp, kind: recordingEnds})
	}
	return false
}

// end adds a connectionEnds event: no more bytes are forwarded.
func (b *backlog) end(at int64) { b.queue.add(piece{backlog: b, timestamp: at, kind: connectionEnds}) }

func (p *piece) size() int64 { return int64(len(p.bytes) + pieceOverhead) }

// reserve reserves memory. It returns false if the memory would exceed a limit.
func (b *backlog) reserve(size int64) bool {
	if b.waiting.Add(size) <= maxConnBacklog {
		if b.relay.waiting.Add(size) <= maxTotalBacklog {
			return true
		}
		b.relay.waiting.Add(-size)
	}
	b.waiting.Add(-size)
	return false
}

// decodePiece decodes a piece if all earlier pieces are decoded, and then decodes the early pieces
// that directly follow it. Otherwise it keeps the piece as an early piece.
func (b *backlog) decodePiece(p piece) {
	switch {
	case p.kind == recordingEnds:
		b.conn.End(p.timestamp, "the connection's bytes arrived faster than they could be decoded, so the rest of the connection is not recorded")
		return
	case p.kind == connectionEnds:
		for _, p := range b.earlyPieces {
			b.release(p.size())
		}
		b.earlyPieces = nil
		b.conn.End(p.timestamp, "")
		return
	case p.number != b.nextToDecode:
		if b.earlyPieces == nil {
			b.earlyPieces = map[uint64]piece{}
		}
		b.earlyPieces[p.number] = p
		return
	}
	for following := true; following; p, following = b.earlyPieces[b.nextToDecode] {
		delete(b.earlyPieces, p.number)
		b.decode(&p)
	}
}

func (b *backlog) decode(p *piece) {
	b.nextToDecode++
	if !b.conn.Feed(p.kind == clientPiece, p.timestamp, p.bytes) {
		b.unrecorded.Store(true)
	}
	b.release(p.size())
}

func (b *backlog) release(size int64) {
	b.waiting.Add(-size)
	b.relay.waiting.Add(-size)
}
