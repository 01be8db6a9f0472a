package cetcd

import (
	"strconv"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/wire/http1"
)

// Submit implements store.Codec.
func (c *codec) Submit(op *store.Op) {
	c.tag, c.kind, c.doing, c.extra, c.keys = op.Tag, op.Kind, all, 0, nil
	if op.Range != nil {
		c.keys = op.Range.Keys
	}
	c.cut = len(bare(op.Key)) < len(op.Key)
	switch {
	case op.Kind == kv.Put:
		c.write(bare(op.Key), op.Value, -1)
	case op.Kind == kv.Get, op.Kind == kv.Range && len(op.Range.End) == 0:
		c.kind = kv.Get
		c.read(bare(op.Key), op.Consistency)
	case op.Kind == kv.Range:
		c.list(op)
	case op.Kind == kv.CAS && op.Revision >= 0:
		c.write(bare(op.Key), op.Value, op.Revision)
	case op.Kind == kv.CAS:
		c.doing = reading
		c.key = append(c.key[:0], bare(op.Key)...)
		c.value = append(c.value[:0], op.Value...)
		c.read(c.key, kv.Local) // the write compares
	default: // an answer can only come from Feed, so something harmless is asked
		c.doing = refused
		c.read([]byte("quorumbench/refused"), kv.Local)
	}
}

// bare is a key without a slash at its beginning, which the server would
// redirect.
func bare(key []byte) []byte {
	if len(key) > 0 && key[0] == '/' {
		return key[1:]
	}
	return key
}

// write sends PUT /v1/kv/KEY with the value as it is; ?cas=INDEX if index is
// not negative.
func (c *codec) write(key, value []byte, index int64) {
	b := http1.AppendPath(c.conn.Begin(c.put), key)
	if index >= 0 {
		b = append(b, "?cas="...)
		b = strconv.AppendInt(b, index, 10)
	}
	c.conn.Send(append(c.conn.Head(b), value...))
}

func (c *codec) read(key []byte, level kv.Consistency) {
	b := http1.AppendPath(c.conn.Begin(c.get), key)
	if level == kv.Linearizable {
		b = append(b, "?consistent=true"...) // without the value it is ignored
	}
	c.conn.Send(c.conn.Head(b))
}

// list sends GET /v1/kv/PREFIX?recurse=true (without the value it is ignored).
// It lists by prefix alone and knows no limit, so the longest prefix that holds
// the interval is asked for, and what lies outside is passed over when the
// answer comes.
func (c *codec) list(op *store.Op) {
	c.limit = op.Range.Limit
	c.from = append(c.from[:0], bare(op.Key)...)
	c.to = append(c.to[:0], bare(op.Range.End)...)
	if string(op.Range.End) == "\x00" {
		c.to = c.to[:0]
	}
	c.prefix = prefixOf(c.from, c.to)
	b := http1.AppendPath(c.conn.Begin(c.get), c.prefix)
	b = append(b, "?recurse=true"...)
	if op.Consistency == kv.Linearizable {
		b = append(b, "&consistent=true"...)
	}
	c.conn.Send(c.conn.Head(b))
}

// prefixOf is the longest prefix of all keys from from up to to that the server
// does not redirect: its last segment is not one that means a folder.
func prefixOf(from, to []byte) []byte {
	n, start := 0, 0
	for n < len(from) && n < len(to) && from[n] == to[n] {
		if n++; from[n-1] == '/' {
			start = n
		}
	}
	if last := string(from[start:n]); last == "." || last == ".." {
		n = start
	}
	return from[:n]
}
