package golden

import (
	"encoding/binary"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/protobuf/proto"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
)

// exchanges returns a store's connection scripts in which a server's response determines the next
// request.
func exchanges(name string) []talk {
	switch name {
	case "etcd":
		return exchangesOfEtcd()
	case "zookeeper", "zetcd":
		return exchangesOfZooKeeper()
	case "consul":
		return exchangesOfConsul()
	case "cetcd":
		return []talk{casByHTTP(http(200, "", `[{"Key":"a/key","Value":"dg==","ModifyIndex":7}]`), http(200, "", "true"))}
	case "etcdv2":
		return []talk{
			{name: "exchange: put that is redirected", steps: submitted(put("/a/key"), http(307, "Location: http://127.0.0.1:2379/v2/keys/a/key\r\n", ""))},
			casByHTTP(http(200, "X-Etcd-Index: 9\r\n", `{"action":"get","node":{"key":"/a/key","value":"v","modifiedIndex":7,"createdIndex":7}}`),
				http(200, "X-Etcd-Index: 10\r\n", `{"action":"compareAndSwap","node":{"key":"/a/key","modifiedIndex":10,"createdIndex":7}}`)),
		}
	}
	return nil
}

// submitted returns steps that submit an operation and then deliver the given responses to the
// codec.
func submitted(op store.Op, answers ...[]byte) []step {
	all := []step{{op: &op}}
	for _, a := range answers {
		all = append(all, step{answer: a})
	}
	return all
}

func put(key string) store.Op {
	return store.Op{Kind: kv.Put, Key: []byte(key), Value: []byte("value")}
}

// stm returns an STM transaction that reads two keys and writes the first key.
func stm(i kv.Isolation) store.Op {
	return store.Op{Kind: kv.STM, STM: &store.STMOp{Isolation: i, Pairs: []store.Pair{{Key: []byte("/a/1"), Value: []byte("value")}, {Key: []byte("/a/2")}}}}
}

// locked returns an STM transaction on one key under a lock.
func locked(l kv.Locker) store.Op {
	return store.Op{Kind: kv.STM, Lease: leased, LeaseName: leaseName,
		STM: &store.STMOp{Lock: []byte("/lock"), Locker: l, Lease: leased, Pairs: []store.Pair{{Key: []byte("/a/1"), Value: []byte("value")}}}}
}

// http returns an HTTP/1.1 response.
func http(status int, fields, body string) []byte {
	return fmt.Appendf(nil, "HTTP/1.1 %d Text\r\n%sContent-Length: %d\r\n\r\n%s", status, fields, len(body), body)
}

func casByHTTP(answers ...[]byte) talk {
	return talk{name: "exchange: cas of a version that is read first", steps: submitted(store.Op{Kind: kv.CAS, Key: []byte("/a/key"), Value: bytesOf(300), Revision: -1}, answers...)}
}

func exchangesOfConsul() []talk {
	index := "X-Consul-Index: 9\r\n"
	found := http(200, index, `{"Results":[{"KV":{"Key":"a/1","Value":"dg==","ModifyIndex":7}},{"KV":{"Key":"a/2","Value":null,"ModifyIndex":0}}],"Errors":null}`)
	done := http(200, index, `{"Results":[{"KV":{"Key":"a/1","ModifyIndex":10}}],"Errors":null}`)
	conflict := http(409, "", `{"Results":null,"Errors":[{"OpIndex":0,"What":"failed index check for key \"a/1\", current modify index 8 != 7"}]}`)
	lock := func(session string) []byte {
		return http(200, index, fmt.Sprintf(`[{"LockIndex":4,"Key":"lock","Flags":0,"Value":null,"Session":"%s","CreateIndex":3,"ModifyIndex":9}]`, session))
	}
	all := []talk{casByHTTP(http(200, "X-Consul-Index: 7\r\n", "v"), http(200, "", "true"))}
	for i := range kv.NumIsolations {
		all = append(all, talk{name: "exchange: stm, isolation " + i.String(), steps: submitted(stm(i), found, done)})
	}
	all = append(all,
		talk{name: "exchange: stm after a conflict", steps: submitted(stm(kv.Serializable), found, conflict, found, done)},
		talk{name: "exchange: stm below a lock", steps: submitted(locked(kv.LockRPC), http(200, "", "true"), lock(string(leaseName)),
			http(200, index, `{"Results":[{"KV":{"Key":"a/1","Value":"dg==","ModifyIndex":7}}],"Errors":null}`), done, http(200, "", "true"))},
		talk{name: "exchange: stm below a lock that another has", steps: submitted(locked(kv.LockRPC), http(200, "", "false"), lock("another"), lock(""), http(200, "", "false"), http(404, index, ""))},
		talk{name: "exchange: watch of a key", again: true, steps: submitted(store.Op{Kind: kv.Watch, Key: []byte("/a/key"), Watch: &store.WatchOp{Watcher: 3, QueryWait: 10 * time.Second}},
			http(200, index, "v"), http(200, "X-Consul-Index: 12\r\n", "w"), http(404, "X-Consul-Index: 15\r\n", ""), http(200, "X-Consul-Index: 2\r\n", "x"))},
		talk{name: "exchange: watch of an interval", steps: submitted(store.Op{Kind: kv.Watch, Key: []byte("/a/"), Watch: &store.WatchOp{Watcher: 3, End: []byte("/a0")}},
			http(200, index, `[{"Key":"a/1","Value":"dg==","ModifyIndex":7}]`))},
	)
	return all
}

