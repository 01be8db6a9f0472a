package null

import (
	"crypto/tls"
	"io"
	"net"
	"sync"
	"syscall"
	"time"
)

// keepAt is the maximum size in bytes of a kept buffer, and of the output that
// may wait for a slow client before the server stops reading from it.
const keepAt = 4 << 20

// linger is how long a closed connection still reads and discards the client's
// data: closing a socket with unread bytes could discard the last responses.
const linger = time.Second

// Writer is a connection's lock and output, for embedding in a connection. Code
// that appends to the output under the lock must then call Flush, which writes
// unless another goroutine is writing.
type Writer struct {
	sync.Mutex // guards the following fields and the connection's other fields
	base       *Base
	net        net.Conn
	raw        *rawWriter // nil: only blocking writes are possible

	out     *[]byte    // to be written
	closing *bool      // close the connection once out is written
	spare   []byte     // the other buffer; out and spare are swapped
	writing bool       // a goroutine is writing without holding the lock
	written *sync.Cond // signals that writing became false
	over    bool       // nothing is read or written any more
	reset   bool       // closed with a TCP reset
}

// Init initializes a connection whose output is in out, and which is closed after
// the output once closing is set. The Writer's lock guards both.
func (w *Writer) Init(b *Base, nc net.Conn, out *[]byte, closing *bool) {
	w.base, w.net, w.out, w.closing = b, nc, out, closing
	w.written = sync.NewCond(w)
	if sc, ok := nc.(syscall.Conn); ok && b.Script.Chunk == 0 {
		if rc, err := sc.SyscallConn(); err == nil {
			w.raw = newRawWriter(rc)
		}
	}
}

// Socket implements Conn.
func (w *Writer) Socket() net.Conn { return w.net }

// Ended reports whether the connection has ended. The caller must hold the lock.
func (w *Writer) Ended() bool { return w.over }

// Flush writes the output, or as much as the network accepts if the caller must
// not block; a goroutine then writes the rest. The caller must hold the lock,
// which is released while a write blocks.
func (w *Writer) Flush(block bool) {
	if w.writing || w.over {
		return
	}
	if w.raw != nil && len(*w.out) > 0 {
		w.tryWrite()
	}
	switch {
	case w.over:
	case len(*w.out) == 0:
		w.finish()
	case block:
		w.writing = true
		w.drain()
	default:
		w.writing = true
		w.base.running.Go(func() {
			w.Lock()
			defer w.Unlock()
			w.drain()
		})
	}
}

// Settle flushes. If the connection is being closed, or the client is so slow
// that reading should stop, it also waits for other writers. The caller must hold
// the lock, which is released meanwhile.
func (w *Writer) Settle() {
	w.Flush(true)
	for w.writing && (*w.closing || len(*w.out) > keepAt) {
		w.written.Wait()
	}
}

// tryWrite writes as much as the network accepts at once.
func (w *Writer) tryWrite() {
	out := *w.out
	n, err := w.raw.write(out)
	if err != nil {
		w.end()
		return
	}
	*w.out = out[:copy(out, out[n:])]
}

// drain writes until there is no output.
func (w *Writer) drain() {
	for len(*w.out) > 0 && !w.over {
		out := *w.out
		*w.out = w.spare[:0]
		w.Unlock()
		err := w.base.write(w.net, out)
		w.Lock()
		if w.spare = out; cap(out) > keepAt {
			w.spare = nil
		}
		if err != nil {
			w.end()
		}
	}
	w.writing = false
	w.finish()
	w.written.Broadcast()
}

// Reset makes the connection close with a TCP reset after the output. The caller
// must hold the lock.
func (w *Writer) Reset() { *w.closing, w.reset = true, true }

// finish closes the connection if it must be closed and everything is written.
func (w *Writer) finish() {
	if !*w.closing || w.over {
		return
	}
	w.over = true
	if w.reset {
		under := w.net
		if t, ok := under.(*tls.Conn); ok {
			under = t.NetConn()
		}
		if tcp, ok := under.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		_ = under.Close()
		return
	}
	if half, ok := w.net.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
		_ = w.net.SetReadDeadline(time.Now().Add(linger))
		return
	}
	_ = w.net.Close()
}

// end closes the connection at once.
func (w *Writer) end() {
	w.over = true
	_ = w.net.Close()
}

// End closes the connection at once; Serve methods defer it.
func (w *Writer) End() {
	w.Lock()
	defer w.Unlock()
	w.end()
}

// Hangup implements Conn. It drops requests in flight and closes the connection
// after the responses sent so far.
func (w *Writer) Hangup() {
	w.Lock()
	defer w.Unlock()
	*w.closing = true
	w.Flush(false)
}

// readBuffer is the number of bytes read at once.
const readBuffer = 64 << 10

// Feed passes the bytes read to take, until the connection ends or take returns
// goesOn false. Bytes that take does not use are passed again with the following
// ones, in a larger buffer if necessary; take must limit their number.
func (w *Writer) Feed(take func(in []byte) (used int, goesOn bool)) {
	defer w.End()
	buf, held := make([]byte, readBuffer), 0
	for goesOn := true; goesOn; {
		n, err := w.net.Read(buf[held:])
		if n == 0 && err != nil {
			return
		}
		held += n
		var used int
		used, goesOn = take(buf[:held])
		if held = copy(buf, buf[used:held]); held == len(buf) {
			buf = append(buf, make([]byte, len(buf))...)
		}
	}
	_, _ = io.Copy(io.Discard, w.net) // until the client has closed, too, or linger has passed
}
