package http1

import (
	"strings"
	"testing"
)

// consulAnswer has the header fields that Consul sends with every response.
const consulAnswer = "HTTP/1.1 200 OK\r\nContent-Length: 256\r\nContent-Security-Policy: sandbox\r\n" +
	"Content-Type: text/plain; charset=utf-8\r\nVary: Accept-Encoding\r\nX-Consul-Default-Acl-Policy: allow\r\n" +
	"X-Consul-Index: 123456\r\nX-Consul-Knownleader: true\r\nX-Consul-Lastcontact: 0\r\nX-Content-Type-Options: nosniff\r\n" +
	"Date: Fri, 20 Nov 2026 19:00:00 GMT\r\n\r\n"

func BenchmarkExchange(b *testing.B) {
	c := NewConn(Config{Host: "127.0.0.1:8500", KeepFields: []string{"X-Consul-Index"}})
	get := c.Template("GET", "/v1/kv/", false)
	in, key := []byte(consulAnswer+strings.Repeat("v", 256)), []byte("bench/00012345")
	b.SetBytes(int64(len(in)))
	b.ReportAllocs()
	for b.Loop() {
		c.Send(c.Head(append(AppendPath(c.Begin(get), key), "?raw&stale"...)))
		c.Wrote(len(c.Out()))
		r, err := c.Feed(in)
		if err != nil || len(r.Body) != 256 || r.Uint(0) != 123456 {
			b.Fatal(r, err)
		}
	}
}

func BenchmarkExchangeInPieces(b *testing.B) {
	c := NewConn(Config{Host: "127.0.0.1:8500"})
	get := c.Template("GET", "/v1/kv/", false)
	in := []byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n800\r\n" + strings.Repeat("v", 2048) + "\r\n0\r\n\r\n")
	b.ReportAllocs()
	for b.Loop() {
		c.Send(c.Head(c.Begin(get)))
		c.Wrote(len(c.Out()))
		for n := 0; n < len(in); n += 700 {
			r, err := c.Feed(in[n:min(n+700, len(in))])
			if err != nil || r != nil && len(r.Body) != 2048 {
				b.Fatal(r, err)
			}
		}
		if !c.Idle() {
			b.Fatal("no answer")
		}
	}
}
