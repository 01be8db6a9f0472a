package hostile

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"
)

// HTTP1 is the kinds of HTTP/1.1.
func HTTP1() []Kind {
	kinds := []Kind{h1Kind(Undisturbed, nil)}
	kinds = append(kinds, h1Raw()...)
	kinds = append(kinds, h1Heads()...)
	kinds = append(kinds, h1Bodies()...)
	kinds = append(kinds, h1Endless()...)
	return append(kinds, h1Answers()...)
}

// h1Raw answer a request with bytes, and then nothing or the end.
func h1Raw() (kinds []Kind) {
	for _, of := range []struct {
		name, bytes string
		goesOn      bool
	}{
		{"silence from the first byte on", "", true},
		{"closes at once", "", false},
		{"half a status line, then silence", "HTTP/1.1 20", true},
		{"half a status line, then the end", "HTTP/1.1 20", false},
		{"half a header, then silence", "HTTP/1.1 200 OK\r\nContent-Le", true},
		{"a SETTINGS frame of HTTP/2", "\x00\x00\x00\x04\x00\x00\x00\x00\x00", true},
		{"a TLS alert", "\x15\x03\x01\x00\x02\x02\x16", true},
		{"garbage", "\xff\xfe\xfd\xfc garbage \x00\x01\x02\r\n\r\n", true},
		{"a status that HTTP does not have", "HTTP/1.1 999 No\r\nContent-Length: 0\r\n\r\n", true},
		{"a status of four digits", "HTTP/1.1 2000 OK\r\nContent-Length: 0\r\n\r\n", true},
		{"a switch of protocols", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n", true},
		{"a length of -1", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", true},
		{"a length of 2^63", "HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775808\r\n\r\n", true},
		{"a length of 10^30", "HTTP/1.1 200 OK\r\nContent-Length: 1" + strings.Repeat("0", 30) + "\r\n\r\n", true},
		{"two lengths that differ", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\ntrue", true},
		{"a length and chunks", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n4\r\ntrue\r\n", true},
		{"a chunk of 2^60 bytes", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffff\r\n", true},
		{"a chunk of no size", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\n", true},
		{"a chunk of -1 bytes", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n", true},
		{"a chunk longer than it said", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\ntrue\r\n0\r\n\r\n", true},
		{"a body shorter than it said, then the end", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\ntrue", false},
		{"a body shorter than it said, then silence", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\ntrue", true},
		{"an encoding that nobody asked for", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", true},
		{"a field without a name", "HTTP/1.1 200 OK\r\n: value\r\nContent-Length: 0\r\n\r\n", true},
		{"NUL bytes in the head", "HTTP/1.1 200 OK\r\nX: \x00\x00\r\nContent-Length: 0\r\n\r\n", true},
	} {
		k := h1Kind(of.name, func(c *h1Conn, _ *http.Request) bool {
			return c.write([]byte(of.bytes)) && of.goesOn
		})
		k.Impossible = true
		kinds = append(kinds, k)
	}
	return append(kinds, Kind{Name: "reads a byte now and then", serve: func(c net.Conn, _ string) { slowly(c) }, Impossible: true})
}

// h1Heads are right answers with something about their heads.
func h1Heads() []Kind {
	with := func(name string, change func(c *h1Conn, r *http.Request, a *h1Answer)) Kind {
		return h1Kind(name, func(c *h1Conn, r *http.Request) bool {
			a := c.right(r)
			change(c, r, &a)
			return c.send(a)
		})
	}
	redirect := func(name, to string) Kind {
		k := h1Kind(name, func(c *h1Conn, r *http.Request) bool {
			location := strings.ReplaceAll(to, "SELF", c.LocalAddr().String())
			return c.send(h1Answer{http.StatusTemporaryRedirect, http.Header{"Location": {location + r.URL.RequestURI()}}, nil})
		})
		k.Impossible = true
		return k
	}
	return []Kind{
		with("a head of 60 KiB", func(_ *h1Conn, _ *http.Request, a *h1Answer) { a.fields.Set("X-More", strings.Repeat("x", 60<<10)) }),
		with("a head of 1 MiB", func(_ *h1Conn, _ *http.Request, a *h1Answer) { a.fields.Set("X-More", strings.Repeat("x", 1<<20)) }),
		with("20,000 fields", func(_ *h1Conn, _ *http.Request, a *h1Answer) {
			for i := range 20_000 {
				a.fields.Set(fmt.Sprint("X-", i), "x")
			}
		}),
		with("other fields in each answer", func(c *h1Conn, _ *http.Request, a *h1Answer) { a.fields.Set(fmt.Sprint("X-", c.served), "x") }),
		with("cookies", func(c *h1Conn, _ *http.Request, a *h1Answer) {
			a.fields.Set("Set-Cookie", fmt.Sprintf("c%d=%s", c.served, strings.Repeat("x", 4000)))
		}),
		with("connections that end behind one answer", func(_ *h1Conn, _ *http.Request, a *h1Answer) { a.fields.Set("Connection", "close") }),
		redirect("redirects to itself", ""),
		redirect("redirects to itself by its address", "http://SELF"),
		redirect("redirects to another host", "http://127.0.0.2:9"),
		redirect("redirects to a file", "file:///etc/passwd?"),
		redirect("redirects to a location of 50 KiB", "/"+strings.Repeat("x", 50<<10)),
	}
}

// h1Bodies are large, slow or packed.
func h1Bodies() []Kind {
	large := func(name string, size, sent int) Kind {
		part := bytes.Repeat([]byte(" "), 64<<10)
		k := h1Kind(name, func(c *h1Conn, _ *http.Request) bool {
			a := h1Answer{status: http.StatusOK, fields: http.Header{}}
			if !c.write(a.headOf(fmt.Sprintf("Content-Length: %d", size))) {
				return false
			}
			for left := sent; left > 0; left -= len(part) {
				if !c.write(part[:min(left, len(part))]) {
					return false
				}
			}
			return true
		})
		k.Impossible = true
		return k
	}
	bomb := zipped(500)
	packed := h1Kind("a gzip bomb of 500 MiB", func(c *h1Conn, r *http.Request) bool {
		return c.send(h1Answer{http.StatusOK, http.Header{"Content-Encoding": {"gzip"}, "X-Etcd-Index": {"7"}, "X-Consul-Index": {"7"}}, bomb})
	})
	packed.Impossible = true
	errors := h1Kind("an error of another text each time, 200 KiB long", func(c *h1Conn, _ *http.Request) bool {
		return c.send(h1Answer{http.StatusInternalServerError, http.Header{}, bytes.Repeat(fmt.Appendf(nil, "%d ", c.served), 200<<10/4)})
	})
	errors.Impossible, errors.Flood = true, true
	control := h1Kind("an error with control characters", func(c *h1Conn, _ *http.Request) bool {
		return c.send(h1Answer{http.StatusInternalServerError, http.Header{}, []byte("\x1b]0;owned\x07\x1b[2J\r\rx")})
	})
	control.Impossible = true
	dripped := func(name string, chunks bool) Kind {
		return h1Kind(name, func(c *h1Conn, r *http.Request) bool {
			a := c.right(r)
			if !chunks {
				return drip(c, append(a.head(), a.body...), 1, time.Millisecond)
			}
			b := a.headOf("Transfer-Encoding: chunked")
			for _, x := range a.body {
				b = append(append(b, "1\r\n"...), x, '\r', '\n')
			}
			return c.write(append(b, "0\r\n\r\n"...))
		})
	}
	return []Kind{
		large("a body of 60 MiB", 60<<20, 60<<20),
		large("a body of 60 MiB, but for the last bytes", 60<<20, 60<<20-10),
		large("a body of 15 MiB, but for the last bytes", 15<<20, 15<<20-10),
		large("a body of 10 GiB", 10<<30, 10<<30),
		packed, errors, control,
		dripped("right answers a byte at a time", false),
		dripped("right answers, each byte in a chunk of its own", true),
	}
}

// h1Endless do not end.
func h1Endless() []Kind {
	endless := func(name, begin, again string) Kind {
		k := h1Kind(name, func(c *h1Conn, r *http.Request) bool {
			if c.served < 3 && !strings.HasPrefix(begin, "RIGHT") {
				return c.send(c.right(r))
			}
			if rest, ok := strings.CutPrefix(begin, "RIGHT"); ok {
				c.send(c.right(r))
				c.write([]byte(rest))
			} else {
				c.write([]byte(begin))
			}
			flood(c, []byte(again))
			return false
		})
		k.Impossible = true
		return k
	}
	return flooding(
		endless("a status line that does not end", "HTTP/1.1 200 ", "O"),
		endless("fields that do not end", "HTTP/1.1 200 OK\r\n", "X-More: xxxxxxxxxxxxxxxxxxxxxxxxxxxxx\r\n"),
		endless("a field that does not end", "HTTP/1.1 200 OK\r\nX-More: ", "x"),
		endless("informational answers that do not end", "", "HTTP/1.1 100 Continue\r\n\r\n"),
		endless("early hints that do not end", "", "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"),
		endless("a body that does not end", "HTTP/1.1 200 OK\r\n\r\n", "x"),
		endless("chunks of a byte that do not end", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "1\r\nx\r\n"),
		endless("chunks with long extensions that do not end", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "1;"+strings.Repeat("e", 10_000)+"\r\nx\r\n"),
		endless("a chunk extension that does not end", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;", "e"),
		endless("a trailer that does not end", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\ntrue\r\n0\r\n", "X-More: xxxxxxxxxxxx\r\n"),
		endless("answers that nobody asked for", "RIGHT", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ntrue"),
		endless("empty lines that do not end", "RIGHT", "\r\n"),
	)
}
