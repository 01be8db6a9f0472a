package hostile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/quorumbench/quorumbench/internal/wire/jute"
)

// juteTampered returns a kind that changes the successful responses to requests of the given types
// (to all requests if none is given), and responds correctly otherwise.
func juteTampered(name, ops string, change func(c *juteConn, a *juteAnswer), types ...jute.Op) Kind {
	k := juteKind(name, juteHooks{answer: func(c *juteConn, r *juteCall, a juteAnswer) bool {
		if a.code == 0 && (len(types) == 0 || slices.Contains(types, r.op)) {
			change(c, &a)
		}
		return c.reply(a)
	}})
	k.Ops, k.Impossible = ops, true
	return k
}

// juteValues returns kinds whose reads return wrong values or codes. The response to a read is
// {data buffer, stat}.
func juteValues() []Kind {
	swap := swapWithPrevious[[]byte]()
	get := func(name string, change func(c *juteConn, a *juteAnswer)) Kind {
		return juteTampered(name, "get", change, jute.OpGetData)
	}
	code := func(name string, code int32) Kind {
		return get(name, func(_ *juteConn, a *juteAnswer) { a.code, a.body = code, nil })
	}
	return []Kind{
		get("the answers of one get to another", func(_ *juteConn, a *juteAnswer) { a.body = swap(a.body) }),
		get("damaged values", func(_ *juteConn, a *juteAnswer) {
			copy(a.body[4:], bytes.Repeat([]byte("x"), len(a.body)-4-jute.StatLen))
		}),
		code("no node, although all are there", int32(jute.NoNode)),
		code("an unknown code", -12345),
		code("a code above 0", 77),
		get("values of 2 GiB", func(_ *juteConn, a *juteAnswer) { binary.BigEndian.PutUint32(a.body, 1<<31-1) }),
		juteTampered("an empty answer to everything", "", func(_ *juteConn, a *juteAnswer) { a.body = nil }),
	}
}

// juteNames returns kinds with impossible lists of children. The response to a list request is
// {children vector of strings, stat}.
func juteNames() []Kind {
	list := func(name string, change func(c *juteConn, a *juteAnswer)) Kind {
		return juteTampered(name, "list", change, jute.OpGetChildren2)
	}
	names := func(name string, count int, each func(i int) string) Kind {
		return list(name, func(_ *juteConn, a *juteAnswer) {
			b := binary.BigEndian.AppendUint32(nil, uint32(count))
			for i := range count {
				b = jute.AppendBuffer(b, each(i))
			}
			a.body = append(b, a.body[len(a.body)-jute.StatLen:]...)
		})
	}
	return []Kind{
		list("2^31-1 children", func(_ *juteConn, a *juteAnswer) { binary.BigEndian.PutUint32(a.body, 1<<31-1) }),
		names("no children, although all are there", 0, nil),
		names("500,000 children", 500_000, func(i int) string { return fmt.Sprintf("%08d", i) }),
	}
}

// juteMultis returns kinds with impossible results of transactions.
func juteMultis() []Kind {
	multi := func(name string, change func(b []byte) []byte) Kind {
		return juteTampered(name, "txn", func(_ *juteConn, a *juteAnswer) { a.body = change(a.body) }, jute.OpMulti)
	}
	end := multiEnd
	return []Kind{
		multi("transactions with 100,000 results", func(b []byte) []byte { return append(bytes.Repeat(b[:9+jute.StatLen], 100_000), end...) }),
		multi("transactions without an end", func(b []byte) []byte { return b[:len(b)-len(end)] }),
		multi("transactions with results of no operation", func(b []byte) []byte {
			b = bytes.Clone(b)
			binary.BigEndian.PutUint32(b, 999)
			return b
		}),
	}
}

// juteZxids returns kinds with impossible transaction IDs. The upper half of a transaction ID is
// the leader's epoch.
func juteZxids() []Kind {
	zxid := func(name, ops string, change func(c *juteConn, was int64) int64) Kind {
		return juteTampered(name, ops, func(c *juteConn, a *juteAnswer) { a.zxid = change(c, a.zxid) })
	}
	return []Kind{
		markFlooding(zxid("another epoch in each response", "", func(c *juteConn, was int64) int64 { return int64(c.served)<<32 | was&(1<<32-1) }))[0],
		markFlooding(zxid("epochs at random", "put", func(c *juteConn, was int64) int64 { return int64(uint32(c.served)*2654435761>>1)<<32 | 1 }))[0],
		zxid("transactions that go back", "put", func(c *juteConn, was int64) int64 { return 1<<40 - int64(c.served) }),
		markPossible(zxid("transaction 2^63-1", "", func(*juteConn, int64) int64 { return 1<<63 - 1 })),
	}
}

// multiEnd is the header at the end of a transaction's results: {type int, done bool, err int}.
var multiEnd = []byte{0xff, 0xff, 0xff, 0xff, 1, 0xff, 0xff, 0xff, 0xff}
