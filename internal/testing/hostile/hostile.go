// Package hostile contains servers that try to harm their client: they send floods, wrong lengths,
// endless headers, compression bombs, or swapped or impossible responses, or remain silent. A kind
// is one such behavior in one protocol. If a server must behave correctly for a while before it
// causes harm, an upstream null server provides the correct responses.
//
// Only tests may import this package.
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

// Kind describes one way in which a server is hostile.
type Kind struct {
	Name string
	// Ops selects the load's operations. It is a key in the map that the function `loads` returns.
	Ops string
	// Impossible is set if the server's responses are impossible. A load on such a server must not
	// be valid.
	Impossible bool
	// Flood is set if the server sends without end. Then the load lasts longer, so that the
	// cost of each byte becomes visible.
	Flood bool
	// serve serves a connection until it ends. upstream is the endpoint of the null server.
	serve func(c net.Conn, upstream string)
}

// greeting returns a kind that sends the same text to every client, and nothing after that.
func greeting(name, text string) Kind {
	return Kind{Name: name, serve: func(c net.Conn, _ string) {
		_, _ = io.WriteString(c, text) // an error means only that the client has closed the connection
		_, _ = io.Copy(io.Discard, c)
	}}
}

// Undisturbed is the name of the first kind of each protocol, which is harmless. The resource use
// of its client is the baseline for the clients of all other kinds.
const Undisturbed = "undisturbed"

// Server is a server of one kind on its own port.
type Server struct {
	Address string
	// Close closes all connections and waits for their goroutines.
	Close func()
}

// Serve starts a server of a kind on the loopback interface. The server runs until Close is called.
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
		// If the server does not accept connections, the client reports it.
		_ = server.Serve(ctx, []net.Listener{l})
	}()
	return &Server{Address: l.Addr().String(), Close: func() { cancel(); <-ended }}, nil
}

type conn struct {
	net.Conn
	serve func()
}

func (c *conn) Serve()           { c.serve() }
func (c *conn) Socket() net.Conn { return c.Conn }
func (c *conn) Hangup()          {}

// swapWithPrevious returns a function that stores its argument and returns the argument of its
// previous call, even if another connection made that call. Its first call returns its own
// argument.
func swapWithPrevious[T any]() func(T) T {
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

// fill writes `size` bytes that all equal `value`, in parts of 16 KiB.
func fill(size int, value byte, write func(part []byte) bool) bool {
	part := bytes.Repeat([]byte{value}, 16<<10)
	for ; size > 0; size -= len(part) {
		if !write(part[:min(size, len(part))]) {
			return false
		}
	}
	return true
}

// markImpossible returns the kind with a mark that its responses are impossible. markPossible
// removes the mark.
func markImpossible(k Kind) Kind { k.Impossible = true; return k }
func markPossible(k Kind) Kind   { k.Impossible = false; return k }

// markFlooding marks kinds whose servers send without end.
func markFlooding(kinds ...Kind) []Kind {
	for i := range kinds {
		kinds[i].Flood = true
	}
	return kinds
}

// gzippedZeros returns zeros in gzip format; they decompress to the given number of mebibytes. A
// gzip file may consist of several members, so gzippedZeros repeats a member of one mebibyte.
func gzippedZeros(mebibytes int) []byte {
	var one bytes.Buffer
	zip := gzip.NewWriter(&one)
	_, _ = zip.Write(make([]byte, 1<<20)) // writes to a buffer never fail
	_ = zip.Close()
	return bytes.Repeat(one.Bytes(), mebibytes)
}

// flood writes b repeatedly, without reading, until the client closes the connection.
func flood(c net.Conn, b []byte) {
	many := bytes.Repeat(b, max(1, 64<<10/len(b)))
	for {
		if _, err := c.Write(many); err != nil {
			return
		}
	}
}

// readSlowly reads one byte every 10 ms, and sends nothing, until the client closes the connection.
func readSlowly(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetReadBuffer(1) // the system's minimum
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for one := make([]byte, 1); ; <-tick.C {
		if _, err := c.Read(one); err != nil {
			return
		}
	}
}

// drip writes b in pieces of the given number of bytes, with a pause after each piece.
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
