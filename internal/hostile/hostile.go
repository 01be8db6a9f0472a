// Package hostile has servers that try to harm their client: floods, lengths
// that are not true, endless headers, compression bombs, swapped and impossible
// answers, silence. A kind is one such behaviour in one protocol. Where a
// server has to behave for a while before it does harm, a null server behind it
// gives the right answers.
//
// It is for tests alone, and nothing but tests imports it.
package hostile

import (
	"bytes"
	"compress/gzip"
	"net"
	"sync"
	"time"
)

// Kind is one way in which a server is hostile.
type Kind struct {
	Name string
	// Ops are the load's operations, as Loads names them; empty is "mixed".
	Ops string
	// Impossible says that what the server answers cannot be true: no load on
	// it may be valid.
	Impossible bool
	// Flood says that what the server sends does not end by itself: the load
	// is longer, so that each byte's cost is seen.
	Flood bool
	// serve is a connection's whole life; upstream is the null server.
	serve func(c net.Conn, upstream string)
}

// Undisturbed is the name of each protocol's first kind, which does no harm:
// what a client needs there is what the others are compared with.
const Undisturbed = "undisturbed"

// Server serves one kind on a port of its own.
type Server struct {
	Address string

	listener net.Listener
	mu       sync.Mutex
	conns    map[net.Conn]bool // nil: closed
	running  sync.WaitGroup
}

// Serve serves a kind on loopback until Close.
func Serve(k Kind, upstream string) (*Server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Server{Address: l.Addr().String(), listener: l, conns: map[net.Conn]bool{}}
	s.running.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil || !s.add(c) {
				return
			}
			s.running.Go(func() {
				defer s.remove(c)
				k.serve(c, upstream)
			})
		}
	})
	return s, nil
}

func (s *Server) add(c net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conns == nil {
		_ = c.Close() // it came too late
		return false
	}
	s.conns[c] = true
	return true
}

func (s *Server) remove(c net.Conn) {
	_ = c.Close() // its client knows why
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
}

// Close ends all connections and waits until nobody serves any more.
func (s *Server) Close() {
	_ = s.listener.Close() // nothing is left to accept
	s.mu.Lock()
	for c := range s.conns {
		_ = c.Close() // likewise
	}
	s.conns = nil
	s.mu.Unlock()
	s.running.Wait()
}

// zipped is so many mebibytes of zeros in the format of gzip, which may have
// several members one behind the other.
func zipped(mebibytes int) []byte {
	var one bytes.Buffer
	zip := gzip.NewWriter(&one)
	_, _ = zip.Write(make([]byte, 1<<20)) // a buffer takes everything
	_ = zip.Close()
	return bytes.Repeat(one.Bytes(), mebibytes)
}

// flood writes b again and again until the client has gone. It does not read.
func flood(c net.Conn, b []byte) {
	many := bytes.Repeat(b, max(1, 64<<10/len(b)))
	for {
		if _, err := c.Write(many); err != nil {
			return
		}
	}
}

// silence reads what comes and says nothing until the client has gone.
func silence(c net.Conn) {
	buf := make([]byte, 64<<10)
	for {
		if _, err := c.Read(buf); err != nil {
			return
		}
	}
}

// slowly reads a byte now and then and says nothing until the client has gone.
func slowly(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetReadBuffer(1) // as little as the system lets
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for one := make([]byte, 1); ; <-tick.C {
		if _, err := c.Read(one); err != nil {
			return
		}
	}
}

// drip writes b a few bytes at a time, a pause between two.
func drip(c net.Conn, b []byte, bytes int, pause time.Duration) bool {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for len(b) > 0 {
		n := min(bytes, len(b))
		if _, err := c.Write(b[:n]); err != nil {
			return false
		}
		b = b[n:]
		<-tick.C
	}
	return true
}
