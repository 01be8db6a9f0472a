package etcd

import (
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/protobuf/proto"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
	"github.com/quorumbench/quorumbench/internal/wire/h2"
)

// answered returns the event that the codec returns for a reply to the operation.
func answered(t *testing.T, op store.Op, m proto.Message) store.Event {
	t.Helper()
	body, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	c := newCodecs(store.Access{})(store.ConnectionInfo{Endpoint: "h:1"})
	if _, err := c.Feed(h2.AppendSettings(nil), nil); err != nil {
		t.Fatal(err)
	}
	c.Submit(&op)
	events, err := c.Feed(rawAnswer(body), nil)
	if err != nil || len(events) != 1 {
		t.Fatalf("%+v, %v", events, err)
	}
	return events[0]
}

var (
	checkedPut    = store.Op{Kind: kv.Put, Key: []byte("k")}
	checkedGet    = store.Op{Kind: kv.Get, Key: []byte("k")}
	checkedList   = store.Op{Kind: kv.Range, Key: []byte("k"), Range: &store.RangeOp{End: []byte("l")}}
	checkedPages  = store.Op{Kind: kv.Range, Key: []byte("k"), Range: &store.RangeOp{End: []byte("l"), PageSize: 10}}
	checkedCount  = store.Op{Kind: kv.Range, Key: []byte("k"), Range: &store.RangeOp{End: []byte("l"), CountOnly: true}}
	checkedExists = store.Op{Kind: kv.Exists, Key: []byte("k")}
	checkedDelete = store.Op{Kind: kv.Delete, Key: []byte("k")}
	checkedCAS    = store.Op{Kind: kv.CAS, Key: []byte("k"), Revision: 5}
	checkedTxn    = store.Op{Kind: kv.Txn, Pairs: []store.Pair{{Key: []byte("k")}, {Key: []byte("l")}}}
	checkedTxnGet = store.Op{Kind: kv.TxnGet, Key: []byte("k"), Range: &store.RangeOp{End: []byte("l")}}
	checkedSTM    = store.Op{Kind: kv.STM, STM: &store.STMOp{Pairs: []store.Pair{{Key: []byte("k"), Value: []byte("v")}}}}
)

func resultPut() *pb.ResponseOp {
	return &pb.ResponseOp{Response: &pb.ResponseOp_ResponsePut{ResponsePut: &pb.PutResponse{}}}
}

func resultRange(r *pb.RangeResponse) *pb.ResponseOp {
	return &pb.ResponseOp{Response: &pb.ResponseOp_ResponseRange{ResponseRange: r}}
}

// TestEmptyMessagesAreWrongAnswers feeds empty messages. An empty message is valid protobuf, but
// etcd never sends one.
func TestEmptyMessagesAreWrongAnswers(t *testing.T) {
	for _, op := range []store.Op{
		checkedPut, checkedGet, checkedList, checkedPages, checkedCount, checkedExists, checkedDelete, checkedCAS, checkedTxn, checkedTxnGet, checkedSTM,
	} {
		if e := answered(t, op, &pb.PutResponse{}); e.Outcome != kv.WrongResponse || len(e.Text) == 0 {
			t.Errorf("%v: %+v", op.Kind, e)
		}
	}
}