// frame returns an HTTP/2 frame.
func frame(kind, flags byte, stream uint32, payload []byte) []byte {
	b := []byte{byte(len(payload) >> 16), byte(len(payload) >> 8), byte(len(payload)), kind, flags}
	return append(binary.BigEndian.AppendUint32(b, stream), payload...)
}

// headers returns the HEADERS frame that begins a gRPC response.
func headers(stream uint32) []byte {
	const kind = "application/grpc"
	// The header fields are :status 200 and content-type.
	block := append([]byte{0x88, 0x0f, 0x10, byte(len(kind))}, kind...)
	return frame(1, 4, stream, block)
}

// message returns a DATA frame with a gRPC message.
func message(stream uint32, m proto.Message) []byte {
	body, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		panic(err)
	}
	return frame(0, 0, stream, append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(body))), body...))
}

// trailers returns the HEADERS frame that ends a gRPC response with status OK.
func trailers(stream uint32) []byte {
	const name = "grpc-status"
	return frame(1, 5, stream, append(append([]byte{0, byte(len(name))}, name...), 1, '0'))
}

// answered returns the complete gRPC response to a call.
func answered(stream uint32, m proto.Message) []byte {
	return append(append(headers(stream), message(stream, m)...), trailers(stream)...)
}

func exchangesOfEtcd() []talk {
	head := &etcdserverpb.ResponseHeader{ClusterId: 1, MemberId: 2, Revision: 9, RaftTerm: 3}
	found := func(key string, revision int64) *mvccpb.KeyValue {
		return &mvccpb.KeyValue{Key: []byte(key), Value: []byte("v"), CreateRevision: revision, ModRevision: revision, Version: 1}
	}
	one := func(key string, revision int64) proto.Message {
		return &etcdserverpb.RangeResponse{Header: head, Kvs: []*mvccpb.KeyValue{found(key, revision)}, Count: 1}
	}
	putDone := &etcdserverpb.ResponseOp{Response: &etcdserverpb.ResponseOp_ResponsePut{ResponsePut: &etcdserverpb.PutResponse{Header: head}}}
	read := func(kvs ...*mvccpb.KeyValue) *etcdserverpb.ResponseOp {
		return &etcdserverpb.ResponseOp{Response: &etcdserverpb.ResponseOp_ResponseRange{ResponseRange: &etcdserverpb.RangeResponse{Header: head, Kvs: kvs, Count: int64(len(kvs))}}}
	}
	done := &etcdserverpb.TxnResponse{Header: head, Succeeded: true, Responses: []*etcdserverpb.ResponseOp{putDone}}
	conflict := &etcdserverpb.TxnResponse{Header: head, Responses: []*etcdserverpb.ResponseOp{read(found("/a/1", 8)), read(found("/a/2", 6))}}
	deleted := &etcdserverpb.DeleteRangeResponse{Header: head, Deleted: 1}

	several := append(submitted(put("/a/1"), answered(1, &etcdserverpb.PutResponse{Header: head})), submitted(put("/a/2"))...)
	several = append(several, submitted(store.Op{Kind: kv.Get, Key: []byte("/a/1"), Consistency: kv.Local})...)
	several = append(several, submitted(store.Op{Kind: kv.Delete, Key: []byte("/a/1")})...)
	all := []talk{{name: "exchange: several operations on a connection", steps: several}}
	for i := range kv.NumIsolations {
		steps := submitted(stm(i), answered(1, one("/a/1", 5)), answered(3, one("/a/2", 6)), answered(5, done))
		all = append(all, talk{name: "exchange: stm, isolation " + i.String(), steps: steps})
		switch steps = submitted(stm(i), answered(1, one("/a/1", 5)), answered(3, one("/a/2", 6))); i {
		case kv.ReadCommitted: // a read-committed transaction has no conflicts
			continue
		case kv.RepeatableReads:
			again := &etcdserverpb.TxnResponse{Header: head}
			steps = append(steps, step{answer: answered(5, again)}, step{answer: answered(7, one("/a/1", 8))}, step{answer: answered(9, one("/a/2", 6))}, step{answer: answered(11, done)})
		default:
			steps = append(steps, step{answer: answered(5, conflict)}, step{answer: answered(7, done)})
		}
		all = append(all, talk{name: "exchange: stm after a conflict, isolation " + i.String(), steps: steps})
	}
	all = append(all,
		talk{name: "exchange: stm below the lock service's lock", steps: submitted(locked(kv.LockRPC),
			// This message has the encoding of a LockResponse without a header: the key is field 2.
			answered(1, &etcdserverpb.PutRequest{Key: nil, Value: []byte("/lock/1234567890abcdef")}),
			answered(3, one("/a/1", 5)), answered(5, done), answered(7, &etcdserverpb.PutResponse{Header: head}))},
		talk{name: "exchange: stm below the client's lock", steps: submitted(locked(kv.LockClient),
			answered(1, &etcdserverpb.TxnResponse{Header: head, Succeeded: true, Responses: []*etcdserverpb.ResponseOp{putDone, read(found("/lock/1234567890abcdef", 9))}}),
			answered(3, one("/a/1", 5)), answered(5, done), answered(7, deleted))},
		talk{name: "exchange: stm below the client's lock that another has", steps: submitted(locked(kv.LockClient),
			answered(1, &etcdserverpb.TxnResponse{Header: head, Succeeded: true, Responses: []*etcdserverpb.ResponseOp{putDone, read(found("/lock/1", 4))}}),
			answered(3, one("/lock/1", 4)),
			append(headers(5), message(5, &etcdserverpb.WatchResponse{Header: head, Created: true})...),
			message(5, &etcdserverpb.WatchResponse{Header: head, Events: []*mvccpb.Event{{Type: mvccpb.Event_DELETE, Kv: &mvccpb.KeyValue{Key: []byte("/lock/1"), ModRevision: 10}}}}),
			answered(7, &etcdserverpb.RangeResponse{Header: head}),
			answered(9, one("/lock/1234567890abcdef", 9)))},
		talk{name: "exchange: range in pages", steps: submitted(
			store.Op{Kind: kv.Range, Consistency: kv.Local, Key: []byte("/a/1"), Range: &store.RangeOp{End: []byte("/a/9"), PageSize: 2, Limit: 3}},
			answered(1, &etcdserverpb.RangeResponse{Header: head, Kvs: []*mvccpb.KeyValue{found("/a/1", 5), found("/a/2", 6)}, Count: 4, More: true}),
			answered(3, &etcdserverpb.RangeResponse{Header: head, Kvs: []*mvccpb.KeyValue{found("/a/3", 7)}, Count: 2, More: true}))},
		talk{name: "exchange: two watchers of a stream, and their progress", steps: append(append(
			submitted(store.Op{Kind: kv.Watch, Key: []byte("/a/1"), Watch: &store.WatchOp{Watcher: 1}},
				append(headers(1), message(1, &etcdserverpb.WatchResponse{Header: head, Created: true})...)),
			submitted(store.Op{Kind: kv.Watch, Key: []byte("/a/2"), Watch: &store.WatchOp{Watcher: 2}}, message(1, &etcdserverpb.WatchResponse{Header: head, Created: true, WatchId: 1}))...),
			submitted(store.Op{Kind: kv.Watch, Watch: &store.WatchOp{RequestProgress: true}})...)},
		talk{name: "exchange: two keepalives of a lease and one of another", steps: append(append(
			submitted(store.Op{Kind: kv.KeepAlive, Lease: leased}, append(headers(1), message(1, &etcdserverpb.LeaseKeepAliveResponse{Header: head, ID: leased, TTL: 30})...)),
			submitted(store.Op{Kind: kv.KeepAlive, Lease: leased})...), submitted(store.Op{Kind: kv.KeepAlive, Lease: 5})...)},
		talk{name: "exchange: login", access: store.Access{User: "root", Password: "secret"}, steps: append(
			[]step{{answer: answered(1, &etcdserverpb.AuthenticateResponse{Header: head, Token: "token.of.the.test"})}}, submitted(put("/a/1"))...)},
	)
	return all
}

