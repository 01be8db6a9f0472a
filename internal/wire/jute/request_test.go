package jute

import (
	"bytes"
	"encoding/binary"
	"testing"
)

func TestRequests(t *testing.T) {
	p, data := Path{Prefix: "/", Rest: []byte("k")}, []byte("data")
	open := []byte("\x00\x00\x00\x01\x00\x00\x00\x1f\x00\x00\x00\x05world\x00\x00\x00\x06anyone")
	creator := []byte("\x00\x00\x00\x01\x00\x00\x00\x1f\x00\x00\x00\x04auth\x00\x00\x00\x00")
	for _, tc := range []struct {
		name string
		call func(*Conn)
		want []any
	}{
		{"create", func(c *Conn) {
			c.Create(Call{}, NewNode{Path: p, Data: data, ACL: OpenACL(), Mode: PersistentSequential, TTL: 9})
		}, []any{OpCreate, "/k", "data", open, int32(2)}},
		{"create2", func(c *Conn) {
			c.Create(Call{}, NewNode{Path: p, Data: data, ACL: CreatorACL(), Mode: Ephemeral, TTL: 9, WithStat: true})
		}, []any{OpCreate2, "/k", "data", creator, int32(1)}},
		{"container", func(c *Conn) { c.Create(Call{}, NewNode{Path: p, ACL: OpenACL(), Mode: Container, TTL: 9}) }, []any{OpCreateContainer, "/k", "", open, int32(4)}},
		{"ttl", func(c *Conn) {
			c.Create(Call{}, NewNode{Path: p, Data: data, ACL: OpenACL(), Mode: PersistentTTL, TTL: 9, WithStat: true})
		}, []any{OpCreateTTL, "/k", "data", open, int32(5), int64(9)}},
		{"delete", func(c *Conn) { c.Delete(Call{}, p, 3) }, []any{OpDelete, "/k", int32(3)}},
		{"exists", func(c *Conn) { c.Exists(Call{}, p, true) }, []any{OpExists, "/k", true}},
		{"get", func(c *Conn) { c.GetData(Call{}, p, false) }, []any{OpGetData, "/k", false}},
		{"set", func(c *Conn) { c.SetData(Call{}, p, data, AnyVersion) }, []any{OpSetData, "/k", "data", int32(-1)}},
		{"children", func(c *Conn) { c.GetChildren(Call{}, p, true) }, []any{OpGetChildren2, "/k", true}},
		{"sync", func(c *Conn) { c.Sync(Call{}, p) }, []any{OpSync, "/k"}},
		{"watch", func(c *Conn) { c.AddWatch(Call{}, p, WatchPersistentRecursive) }, []any{OpAddWatch, "/k", int32(1)}},
		{"close", func(c *Conn) { c.CloseSession(Call{}) }, []any{OpCloseSession}},
		{"multi", func(c *Conn) {
			c.Multi(Call{}, []MultiOp{
				{Op: OpCreate, Path: p, Data: data, ACL: OpenACL(), Mode: Ephemeral}, {Op: OpSetData, Path: p, Data: data, Version: 1},
				{Op: OpDelete, Path: p, Version: 2}, {Op: OpCheck, Path: p, Version: 3},
			})
		}, []any{
			OpMulti, OpCreate, false, int32(-1), "/k", "data", open, int32(1), OpSetData, false, int32(-1), "/k", "data", int32(1),
			OpDelete, false, int32(-1), "/k", int32(2), OpCheck, false, int32(-1), "/k", int32(3), OpError, true, int32(-1),
		}},
	} {
		c := ready(t, Config{})
		tc.call(c)
		want := framed(append([]any{int32(1)}, tc.want...)...)
		if got := sent(c); !bytes.Equal(got, want) {
			t.Errorf("%s: sent %q, want %q", tc.name, got, want)
		}
		replies, err := c.Feed(reply(1, 1, OK))
		if err != nil || len(replies) != 1 || !bytes.Equal(replies[0].Request, want[12:]) {
			t.Errorf("%s: replies %+v, error %v", tc.name, replies, err)
		}
	}
	c := ready(t, Config{})
	c.Ping()
	if got, want := sent(c), framed(XidPing, OpPing); !bytes.Equal(got, want) || c.Open() != 1 {
		t.Errorf("sent ping %x", got)
	}
}

// ReadMulti must be able to read the request that Multi wrote, and ReadMultiResults must be able to
// read the reply to this request.
func TestMulti(t *testing.T) {
	c := ready(t, Config{})
	ops := []MultiOp{
		{Op: OpSetData, Path: Path{Prefix: "/", Rest: []byte("a")}, Data: []byte("1"), Version: AnyVersion},
		{Op: OpCreate, Path: Path{Rest: []byte("/b")}, Data: []byte("2"), ACL: OpenACL(), Mode: Ephemeral},
	}
	c.Multi(Call{}, ops)
	stat := make([]byte, StatLen)
	binary.BigEndian.PutUint32(stat[32:], 7)
	done := framed(OpSetData, false, OK, stat, OpCreate, false, OK, "/b", OpDelete, false, OK,
		OpCreate2, false, OK, "/c", stat, OpError, true, Code(-1))[4:]
	replies, err := c.Feed(reply(1, 1, OK, done...))
	if err != nil {
		t.Fatal(err)
	}
	read, ok := ReadMulti(replies[0].Request, nil)
	if !ok || len(read) != 2 || string(read[0].Path.Rest) != "/a" || string(read[1].Data) != "2" || !bytes.Equal(read[1].ACL, OpenACL()) || read[1].Mode != Ephemeral {
		t.Errorf("read %+v", read)
	}
	r, n := NewReader(replies[0].Body), 0
	for result := (MultiResult{}); ReadMultiResults(&r, &result); n++ {
		if result.Op == OpSetData && result.Stat.Version != 7 || result.Code != OK {
			t.Errorf("result %+v", result)
		}
	}
	if n != 4 || !r.OK() {
		t.Errorf("%d results", n)
	}
	r = NewReader(framed(OpError, false, NoNode, NoNode, OpError, true, Code(-1))[4:])
	var result MultiResult
	if !ReadMultiResults(&r, &result) || result.Code != NoNode || ReadMultiResults(&r, &result) {
		t.Errorf("result %+v", result)
	}
	for _, bad := range [][]byte{nil, done[:20], framed(Op(99), false, OK)[4:]} {
		r := NewReader(bad)
		for ReadMultiResults(&r, &result) {
		}
		if r.OK() {
			t.Errorf("%x was accepted", bad)
		}
		if _, ok := ReadMulti(bad, nil); ok {
			t.Errorf("%x was accepted", bad)
		}
	}
}
