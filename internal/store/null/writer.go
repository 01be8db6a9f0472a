package null

import (
	"crypto/tls"
	"io"
	"net"
	"sync"
	"syscall"
	"time"
)

// maxKeptBuffer is the maximum size in bytes of a buffer that is kept for reuse. It is also the
// limit for output that waits for a slow client. Above this limit, the server stops reading from
// the client.
const maxKeptBuffer = 4 << 20

// linger is how long the server reads and discards the client's data after it has closed its own
// side of the connection. If the server closed a socket with unread bytes, the last responses
// could be lost.
const linger = time.Second

// Writer is the lock and the output of a connection, and is embedded in the connection. A goroutine
// that appends to the output must hold the lock and must then call Flush. Flush writes unless
// another goroutine is writing.
type Writer struct {
	sync.Mutex // guards the fields below and the fields of the connection
	base       *Base
	net        net.Conn
	raw        *rawWriter // nil if only blocking writes are possible

	out     *[]byte    // pending output
	closing *bool      // close the connection once out is written
	spare   []byte     // the other buffer; it is swapped with out
	writing bool       // a goroutine that does not hold the lock is writing
	written *sync.Cond // signaled when writing becomes false
	ended   bool       // the connection has ended
	reset   bool       // close with a TCP reset
}

// Init initializes a Writer. The parameter `out` points to the connection's pending output. When
// the flag that `closing` points to is set, the Writer closes the connection after it has written
// the output. The Writer's lock guards both variables.
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
func (w *Writer) Ended() bool { return w.ended }

// Flush writes the output. If `block` is not set, it writes only as much as the network accepts
// immediately, and another goroutine writes the rest. The caller must hold the lock, but Flush
// releases it while a write blocks.
func (w *Writer) Flush(block bool) {
	if w.writing || w.ended {
		return
	}
	if w.raw != nil && len(*w.out) > 0 {
		w.tryWrite()
	}
	switch {
	case w.ended:
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

// FlushAndWait flushes the output. If the connection is being closed, or if too much output waits
// for a slow client, it also waits for the goroutine that is writing. The caller must hold the
// lock, but FlushAndWait releases it while it waits.
func (w *Writer) FlushAndWait() {
	w.Flush(true)
	for w.writing && (*w.closing || len(*w.out) > maxKeptBuffer) {
		w.written.Wait()
	}
}

// tryWrite writes as much as the network accepts immediately.
func (w *Writer) tryWrite() {
	out := *w.out
	n, err := w.raw.write(out)
	if err != nil {
		w.end()
		return
	}
	*w.out = out[:copy(out, out[n:])]
}

// drain writes until no output remains.
func (w *Writer) drain() {
	for len(*w.out) > 0 && !w.ended {
		out := *w.out
		*w.out = w.spare[:0]
		w.Unlock()
		err := w.base.write(w.net, out)
		w.Lock()
		if w.spare = out; cap(out) > maxKeptBuffer {
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

// Reset makes the connection end with a TCP reset after the output is written. The caller must hold
// the lock.
func (w *Writer) Reset() { *w.closing, w.reset = true, true }

// finish closes the connection if closing is set. It must be called only when all output has been
// written.
func (w *Writer) finish() {
	if !*w.closing || w.ended {
		return
	}
	w.ended = true
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
	w.ended = true
	_ = w.net.Close()
}

// End closes the connection at once. Feed calls it when the connection ends.
func (w *Writer) End() {
	w.Lock()
	defer w.Unlock()
	w.end()
}

// Hangup implements Conn. It closes the connection after it has written the responses that are
// already in the output. Other requests get no response.
func (w *Writer) Hangup() {
	w.Lock()
	defer w.Unlock()
	*w.closing = true
	w.Flush(false)
}

// readBuffer is the initial size of the read buffer, in bytes.
const readBuffer = 64 << 10

// Feed reads from the connection and calls the function `take` with the bytes. Feed stops when
// the connection ends or the function returns keepOpen = false. If the function does not use all
// bytes, Feed calls it again with the remaining bytes and further bytes, in a larger buffer if
// necessary. The function must limit how many bytes it leaves unused.
func (w *Writer) Feed(take func(in []byte) (used int, keepOpen bool)) {
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
	_, _ = io.Copy(io.Discard, w.net) // read until the client has also closed, or linger has passed
}