// juteGreeting returns the server's responses that grant a session and accept the user's
// credentials.
func juteGreeting(a store.Access) []byte {
	b := binary.BigEndian.AppendUint32(nil, 0)   // protocol version
	b = binary.BigEndian.AppendUint32(b, 30_000) // timeout in milliseconds
	b = binary.BigEndian.AppendUint64(b, 0x1234) // session ID
	b = append(binary.BigEndian.AppendUint32(b, 16), "0123456789abcdef"...)
	b = packet(append(b, 0))
	if a.User != "" {
		b = append(b, juteAnswer(-4, 1, 0, nil)...)
	}
	return b
}

func packet(b []byte) []byte { return append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...) }

// juteAnswer returns the response to the request with the number xid. It sets the term of the zxid
// to 3. The parameter `code` is the error code.
func juteAnswer(xid int32, zxid int64, code int32, record []byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(xid))
	b = binary.BigEndian.AppendUint64(b, uint64(3<<32|zxid))
	return packet(append(binary.BigEndian.AppendUint32(b, uint32(code)), record...))
}

// stat returns the encoded Stat of a node.
func stat(version int32, size int, mzxid int64) []byte {
	b := make([]byte, 68)
	binary.BigEndian.PutUint64(b[8:], uint64(3<<32|mzxid))
	binary.BigEndian.PutUint32(b[32:], uint32(version))
	binary.BigEndian.PutUint32(b[52:], uint32(size))
	return b
}

