package consul

import (
	"strconv"
	"unicode/utf8"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/httpkv"
	"github.com/quorumbench/quorumbench/internal/wire/http1"
)

// Write implements httpkv.API with PUT /v1/kv/KEY and the value as it is, and
// ?cas=INDEX if it compares.
func (c *codec) Write(key, value []byte, index int64) {
	b := http1.AppendPath(c.Begin(c.put), key)
	if index >= 0 {
		b = append(b, "?cas="...)
		b = strconv.AppendInt(b, index, 10)
	}
	c.Send(append(c.Head(b), value...))
}

// Read implements httpkv.API with GET /v1/kv/KEY?raw, whose answer is the value
// as it is, without base64 and JSON.
func (c *codec) Read(key []byte, level kv.Consistency) {
	b := http1.AppendPath(c.Begin(c.get), key)
	switch {
	case !c.JSON:
		b = appendLevel(append(b, "?raw"...), level)
	case level == kv.Linearizable:
		b = append(b, "?consistent=true"...)
	}
	c.Send(c.Head(b))
}

// appendLevel appends the parameter of a consistency mode.
func appendLevel(b []byte, level kv.Consistency) []byte {
	switch level {
	case kv.Linearizable:
		return append(b, "&consistent"...)
	case kv.Local:
		return append(b, "&stale"...)
	}
	return b // the default mode: the leader answers as long as its lease lasts
}

// List implements httpkv.API with GET /v1/kv/PREFIX?recurse. Consul lists by
// prefix alone and knows no limit, so the longest prefix that holds the interval
// is asked for, and what lies outside is passed over when the answer comes.
func (c *codec) List(level kv.Consistency) {
	c.prefix = prefixOf(c.From, c.To)
	b := append(http1.AppendPath(c.Begin(c.get), c.prefix), "?recurse"...)
	switch {
	case !c.JSON:
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

// prefixOf is the longest prefix of all keys from from up to to that can stand
// in a path: it does not end in a segment that means a folder.
func prefixOf(from, to []byte) []byte {
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

// Transact implements httpkv.API with PUT /v1/txn and a set for each pair, which Consul carries out
// together or not at all. It takes 128 at most.
func (c *codec) Transact(pairs []store.Pair) {
	b := append(c.Head(c.Begin(c.multi)), '[')
	for i, p := range pairs {
		b = append(appendValue(appendVerb(b, i, "set", httpkv.Bare(p.Key)), p.Value), `}}`...)
	}
	c.Send(append(b, ']'))
}

// appendJSON appends s as a JSON string. Consul reads keys in transactions as
// UTF-8, and bytes that are none as replacement characters.
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
