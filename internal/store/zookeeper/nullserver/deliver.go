package nullserver

import (
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"time"

	"github.com/quorumbench/quorumbench/internal/store/null"
)

// begin schedules what the script does at times counted from the first
// operation, which arrived now.
func (s *server) begin(now int64) {
	for _, at := range s.script.Closes {
		s.schedule.add(now+int64(at), nil)
	}
}

// fire gives the answers that are due, until the server stops. It keeps its
// thread, which the kernel wakes at the time: otherwise another goroutine may
// be running there, and the rarest answers come later still.
func (s *server) fire() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var batch []*conn
	for {
		var ok bool
		if batch, ok = s.schedule.next(batch[:0]); !ok {
			return
		}
		for _, c := range batch {
			if c == nil {
				s.closeConns()
				continue
			}
			c.mu.Lock()
			c.scheduled = false
			c.release(s.clock.now())
			c.flush(false)
			c.mu.Unlock()
		}
		clear(batch)
	}
}

// closeConns closes every open connection, as the script says.
func (s *server) closeConns() {
	s.mu.Lock()
	conns := make([]*conn, 0, len(s.conns))
	for c := range s.conns {
		conns = append(conns, c)
	}
	s.mu.Unlock()
	for _, c := range conns {
		c.mu.Lock()
		c.closing = true
		c.flush(false)
		c.mu.Unlock()
	}
}

// write writes everything, in chunks if the script says so.
func (s *server) write(to net.Conn, b []byte) error {
	chunk := s.script.Chunk
	if chunk == 0 {
		_, err := to.Write(b)
		return err
	}
	for len(b) > 0 {
		n, err := to.Write(b[:min(chunk, len(b))])
		if err != nil {
			return err
		}
		if b = b[n:]; len(b) > 0 && s.script.Pause > 0 {
			s.pause(s.script.Pause)
		}
	}
	return nil
}

// pause waits, unless the server stops.
func (s *server) pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.done:
	}
}

// garbageSize is how many random bytes a connection gets.
const garbageSize = 4096

// refuse treats the n-th connection as the script's mode says, without ever
// speaking ZooKeeper's protocol.
func (s *server) refuse(nc net.Conn, n uint64) {
	switch s.script.Mode {
	case null.Garbage:
		random := rand.New(rand.NewPCG(s.script.Seed, n))
		b := make([]byte, garbageSize)
		for i := range b {
			b[i] = byte(random.Uint32())
		}
		_ = s.write(nc, b)
	case null.HTTP1:
		// Such a server answers once it has read a request, or what it takes for one.
		if _, err := nc.Read(make([]byte, 1)); err != nil {
			return
		}
		_ = s.write(nc, []byte(badRequestPage))
		if half, ok := nc.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite()
		}
	}
	_, _ = io.Copy(io.Discard, nc)
}

// badRequestPage is what a web server says to a ConnectRequest.
const badRequestPage = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/html\r\nContent-Length: 37\r\nConnection: close\r\n\r\n" +
	"<html><h1>400 Bad Request</h1></html>"
