package consul

import (
	"strconv"
	"unicode/utf8"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/httpkv"
	"github.com/quorumbench/quorumbench/internal/wire/http1"
)

// Write implements httpkv.API. It sends PUT /v1/kv/KEY with the raw value, and adds ?cas=INDEX if
// index is not negative.
func (c *codec) Write(key, value []byte, index int64) {
	b := http1.AppendPath(c.Begin(c.put), key)
	if index >= 0 {
		b = append(b, "?cas="...)
		b = strconv.AppendInt(b, index, 10)
	}
	c.Send(append(c.Head(b), value...))
}

// Read implements httpkv.API. It sends GET /v1/kv/KEY?raw, whose response is the raw value instead
// of JSON with base64.
func (c *codec) Read(key []byte, level kv.Consistency) {
	b := http1.AppendPath(c.Begin(c.get), key)
	switch {
	case !c.AlwaysJSON:
		b = appendLevel(append(b, "?raw"...), level)
	case level == kv.Linearizable:
		b = append(b, "?consistent=true"...)
	}
	c.Send(c.Head(b))
}

// appendLevel appends the parameter for a consistency level.
func appendLevel(b []byte, level kv.Consistency) []byte {
	switch level {
	case kv.Linearizable:
		return append(b, "&consistent"...)
	case kv.Local:
		return append(b, "&stale"...)
	}
	return b // the default mode: the leader responds as long as its lease is valid
}

// List implements httpkv.API. It sends GET /v1/kv/PREFIX?recurse. Consul can list only by prefix
// and without a limit. So List requests the longest prefix that covers the interval, and the parser
// skips keys outside the interval.
func (c *codec) List(level kv.Consistency) {
	c.prefix = commonPrefix(c.From, c.To)
	b := append(http1.AppendPath(c.Begin(c.get), c.prefix), "?recurse"...)
	switch {
	case !c.AlwaysJSON:
		b = appendLevel(b, level)
	case level == kv.Linearizable:
		b = append(b, "=true&consistent=true"...)
	default:
		b = append(b, "=true"...)
	}
	c.Send(c.Head(b))
}

// Remove implements httpkv.API.
func (c *codec) Remove(key []byte) { c.Send(c.Head(http1.AppendPath(c.Begin(c.del), key))) }

// commonPrefix returns the longest common prefix of the keys in [from, to) that can be used in a
// URL path. If the prefix's last segment is special in paths, such as "..", commonPrefix removes
// it.
func commonPrefix(from, to []byte) []byte {
	n, start := 0, 0
	for n < len(from) && n < len(to) && from[n] == to[n] {
		if n++; from[n-1] == '/' {
			start = n
		}
	}
	if last := string(from[start:n]); last == "." || last == ".." || last == " " {
		n = start
	}
	return from[:n]
}

// Transact implements httpkv.API. It sends PUT /v1/txn with one set operation for each pair. Consul
// executes either all operations or none, and accepts at most 128 operations.
func (c *codec) Transact(pairs []store.Pair) {
	b := append(c.Head(c.Begin(c.multi)), '[')
	for i, p := range pairs {
		b = append(appendValue(appendVerb(b, i, "set", httpkv.TrimSlash(p.Key)), p.Value), `}}`...)
	}
	c.Send(append(b, ']'))
}

// appendJSON appends s as a JSON string. In a transaction Consul reads keys as UTF-8 and replaces
// invalid bytes.
func appendJSON(b, s []byte) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	for len(s) > 0 {
		r, n := utf8.DecodeRune(s)
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', s[0])
		case r < ' ':
			b = append(b, `\u00`...)
			b = append(b, hex[r>>4], hex[r&15])
		default:
			b = utf8.AppendRune(b, r)
		}
		s = s[n:]
	}
	return append(b, '"')
}
