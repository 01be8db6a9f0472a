package null

import (
	"crypto/tls"
	"io"
	"net"
	"sync"
	"syscall"
	"time"
)

// keepAt is how large a buffer in bytes is kept, and how much output may wait
// for a slow client before nothing more is read of it.
const keepAt = 4 << 20

// linger is how long a closed connection still reads, and throws away, what
// the client had sent: closing with unread bytes would take back the last
// answers.
const linger = time.Second

// Writer is a connection's lock and the writing side of it, for a connection to
// embed. Code that adds to the output, under the lock, calls Flush: it writes,
// unless somebody is at it already.
type Writer struct {
	sync.Mutex // guards what follows, and what else is the connection's
	base       *Base
	net        net.Conn
	raw        *rawWriter // nil: only blocking writes are possible

	out     *[]byte    // to be written
	closing *bool      // close the connection when out is written
	spare   []byte     // the buffer that is not out
	writing bool       // somebody writes without holding the lock
	written *sync.Cond // writing became false
	over    bool       // nothing is read or written any more
	reset   bool       // it is closed without a farewell
}

// Init begins a connection whose output is kept in out, and which is closed
// behind that when closing is set. Both are guarded by the Writer's lock.
func (w *Writer) Init(b *Base, nc net.Conn, out *[]byte, closing *bool) {
	w.base, w.net, w.out, w.closing = b, nc, out, closing
	w.written = sync.NewCond(w)
	if sc, ok := nc.(syscall.Conn); ok && b.Script.Chunk == 0 {
		if rc, err := sc.SyscallConn(); err == nil {
			w.raw = newRawWriter(rc)
		}
	}
}

// Socket implements part of Conn.
func (w *Writer) Socket() net.Conn { return w.net }

// Over reports whether nothing is read or written any more. The caller holds
// the lock.
func (w *Writer) Over() bool { return w.over }

// Flush writes the output, or as much as the network takes if the caller may
// not block; the rest is then written by a goroutine. The caller holds the
// lock, which is released while a write blocks.
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

// Settle flushes and waits for others that write, if the connection is to be
// closed or the client is so slow that nothing more should be read of it. The
// caller holds the lock, which is released meanwhile.
func (w *Writer) Settle() {
	w.Flush(true)
	for w.writing && (*w.closing || len(*w.out) > keepAt) {
		w.written.Wait()
	}
}

// tryWrite writes what the network takes at once.
func (w *Writer) tryWrite() {
	out := *w.out
	n, err := w.raw.write(out)
	if err != nil {
		w.end()
		return
	}
	*w.out = out[:copy(out, out[n:])]
}

// drain writes until there is no more output.
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

// Reset lets the connection be closed without a farewell, behind the output.
// The caller holds the lock.
func (w *Writer) Reset() { *w.closing, w.reset = true, true }

// finish closes the connection when it is to be closed and all is written.
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

// End closes the connection at once, for its Serve to defer.
func (w *Writer) End() {
	w.Lock()
	defer w.Unlock()
	w.end()
}

// Hangup implements part of Conn: it closes the connection with all that is in
// flight, behind what was already answered.
func (w *Writer) Hangup() {
	w.Lock()
	defer w.Unlock()
	*w.closing = true
	w.Flush(false)
}

// readBuffer is how much is read at once, in bytes.
const readBuffer = 64 << 10

// Feed gives what is read to take, until the connection ends or take says that
// it does not go on. What take does not use comes again with what is read next,
// in a larger buffer if need be: how long it may get is for take to bound.
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
	_, _ = io.Copy(io.Discard, w.net) // until the client has closed too, or for linger
}
