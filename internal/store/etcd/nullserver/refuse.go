package nullserver

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"

	"github.com/quorumbench/quorumbench/internal/store/null"
)

// garbageSize is how many random bytes a connection gets, more than any frame
// header or settings take.
const garbageSize = 4096

// refuse treats the n-th connection as the script's mode says, without ever
// speaking HTTP/2.
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

// badRequestPage is what a web server says to HTTP/2's preface.
const badRequestPage = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/html\r\nContent-Length: 41\r\nConnection: close\r\n\r\n" +
	"<html><h1>400 Bad Request</h1></html>\r\n\r\n"

// notFound is told to those who ask over HTTP/1.1 for what etcd has beside
// gRPC, such as /metrics.
const notFound = "This is quorumbench's null server: it speaks etcd's gRPC over HTTP/2 and has no metrics.\n"

var notFoundPage = fmt.Sprintf("HTTP/1.1 404 Not Found\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\n"+
	"Connection: close\r\n\r\n%s", len(notFound), notFound)

// isHTTP1 reports whether a connection begins with a request in HTTP/1.
func isHTTP1(in []byte) bool {
	line, _, _ := strings.Cut(string(in[:min(len(in), 4096)]), "\n")
	words := strings.Fields(line)
	return len(words) == 3 && strings.HasPrefix(words[2], "HTTP/1.")
}