// TestImpossibleAnswers checks that a reply that no etcd server sends has the outcome
// WrongResponse, and that a possible reply has another outcome. A server that imitates etcd sends
// no member ID.
func TestImpossibleAnswers(t *testing.T) {
	etcd := &pb.ResponseHeader{ClusterId: 1, MemberId: 2, Revision: 9, RaftTerm: 3}
	standIn := &pb.ResponseHeader{Revision: 9}
	unwritten := &pb.ResponseHeader{ClusterId: 1, MemberId: 2, RaftTerm: 3}
	below := &pb.ResponseHeader{ClusterId: 1, MemberId: 2, Revision: -1, RaftTerm: 3}
	key := func(name string, revision int64) *mvccpb.KeyValue {
		return &mvccpb.KeyValue{Key: []byte(name), ModRevision: revision, CreateRevision: 1, Version: 1}
	}
	list := func(h *pb.ResponseHeader, count int64, more bool, kvs ...*mvccpb.KeyValue) *pb.RangeResponse {
		return &pb.RangeResponse{Header: h, Kvs: kvs, Count: count, More: more}
	}
	for _, tc := range []struct {
		name string
		op   store.Op
		m    proto.Message
		want kv.Outcome
	}{
		{"put", checkedPut, &pb.PutResponse{Header: etcd}, kv.OK},
		{"put at a stand-in", checkedPut, &pb.PutResponse{Header: standIn}, kv.OK},
		{"put at revision 0", checkedPut, &pb.PutResponse{Header: unwritten}, kv.WrongResponse},
		{"put below", checkedPut, &pb.PutResponse{Header: below}, kv.WrongResponse},

		{"get", checkedGet, list(etcd, 1, false, key("k", 9)), kv.OK},
		{"get of nothing", checkedGet, list(etcd, 0, false), kv.Miss},
		{"get of nothing at a stand-in", checkedGet, list(standIn, 0, false), kv.Miss},
		{"get of two", checkedGet, list(etcd, 2, false, key("k", 9), key("l", 9)), kv.WrongResponse},
		{"get of no name", checkedGet, list(etcd, 1, false, key("", 9)), kv.WrongResponse},
		{"get of what was never made", checkedGet, list(etcd, 1, false, key("k", 0)), kv.WrongResponse},
		{"get from later", checkedGet, list(etcd, 1, false, key("k", 10)), kv.WrongResponse},
		{"get from later at a stand-in", checkedGet, list(standIn, 1, false, key("k", 10)), kv.OK},
		{"get below", checkedGet, list(below, 0, false), kv.WrongResponse},

		{"list", checkedList, list(etcd, 2, false, key("k", 9), key("kk", 9)), kv.OK},
		{"list with more", checkedList, list(etcd, 3, true, key("k", 9), key("kk", 9)), kv.OK},
		{"list that counts less", checkedList, list(etcd, 1, false, key("k", 9), key("kk", 9)), kv.WrongResponse},
		{"list that counts more", checkedList, list(etcd, 3, false, key("k", 9), key("kk", 9)), kv.WrongResponse},
		{"list with more and all", checkedList, list(etcd, 2, true, key("k", 9), key("kk", 9)), kv.WrongResponse},
		{"page that counts more", checkedPages, list(etcd, 3, false, key("k", 9)), kv.WrongResponse},
		{"page of no name", checkedPages, list(etcd, 1, false, key("", 9)), kv.WrongResponse},
		{"count", checkedCount, list(etcd, 7, false), kv.OK},
		{"count below", checkedCount, list(etcd, -7, false), kv.WrongResponse},
		{"count with keys", checkedCount, list(etcd, 1, false, key("k", 9)), kv.WrongResponse},

		{"exists", checkedExists, list(etcd, 1, false), kv.OK},
		{"exists of nothing", checkedExists, list(etcd, 0, false), kv.Miss},
		{"exists of two", checkedExists, list(etcd, 2, false), kv.WrongResponse},
		{"exists with the key", checkedExists, list(etcd, 1, false, key("k", 9)), kv.WrongResponse},
		{"exists below", checkedExists, list(etcd, -1, false), kv.WrongResponse},

		{"delete", checkedDelete, &pb.DeleteRangeResponse{Header: etcd, Deleted: 1}, kv.OK},
		{"delete of two", checkedDelete, &pb.DeleteRangeResponse{Header: etcd, Deleted: 2}, kv.WrongResponse},
		{"delete below", checkedDelete, &pb.DeleteRangeResponse{Header: etcd, Deleted: -1}, kv.WrongResponse},

		{"cas", checkedCAS, &pb.TxnResponse{Header: standIn, Succeeded: true, Responses: []*pb.ResponseOp{resultPut()}}, kv.OK},
		{"cas without its write", checkedCAS, &pb.TxnResponse{Header: etcd, Succeeded: true}, kv.WrongResponse},
		{"conflict", checkedCAS, &pb.TxnResponse{Header: etcd, Responses: []*pb.ResponseOp{resultRange(list(nil, 0, false))}}, kv.Conflict},
		{"conflict at a stand-in", checkedCAS, &pb.TxnResponse{Header: standIn}, kv.Conflict},
		{"conflict without its read", checkedCAS, &pb.TxnResponse{Header: etcd}, kv.WrongResponse},
		{"conflict that wrote", checkedCAS, &pb.TxnResponse{Header: etcd, Responses: []*pb.ResponseOp{resultPut()}}, kv.WrongResponse},

		{"txn", checkedTxn, &pb.TxnResponse{Header: etcd, Succeeded: true, Responses: []*pb.ResponseOp{resultPut(), resultPut()}}, kv.OK},
		{"txn that did not", checkedTxn, &pb.TxnResponse{Header: etcd, Responses: []*pb.ResponseOp{resultPut(), resultPut()}}, kv.WrongResponse},
		{"txn-get", checkedTxnGet, &pb.TxnResponse{Header: etcd, Succeeded: true, Responses: []*pb.ResponseOp{resultRange(list(nil, 1, false, key("k", 9)))}}, kv.OK},
		{"txn-get without its read", checkedTxnGet, &pb.TxnResponse{Header: etcd, Succeeded: true}, kv.WrongResponse},
	} {
		if e := answered(t, tc.op, tc.m); e.Outcome != tc.want || (tc.want == kv.WrongResponse) != (len(e.Text) > 0) {
			t.Errorf("%s: %v %q, want %v", tc.name, e.Outcome, e.Text, tc.want)
		}
	}
	if e := answered(t, checkedTxn, &pb.TxnResponse{Header: etcd, Succeeded: true, Responses: []*pb.ResponseOp{resultPut()}}); e.Count != 1 {
		t.Errorf("a transaction with one write has the count %d", e.Count)
	}
}

