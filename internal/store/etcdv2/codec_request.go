package etcdv2

import (
	"strconv"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/wire/http1"
)

// Submit implements store.Codec.
func (c *codec) Submit(op *store.Op) {
	c.redirected = false
	c.Codec.Submit(op)
}

// Write implements httpkv.API with PUT /v2/keys/KEY and the form value=VALUE. If `index` is above
// 0, the write is a compare-and-swap with prevIndex. If `index` is 0, prevExist=false requires
// that the key does not exist. noValueOnSuccess makes the server omit the old and the new value
// from the response.
func (c *codec) Write(key, value []byte, index int64) {
	b := http1.AppendPath(c.Begin(c.put), key)
	b = append(b, "?noValueOnSuccess=true"...)
	switch {
	case index > 0:
		b = append(b, "&prevIndex="...)
		b = strconv.AppendInt(b, index, 10)
	case index == 0:
		b = append(b, "&prevExist=false"...)
	}
	b = append(c.Head(b), "value="...)
	c.Send(http1.AppendForm(b, value))
}

// Read implements httpkv.API with GET /v2/keys/KEY. A linearizable read has quorum=true, which
// makes it pass through the Raft log like a write.
func (c *codec) Read(key []byte, level kv.Consistency) {
	b := http1.AppendPath(c.Begin(c.get), key)
	if level == kv.Linearizable {
		b = append(b, "?quorum=true"...)
	}
	c.Send(c.Head(b))
}

// List implements httpkv.API with GET /v2/keys/FOLDER?recursive=true. The v2 API lists only
// whole folders, without a limit. So List requests the deepest folder that contains the
// interval, and the parser skips keys outside the interval.
func (c *codec) List(level kv.Consistency) {
	c.folder = commonFolder(c.From, c.To)
	b := http1.AppendPath(c.Begin(c.get), c.folder)
	b = append(b, "?recursive=true"...)
	if level == kv.Linearizable {
		b = append(b, "&quorum=true"...)
	}
	c.Send(c.Head(b))
}

// Remove implements httpkv.API.
func (c *codec) Remove(key []byte) { c.Send(c.Head(http1.AppendPath(c.Begin(c.del), key))) }

// Transact implements httpkv.API. It is never called, because the API has no
// transactions.
func (*codec) Transact([]store.Pair) {}

// commonFolder returns the deepest folder that contains all keys in [from, to), or an empty folder
// for the root. Any other folder ends with a slash. The interval [F/..., F0) contains only keys in
// the folder F/, because '0' is the character after the slash.
func commonFolder(from, to []byte) []byte {
	folder := 0
	for n := 0; n < len(from) && n < len(to); n++ {
		last := n+1 == len(to) && to[n] == '/'+1
		if from[n] == '/' && (to[n] == '/' || last) {
			folder = n + 1
		}
		if from[n] != to[n] {
			break
		}
	}
	return from[:folder]
}
