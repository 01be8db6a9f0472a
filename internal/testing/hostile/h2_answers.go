package hostile

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// These are the methods whose responses the server changes.
const (
	rangeCall  = "/etcdserverpb.KV/Range"
	putCall    = "/etcdserverpb.KV/Put"
	deleteCall = "/etcdserverpb.KV/DeleteRange"
	txnCall    = "/etcdserverpb.KV/Txn"
	statusCall = "/etcdserverpb.Maintenance/Status"
	listCall   = "/etcdserverpb.Cluster/MemberList"
)

// tampered returns a kind that changes the responses to one method, and responds correctly to all
// other methods.
func tampered[M any, P interface {
	*M
	proto.Message
}](name, ops, method string, change func(m P)) Kind {
	k := h2Kind(name, nil, func(c *h2Conn, call *h2Call) bool {
		if call.method != method {
			return c.respondCorrectly(call)
		}
		b, err := c.askUpstream(call.method, call.message())
		m := P(new(M))
		if err != nil || proto.Unmarshal(b, m) != nil {
			return c.respondCorrectly(call)
		}
		change(m)
		b, err = proto.Marshal(m)
		return err == nil && c.reply(call.id, b)
	})
	k.Ops, k.Impossible = ops, true
	return k
}

// replaced returns a kind that responds to every call of one method with the bytes that the
// function `message` returns. An empty method selects all methods.
func replaced(name, ops, method string, message func(c *h2Conn, call *h2Call) []byte) Kind {
	k := h2Kind(name, nil, func(c *h2Conn, call *h2Call) bool {
		if method != "" && call.method != method {
			return c.respondCorrectly(call)
		}
		return c.reply(call.id, message(c, call))
	})
	k.Ops, k.Impossible = ops, true
	return k
}

// withHeader returns a kind that changes the etcd header in every response.
func withHeader(name, ops string, change func(c *h2Conn, h *etcdserverpb.ResponseHeader)) Kind {
	k := h2Kind(name, nil, func(c *h2Conn, call *h2Call) bool {
		b, err := c.askUpstream(call.method, call.message())
		// All response messages have the header in the same field, and decoding preserves unknown
		// fields.
		m := &etcdserverpb.CompactionResponse{}
		if err != nil || proto.Unmarshal(b, m) != nil || m.Header == nil {
			return c.respondCorrectly(call)
		}
		change(c, m.Header)
		b, err = proto.Marshal(m)
		return err == nil && c.reply(call.id, b)
	})
	k.Ops = ops
	return k
}

// h2Keys returns kinds whose reads return keys that were not requested.
func h2Keys() []Kind {
	kvs := func(name, ops string, change func(kvs []*mvccpb.KeyValue) []*mvccpb.KeyValue) Kind {
		return tampered(name, ops, rangeCall, func(m *etcdserverpb.RangeResponse) { m.Kvs = change(m.Kvs) })
	}
	each := func(name, ops string, change func(i int, kv *mvccpb.KeyValue)) Kind {
		return kvs(name, ops, func(kvs []*mvccpb.KeyValue) []*mvccpb.KeyValue {
			for i, kv := range kvs {
				change(i, kv)
			}
			return kvs
		})
	}
	none := func([]*mvccpb.KeyValue) []*mvccpb.KeyValue { return nil }
	swap := swapWithPrevious[[]byte]()
	return []Kind{
		replaced("the answers of one call to another", "get", rangeCall, func(c *h2Conn, call *h2Call) []byte {
			b, _ := c.askUpstream(call.method, call.message())
			return swap(b)
		}),
		each("the values of other keys", "get", func(_ int, kv *mvccpb.KeyValue) {
			kv.Key = append(kv.Key[:len(kv.Key)-1:len(kv.Key)-1], kv.Key[len(kv.Key)-1]^1)
		}),
		each("damaged values", "get", func(_ int, kv *mvccpb.KeyValue) { kv.Value = bytes.Repeat([]byte("x"), len(kv.Value)) }),
		kvs("no key, although all are there", "get", none),
		each("keys before those that were asked for", "list", func(i int, kv *mvccpb.KeyValue) { kv.Key = fmt.Appendf(nil, "!%08d", i) }),
		kvs("keys in the wrong order", "list", func(kvs []*mvccpb.KeyValue) []*mvccpb.KeyValue {
			slices.Reverse(kvs)
			return kvs
		}),
		kvs("more keys than the limit", "list", func(kvs []*mvccpb.KeyValue) []*mvccpb.KeyValue {
			for i := range 100 {
				kvs = append(kvs, &mvccpb.KeyValue{Key: fmt.Appendf(nil, "~%08d", i), ModRevision: 1, Version: 1})
			}
			return kvs
		}),
		kvs("a list without keys", "list", none),
	}
}

