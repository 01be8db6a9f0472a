package nullserver

import (
	"fmt"
	"strings"
)

// badRequestPage is what a web server says to HTTP/2's preface.
const badRequestPage = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/html\r\nContent-Length: 41\r\nConnection: close\r\n\r\n" +
	"<html><h1>400 Bad Request</h1></html>\r\n\r\n"

// notFound is the answer to those who ask over HTTP/1.1 for what etcd has besides
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
