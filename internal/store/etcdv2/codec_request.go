package etcdv2

import (
	"strconv"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/httpkv"
	"github.com/quorumbench/quorumbench/internal/wire/http1"
)

// Submit implements store.Codec.
func (c *codec) Submit(op *store.Op) {
	c.Take(op)
	c.redirected = false
	key := httpkv.Bare(op.Key)
	c.slash = len(key) < len(op.Key)
	switch op.Kind {
	case kv.Put:
		c.write(key, op.Value, anyIndex)
	case kv.Get:
		c.read(key, op.Consistency)
	case kv.Range:
		if len(op.Range.End) == 0 {
			c.Kind = kv.Get
			c.read(key, op.Consistency)
		} else {
			c.list(op)
		}
	case kv.Delete:
		c.Send(c.Head(http1.AppendPath(c.Begin(c.del), key)))
	case kv.CAS:
		if op.Revision >= 0 {
			c.write(key, op.Value, op.Revision)
			return
		}
		c.ReadFirst(key, op.Value)
		c.read(c.Key, kv.Local)
	}
}

// anyIndex writes whatever is there.
const anyIndex = -1

// write sends PUT /v2/keys/KEY with the form value=VALUE. With an index it is a
// compare-and-swap on prevIndex; the index 0 is no key at all, which v2 calls
// prevExist=false. The server is asked not to send the value, old and new,
// back.
func (c *codec) write(key, value []byte, index int64) {
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

// read sends GET /v2/keys/KEY; with quorum=true the read goes through the Raft
// log like a write.
func (c *codec) read(key []byte, level kv.Consistency) {
	b := http1.AppendPath(c.Begin(c.get), key)
	if level == kv.Linearizable {
		b = append(b, "?quorum=true"...)
	}
	c.Send(c.Head(b))
}

// list sends GET /v2/keys/FOLDER?recursive=true. v2 lists by folder alone and
// knows no limit, so the deepest folder that holds the interval is asked for,
// and what lies outside is passed over when the answer comes.
func (c *codec) list(op *store.Op) {
	c.Doing = httpkv.Listing
	c.Want(op)
	c.folder = folderOf(c.From, c.To)
	b := http1.AppendPath(c.Begin(c.get), c.folder)
	b = append(b, "?recursive=true"...)
	if op.Consistency == kv.Linearizable {
		b = append(b, "&quorum=true"...)
	}
	c.Send(c.Head(b))
}

// folderOf is the deepest folder of all keys from from up to to, with its slash.
func folderOf(from, to []byte) []byte {
	folder := 0
	for n := 0; n < len(from) && n < len(to) && from[n] == to[n]; n++ {
		if from[n] == '/' {
			folder = n + 1
		}
	}
	return from[:folder]
}
