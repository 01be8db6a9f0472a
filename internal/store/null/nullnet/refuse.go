package nullnet

import (
	"io"
	"math/rand/v2"
	"net"

	"github.com/quorumbench/quorumbench/internal/store/null"
)

// BadRequest is what a web server says to what is no HTTP, or no request that
// it knows.
const BadRequest = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/html\r\nContent-Length: 37\r\nConnection: close\r\n\r\n" +
	"<html><h1>400 Bad Request</h1></html>"

// garbageSize is how many random bytes a connection gets, more than the header
// of any protocol's first message takes.
const garbageSize = 4096

// refuse treats a member's n-th connection as the script's mode says, without
// ever speaking the protocol.
func (b *Base) refuse(nc net.Conn, n uint64, badRequest string) {
	switch b.Script.Mode {
	case null.Garbage:
		random := rand.New(rand.NewPCG(b.Script.Seed, n))
		garbage := make([]byte, garbageSize)
		for i := range garbage {
			garbage[i] = byte(random.Uint32())
		}
		_ = b.Write(nc, garbage)
	case null.HTTP1:
		// Such a server answers once it has read a request, or what it takes for one.
		if _, err := nc.Read(make([]byte, 1)); err != nil {
			return
		}
		_ = b.Write(nc, []byte(badRequest))
		if half, ok := nc.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite()
		}
	}
	_, _ = io.Copy(io.Discard, nc)
}
