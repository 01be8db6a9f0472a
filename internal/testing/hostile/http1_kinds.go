package hostile

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"
)

// HTTP1 returns the kinds for HTTP/1.1.
func HTTP1() []Kind {
	return slices.Concat([]Kind{h1Kind(Undisturbed, nil)}, h1Raw(), h1Heads(), h1Bodies(), h1Endless(), h1Answers(), h1Keys(), h1Numbers())
}

// h1Raw returns kinds that respond to a request with fixed bytes, and then either remain silent or
// close the connection. The server of the last kind reads slowly and never responds.
func h1Raw() (kinds []Kind) {
	for _, of := range []struct {
		name, bytes string
		goesOn      bool
	}{
		{"silence from the first byte", "", true},
		{"closes at once", "", false},
		{"half a status line, then silence", "HTTP/1.1 20", true},
		{"half a status line, then the end", "HTTP/1.1 20", false},
		{"a status that HTTP does not have", "HTTP/1.1 999 No\r\nContent-Length: 0\r\n\r\n", true},
		{"a length and chunks", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n4\r\ntrue\r\n", true},
		{"a chunk of 2^60 bytes", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffff\r\n", true},
		{"a body shorter than it said, then the end", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\ntrue", false},
		{"a body shorter than it said, then silence", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\ntrue", true},
		{"NUL bytes in the head", "HTTP/1.1 200 OK\r\nX: \x00\x00\r\nContent-Length: 0\r\n\r\n", true},
	} {
		kinds = append(kinds, markImpossible(h1Kind(of.name, func(c *h1Conn, _ *http.Request) bool {
			return c.write([]byte(of.bytes)) && of.goesOn
		})))
	}
	return append(kinds, Kind{Name: "reads a byte now and then", serve: func(c net.Conn, _ string) { readSlowly(c) }, Impossible: true})
}

// h1Heads returns kinds that modify the heads of correct responses.
func h1Heads() []Kind {
	with := func(name string, change func(c *h1Conn, r *http.Request, a *h1Answer)) Kind {
		return h1Kind(name, func(c *h1Conn, r *http.Request) bool {
			a := c.correctAnswer(r)
			change(c, r, &a)
			return c.send(a)
		})
	}
	redirect := func(name, to string) Kind {
		return markImpossible(h1Kind(name, func(c *h1Conn, r *http.Request) bool {
			location := strings.ReplaceAll(to, "SELF", c.LocalAddr().String())
			return c.send(h1Answer{http.StatusTemporaryRedirect, http.Header{"Location": {location + r.URL.RequestURI()}}, nil})
		}))
	}
	return []Kind{
		with("a head of 60 KiB", func(_ *h1Conn, _ *http.Request, a *h1Answer) { a.fields.Set("X-More", strings.Repeat("x", 60<<10)) }),
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
		redirect("redirects to another host", "http://127.0.0.2:9"),
		redirect("redirects to a file", "file:///etc/passwd?"),
		redirect("redirects to a location of 50 KiB", "/"+strings.Repeat("x", 50<<10)),
	}
}

// h1Bodies returns kinds with large, slow or compressed bodies.
func h1Bodies() []Kind {
	large := func(name string, size, sent int) Kind {
		return markImpossible(h1Kind(name, func(c *h1Conn, _ *http.Request) bool {
			a := h1Answer{status: http.StatusOK, fields: http.Header{}}
			return c.write(a.headOf(fmt.Sprintf("Content-Length: %d", size))) && fill(sent, ' ', c.write)
		}))
	}
	bomb := gzippedZeros(500)
	packed := markImpossible(h1Kind("a gzip bomb of 500 MiB", func(c *h1Conn, r *http.Request) bool {
		return c.send(h1Answer{http.StatusOK, http.Header{"Content-Encoding": {"gzip"}, "X-Etcd-Index": {"7"}, "X-Consul-Index": {"7"}}, bomb})
	}))
	errors := markImpossible(h1Kind("an error of another text each time, 200 KiB long", func(c *h1Conn, _ *http.Request) bool {
		return c.send(h1Answer{http.StatusInternalServerError, http.Header{}, bytes.Repeat(fmt.Appendf(nil, "%d ", c.served), 200<<10/4)})
	}))
	errors.Flood = true
	control := markImpossible(h1Kind("an error with control characters", func(c *h1Conn, _ *http.Request) bool {
		return c.send(h1Answer{http.StatusInternalServerError, http.Header{}, []byte("\x1b]0;owned\x07\x1b[2J\r\rx")})
	}))
	dripped := func(name string, chunks bool) Kind {
		return h1Kind(name, func(c *h1Conn, r *http.Request) bool {
			a := c.correctAnswer(r)
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
		large("a body of 10 GiB", 10<<30, 10<<30),
		packed, errors, control,
		dripped("right answers a byte at a time", false),
		dripped("right answers, each byte in its own chunk", true),
	}
}

// h1Endless returns kinds whose servers send endless data.
func h1Endless() []Kind {
	endless := func(name, begin, again string) Kind {
		return markImpossible(h1Kind(name, func(c *h1Conn, r *http.Request) bool {
			if c.served < 3 && !strings.HasPrefix(begin, "RIGHT") {
				return c.send(c.correctAnswer(r))
			}
			if rest, ok := strings.CutPrefix(begin, "RIGHT"); ok {
				c.send(c.correctAnswer(r))
				c.write([]byte(rest))
			} else {
				c.write([]byte(begin))
			}
			flood(c, []byte(again))
			return false
		}))
	}
	return markFlooding(
		endless("fields that do not end", "HTTP/1.1 200 OK\r\n", "X-More: xxxxxxxxxxxxxxxxxxxxxxxxxxxxx\r\n"),
		endless("informational answers that do not end", "", "HTTP/1.1 100 Continue\r\n\r\n"),
		endless("a body that does not end", "HTTP/1.1 200 OK\r\n\r\n", "x"),
		endless("chunks of a byte that do not end", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "1\r\nx\r\n"),
		endless("chunks with long extensions that do not end", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "1;"+strings.Repeat("e", 10_000)+"\r\nx\r\n"),
		endless("a chunk extension that does not end", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;", "e"),
		endless("responses without a request", "RIGHT", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ntrue"),
		endless("empty lines that do not end", "RIGHT", "\r\n"),
	)
}

// h1Tampered returns a kind that changes the successful responses to one operation, and responds
// correctly to all other requests. If ops is empty, the kind changes the responses to all requests,
// including administrative requests.
func h1Tampered(name, ops string, change func(c *h1Conn, r *http.Request, a *h1Answer)) Kind {
	k := h1Kind(name, func(c *h1Conn, r *http.Request) bool {
		of := operation(r)
		a := c.correctAnswer(r)
		if (ops == "" || of == ops) && a.status < 300 {
			change(c, r, &a)
		}
		return c.send(a)
	})
	k.Ops, k.Impossible = ops, true
	return k
}

// h1Answers returns kinds whose response bodies are impossible or empty.
func h1Answers() (kinds []Kind) {
	for _, ops := range []string{"put", "get", "list", "delete", "cas", "txn"} {
		kinds = append(kinds, h1Tampered("an empty body to each "+ops, ops, func(_ *h1Conn, _ *http.Request, a *h1Answer) { a.body = nil }))
	}
	for name, body := range map[string]string{
		"{} to everything": "{}", "null to everything": "null",
		"half of an object to everything":   `{"action":"get","node":{"key":"/`,
		"objects nested 100,000 deep":       strings.Repeat(`{"node":`, 100_000),
		"a number of a million digits":      strings.Repeat("9", 1_000_000),
		"a string that is no UTF-8":         "\"\xff\xfe\xfd\"",
		"an error as if all had been well":  `{"errorCode":300,"message":"Raft Internal Error","cause":"","index":0}`,
		"an object of 100,000 keys":         "{" + strings.Repeat(`"k":1,`, 100_000) + `"k":1}`,
		"a list of 100,000 members":         "[" + strings.Repeat(`{"Name":"m","Addr":"10.0.0.1","Tags":{"role":"consul"}},`, 100_000) + `{}]`,
		"members of 100,000 places each":    `{"members":[{"name":"m","clientURLs":[` + strings.Repeat(`"http://10.0.0.1:1",`, 100_000) + `"http://10.0.0.1:1"]}]}`,
		"a version of 3 MiB":                `{"etcdserver":"` + strings.Repeat("v", 3<<20) + `","Config":{"NodeID":"00000000-0000-0000-0000-000000000001","Version":"` + strings.Repeat("v", 3<<20) + `"}}`,
		"a version with control characters": `{"etcdserver":"3.5\u001b]0;owned\u0007","Config":{"NodeID":"00000000-0000-0000-0000-000000000001","Version":"1\u001b[2J"}}`,
	} {
		kinds = append(kinds, h1Tampered(name, "", func(_ *h1Conn, _ *http.Request, a *h1Answer) { a.body = []byte(body) }))
	}
	return kinds
}

// h1Keys returns kinds whose reads return wrong keys or values.
func h1Keys() []Kind {
	swap := swapWithPrevious[h1Answer]()
	json := func(name, ops string, change func(name string, value any) any) Kind {
		return h1Tampered(name, ops, func(_ *h1Conn, _ *http.Request, a *h1Answer) { a.body = mapJSON(a.body, change) })
	}
	keyed := func(as func(key string) string) func(string, any) any {
		return func(name string, value any) any {
			if key, ok := value.(string); ok && strings.EqualFold(name, "key") {
				return as(key)
			}
			return value
		}
	}
	return []Kind{
		h1Tampered("the answers of one get to another", "get", func(_ *h1Conn, _ *http.Request, a *h1Answer) { *a = swap(*a) }),
		h1Tampered("damaged values", "get", func(_ *h1Conn, _ *http.Request, a *h1Answer) {
			if damaged := mapJSON(a.body, damagedValue); !bytes.Equal(damaged, a.body) {
				a.body = damaged
				return
			}
			a.body = bytes.Repeat([]byte("x"), len(a.body))
		}),
		h1Tampered("no key, although all are there", "get", func(_ *h1Conn, _ *http.Request, a *h1Answer) {
			a.status, a.body = http.StatusNotFound, nil
		}),
		json("keys before those that were asked for", "list", keyed(func(key string) string { return "!" + key })),
		json("the same key again and again", "list", keyed(func(key string) string { return key[:strings.LastIndexByte(key, '/')+1] + "00000099" })),
		json("keys of no bytes", "list", keyed(func(string) string { return "" })),
		json("values that are no base64", "list", func(name string, value any) any {
			if name == "Value" || name == "value" {
				return "\x01 no base64 !"
			}
			return value
		}),
		h1Tampered("a list without keys", "list", func(_ *h1Conn, _ *http.Request, a *h1Answer) { a.body = []byte("[]") }),
	}
}

// damagedValue returns a damaged value for a JSON member that contains a value, in plain text or in
// base64. It does not change other members.
func damagedValue(name string, value any) any {
	text, ok := value.(string)
	if !ok || !strings.EqualFold(name, "value") {
		return value
	}
	if name == "Value" {
		return base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("x"), 64))
	}
	return strings.Repeat("x", len(text))
}

// mapJSON calls the function `change` for each value in a JSON text, and returns the text with the
// results.
func mapJSON(body []byte, change func(name string, value any) any) []byte {
	var v any
	if json.Unmarshal(body, &v) != nil {
		return body
	}
	var walk func(name string, v any) any
	walk = func(name string, v any) any {
		switch v := v.(type) {
		case map[string]any:
			for k, x := range v {
				v[k] = walk(k, x)
			}
		case []any:
			for i, x := range v {
				v[i] = walk(name, x)
			}
		}
		return change(name, v)
	}
	b, err := json.Marshal(walk("", v))
	if err != nil {
		return body
	}
	return b
}

// h1Numbers returns kinds with impossible indexes and terms.
func h1Numbers() []Kind {
	field := func(name, ops string, value func(c *h1Conn) string) Kind {
		return h1Tampered(name, ops, func(c *h1Conn, _ *http.Request, a *h1Answer) {
			for f := range a.fields {
				if strings.HasSuffix(f, "-Index") || strings.HasSuffix(f, "-Term") {
					a.fields.Set(f, value(c))
				}
			}
		})
	}
	number := func(c *h1Conn) string { return fmt.Sprint(c.served * 7919) }
	terms := markPossible(h1Tampered("another term in each response", "", func(c *h1Conn, _ *http.Request, a *h1Answer) {
		if a.fields.Get("X-Raft-Term") != "" {
			a.fields.Set("X-Raft-Term", number(c))
		}
	})) // harmless for protocols without terms
	terms.Flood = true
	return []Kind{
		terms,
		// For stores that ignore indexes, these responses are possible.
		markPossible(field("indexes of 2^64", "", func(*h1Conn) string { return "18446744073709551616" })),
		markPossible(field("indexes below 0", "", func(*h1Conn) string { return "-1" })),
		markPossible(field("another index in each response", "", number)),
		field("puts at index 0", "put", func(*h1Conn) string { return "0" }),
	}
}