// h2Counts returns kinds with impossible numbers.
func h2Counts() []Kind {
	return []Kind{
		tampered("-1 keys removed", "delete", deleteCall, func(m *etcdserverpb.DeleteRangeResponse) { m.Deleted = -1 }),
		tampered("deletes at revision 0", "delete", deleteCall, func(m *etcdserverpb.DeleteRangeResponse) { m.Header.Revision = 0 }),
		tampered("transactions at revision 0", "txn", txnCall, func(m *etcdserverpb.TxnResponse) { m.Header.Revision = 0 }),
		tampered("transactions without their results", "txn", txnCall, func(m *etcdserverpb.TxnResponse) { m.Responses = nil }),
		tampered("compare-and-sets with the results of reads", "cas", txnCall, func(m *etcdserverpb.TxnResponse) {
			m.Succeeded = true
			m.Responses = []*etcdserverpb.ResponseOp{{Response: &etcdserverpb.ResponseOp_ResponseRange{ResponseRange: &etcdserverpb.RangeResponse{}}}}
		}),
	}
}

// h2Invented returns kinds with invented members, terms and texts. Each response may be possible on
// its own, but the responses contradict each other.
func h2Invented() []Kind {
	kinds := []Kind{
		withHeader("another member in each response", "", func(c *h2Conn, h *etcdserverpb.ResponseHeader) { h.MemberId = uint64(c.served) * 7919 }),
		withHeader("another term in each response", "", func(c *h2Conn, h *etcdserverpb.ResponseHeader) { h.RaftTerm += uint64(c.served) }),
		withHeader("a member and a term of their own for each answer", "put", func(c *h2Conn, h *etcdserverpb.ResponseHeader) {
			h.MemberId, h.RaftTerm = uint64(c.served)*7919, uint64(c.served)
		}),
		withHeader("another cluster in each response", "", func(c *h2Conn, h *etcdserverpb.ResponseHeader) { h.ClusterId += uint64(c.served) }),
	}
	for i := range kinds[:3] {
		kinds[i].Flood, kinds[i].Impossible = true, true
	}
	text := strings.Repeat("v", 3<<20)
	status := func(name string, change func(m *etcdserverpb.StatusResponse)) Kind {
		return markPossible(tampered(name, "put", statusCall, change)) // a load of puts sends no status requests
	}
	list := markPossible(tampered("a list of 20,000 members", "put", listCall, func(m *etcdserverpb.MemberListResponse) {
		for i := range uint64(20_000) {
			m.Members = append(m.Members, &etcdserverpb.Member{ID: i, Name: fmt.Sprint("m", i), ClientURLs: []string{fmt.Sprintf("http://10.0.%d.%d:2379", i/250, i%250)}})
		}
	}))
	return append(kinds, list,
		status("a version of 3 MiB", func(m *etcdserverpb.StatusResponse) { m.Version = text }),
		status("a version with control characters", func(m *etcdserverpb.StatusResponse) { m.Version = "3.7\x1b]0;owned\x07\r\n" }),
		status("100,000 alarms", func(m *etcdserverpb.StatusResponse) {
			m.Errors = slices.Repeat([]string{"memberID:1 alarm:NOSPACE "}, 100_000)
		}),
		status("a term of 2^64-1", func(m *etcdserverpb.StatusResponse) { m.RaftTerm = 1<<64 - 1 }),
	)
}

// h2Garbage returns kinds that send invalid messages.
func h2Garbage() []Kind {
	nested := []byte{}
	for range 1000 {
		nested = protowire.AppendBytes(protowire.AppendTag(nil, 3, protowire.BytesType), nested)
	}
	return []Kind{
		replaced("an empty message to everything", "", "", func(*h2Conn, *h2Call) []byte { return nil }),
		replaced("messages nested 1,000 deep", "", "", func(*h2Conn, *h2Call) []byte { return nested }),
		replaced("a megabyte of unknown fields", "", "", func(*h2Conn, *h2Call) []byte {
			return bytes.Repeat(protowire.AppendVarint(protowire.AppendTag(nil, 1000, protowire.VarintType), 1), 1<<20/4)
		}),
		replaced("the answer to a put, to everything", "", "", func(c *h2Conn, _ *h2Call) []byte {
			b, _ := proto.Marshal(&etcdserverpb.PutResponse{Header: &etcdserverpb.ResponseHeader{ClusterId: 1, MemberId: 2, Revision: int64(c.served), RaftTerm: 3}})
			return b
		}),
		replaced("500,000 keys", "list", rangeCall, func(*h2Conn, *h2Call) []byte {
			kv, _ := proto.Marshal(&mvccpb.KeyValue{Key: []byte("~"), ModRevision: 1, Version: 1})
			return bytes.Repeat(protowire.AppendBytes(protowire.AppendTag(nil, 2, protowire.BytesType), kv), 500_000)
		}),
	}
}