func text(s string) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(s))), s...)
}

func exchangesOfZooKeeper() []talk {
	const noNode = -101
	failed := func(code int32) []byte { // result of a failed operation in a multi
		b := binary.BigEndian.AppendUint32(nil, 0xffffffff)
		b = binary.BigEndian.AppendUint32(append(b, 0), uint32(code))
		return binary.BigEndian.AppendUint32(b, uint32(code))
	}
	end := append(append([]byte{0xff, 0xff, 0xff, 0xff}, 1), 0xff, 0xff, 0xff, 0xff)
	changed := binary.BigEndian.AppendUint32(nil, 0xffffffff)
	changed = append(changed, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0)
	// The event has the type NodeDataChanged and the state connected.
	changed = append(append(changed, 0, 0, 0, 3, 0, 0, 0, 3), text("/a/key")...)
	second := time.Second.Nanoseconds()
	cas := store.Op{Kind: kv.CAS, Key: []byte("/a/key"), Value: []byte("value"), Revision: -1}
	txn := store.Op{Kind: kv.Txn, Pairs: []store.Pair{{Key: []byte("/a/1"), Value: []byte("value")}, {Key: []byte("/b/2"), Value: []byte("value")}}}
	return []talk{
		{name: "exchange: put of a node that is not there", steps: submitted(put("/a/b/key"), juteAnswer(1, 10, noNode, nil), juteAnswer(2, 11, 0, text("/a/b/key")))},
		{name: "exchange: put of a node without parents", steps: submitted(put("/a/b/key"), juteAnswer(1, 10, noNode, nil), juteAnswer(2, 10, noNode, nil),
			append(append(juteAnswer(3, 11, 0, text("/a")), juteAnswer(4, 12, 0, text("/a/b"))...), juteAnswer(5, 13, 0, text("/a/b/key"))...))},
		{name: "exchange: cas of a version that is read first", steps: submitted(cas, juteAnswer(1, 10, 0, stat(4, 1, 7)), juteAnswer(2, 11, 0, stat(5, 5, 11)))},
		{name: "exchange: cas of a node that is not there", steps: submitted(cas, juteAnswer(1, 10, noNode, nil), juteAnswer(2, 11, 0, text("/a/key")))},
		{name: "exchange: txn of a node that is not there", steps: submitted(txn, juteAnswer(1, 10, noNode, append(append(failed(0), failed(noNode)...), end...)),
			juteAnswer(2, 10, noNode, append(append(failed(0), failed(noNode)...), end...)))},
		{name: "exchange: ephemeral node without parents", steps: submitted(store.Op{Kind: kv.Ephemeral, Key: []byte("/a/key"), Value: []byte("value")}, juteAnswer(1, 10, noNode, nil))},
		{name: "exchange: watch that fires once", steps: submitted(store.Op{Kind: kv.Watch, Key: []byte("/a/key"), Watch: &store.WatchOp{Watcher: 1, Mode: kv.OnceWatch}},
			juteAnswer(1, 10, 0, append(text("v"), stat(0, 1, 7)...)), packet(changed))},
		{name: "exchange: ping, and the end of the session", steps: []step{{tick: second}, {tick: 11 * second}, {tick: 12 * second}, {tick: 22 * second}, {close: true}}},
		{name: "exchange: a load that keeps its session of 6 s alive", access: store.Access{SessionTimeout: 6 * time.Second},
			steps: append([]step{{tick: second}, {tick: 11 * second}}, submitted(store.Op{Kind: kv.KeepAlive})...)},
		{name: "exchange: a connection that takes up the session of another", again: true, steps: submitted(put("/a/key"), juteAnswer(1, 10, 0, stat(1, 5, 10)))},
	}
}