// TestEventTypeDecidesWhetherKeyWasDeleted sends events whose type and version disagree. kine
// sends such events, because it does not count versions.
func TestEventTypeDecidesWhetherKeyWasDeleted(t *testing.T) {
	for _, tc := range []struct {
		what             mvccpb.Event_EventType
		version, reports int64
		value            string
	}{
		{mvccpb.Event_PUT, 0, -1, "v"},
		{mvccpb.Event_PUT, 3, 3, "v"},
		{mvccpb.Event_DELETE, 0, 0, ""},
		{mvccpb.Event_DELETE, 3, 0, ""},
	} {
		b, err := proto.Marshal(&mvccpb.Event{Type: tc.what, Kv: &mvccpb.KeyValue{Key: []byte("k"), Value: []byte("v"), ModRevision: 9, Version: tc.version}})
		if err != nil {
			t.Fatal(err)
		}
		var e store.Event
		if ok := parseWatchEvent(b, &e); !ok || e.Version != tc.reports || string(e.Value) != tc.value {
			t.Errorf("%v with version %d: %+v %v", tc.what, tc.version, e, ok)
		}
	}
}

// TestRepliesOfStandIns feeds replies that lack some fields, like the replies of servers that
// imitate etcd.
func TestRepliesOfStandIns(t *testing.T) {
	request := func(action call.Action) store.Op {
		return store.Op{Kind: kv.Put, Call: &call.Call{Parts: []call.Part{{Action: action, Key: []byte("k"), Number: 7}}}}
	}
	if e := answered(t, request(call.AskStatus), &pb.StatusResponse{Header: &pb.ResponseHeader{}, DbSize: 4096, Version: "3.6.6"}); e.Outcome != kv.OK {
		t.Errorf("status: %+v", e)
	}
	if e := answered(t, request(call.Grant), &pb.LeaseGrantResponse{Header: &pb.ResponseHeader{}, ID: 7, TTL: 7}); e.Outcome != kv.OK {
		t.Errorf("grant: %+v", e)
	}
	found := &pb.RangeResponse{Header: &pb.ResponseHeader{Revision: 9}, Kvs: []*mvccpb.KeyValue{{Key: []byte("k"), ModRevision: 9}}, Count: 1}
	if e := answered(t, request(call.Read), found); e.Outcome != kv.OK || e.Version != -1 {
		t.Errorf("a read of a key without a version returned %+v", e)
	}
	found.Kvs, found.Count = nil, 0
	if e := answered(t, request(call.Read), found); e.Outcome != kv.OK || e.Version != 0 {
		t.Errorf("a read of a missing key returned %+v", e)
	}
}
