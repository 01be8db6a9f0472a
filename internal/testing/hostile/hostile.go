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
	"context"
	"io"
	"net"
	"sync"
	"time"

	"github.com/quorumbench/quorumbench/internal/store/null"
)

// Kind is one way in which a server is hostile.
type Kind struct {
	Name string
	// Ops are the load's operations, as loads names them.
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

// greeting is a kind that says the same to everybody, whatever is asked, and
// then nothing.
func greeting(name, text string) Kind {
	return Kind{Name: name, serve: func(c net.Conn, _ string) {
		_, _ = io.WriteString(c, text) // who has gone does not read either
		_, _ = io.Copy(io.Discard, c)
	}}
}

// Undisturbed is the name of each protocol's first kind, which does no harm:
// what a client needs there is what the others are compared with.
const Undisturbed = "undisturbed"

// Server serves one kind on a port of its own.
type Server struct {
	Address string
	// Close ends all connections and waits until nobody serves any more.
	Close func()
}

// Serve serves a kind on loopback until Close.
func Serve(k Kind, upstream string) (*Server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	server := null.NewServer(&null.Script{}, null.NetConfig[*conn, *conn]{MaxDue: 1, Open: func(c net.Conn, _ int) *conn {
		return &conn{Conn: c, serve: func() { k.serve(c, upstream) }}
	}})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(ctx, []net.Listener{l}) // if nothing is accepted, its client says so
	}()
	return &Server{Address: l.Addr().String(), Close: func() { cancel(); <-ended }}, nil
}

// conn is a nullnet.Conn.
type conn struct {
	net.Conn
	serve func()
}

func (c *conn) Serve()           { c.serve() }
func (c *conn) Socket() net.Conn { return c.Conn }
func (c *conn) Hangup()          {}

// swapped returns what was given before, by any connection; at first what is
// given.
func swapped[T any]() func(T) T {
	var lock sync.Mutex
	var held *T
	return func(now T) T {
		lock.Lock()
		defer lock.Unlock()
		before := now
		if held != nil {
			before = *held
		}
		held = &now
		return before
	}
}

// fill writes so many bytes of one value by write, a part of 16 KiB after the other.
func fill(size int, with byte, write func(part []byte) bool) bool {
	part := bytes.Repeat([]byte{with}, 16<<10)
	for ; size > 0; size -= len(part) {
		if !write(part[:min(size, len(part))]) {
			return false
		}
	}
	return true
}

// impossible marks a kind whose answers cannot be true, possible unmarks one.
func impossible(k Kind) Kind { k.Impossible = true; return k }
func possible(k Kind) Kind   { k.Impossible = false; return k }

// flooding marks kinds whose servers do not stop by themselves.
func flooding(kinds ...Kind) []Kind {
	for i := range kinds {
		kinds[i].Flood = true
	}
	return kinds
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
