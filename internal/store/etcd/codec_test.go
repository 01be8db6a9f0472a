package etcd

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
)

func plainCodec(t testing.TB) *scripted {
	return greeted(t, newCodecs(store.Access{})(store.ConnectionInfo{Endpoint: "127.0.0.1:2379"}))
}

var (
	testKey   = []byte("key\x00\xff")
	testValue = bytes.Repeat([]byte("value"), 100)
)

// rangeOp returns a RequestOp that reads a key without its value.
func rangeOp(key []byte) *pb.RequestOp {
	return &pb.RequestOp{Request: &pb.RequestOp_RequestRange{RequestRange: &pb.RangeRequest{Key: key, KeysOnly: true}}}
}

func putOp(key, value []byte) *pb.RequestOp {
	return &pb.RequestOp{Request: &pb.RequestOp_RequestPut{RequestPut: &pb.PutRequest{Key: key, Value: value}}}
}

func casRequest(key, value []byte, revision int64) *pb.TxnRequest {
	return &pb.TxnRequest{
		Compare: []*pb.Compare{{
			Target: pb.Compare_MOD, Result: pb.Compare_EQUAL, Key: key,
			TargetUnion: &pb.Compare_ModRevision{ModRevision: revision},
		}},
		Success: []*pb.RequestOp{putOp(key, value)},
		Failure: []*pb.RequestOp{rangeOp(key)},
	}
}

// TestRequests checks that the official library parses the codec's requests as intended.
func TestRequests(t *testing.T) {
	for _, tc := range []struct {
		op   store.Op
		path string
		want proto.Message
	}{
		{store.Op{Kind: kv.Put, Key: testKey, Value: testValue}, "KV/Put", &pb.PutRequest{Key: testKey, Value: testValue}},
		{store.Op{Kind: kv.Put, Key: testKey}, "KV/Put", &pb.PutRequest{Key: testKey}},
		{store.Op{Kind: kv.Get, Key: testKey, Consistency: kv.Linearizable}, "KV/Range", &pb.RangeRequest{Key: testKey}},
		{store.Op{Kind: kv.Get, Key: testKey, Consistency: kv.Local}, "KV/Range", &pb.RangeRequest{Key: testKey, Serializable: true}},
		{store.Op{Kind: kv.Range, Key: testKey, Range: &store.RangeOp{}}, "KV/Range", &pb.RangeRequest{Key: testKey}},
		{store.Op{Kind: kv.Range, Key: testKey, Consistency: kv.Local, Range: &store.RangeOp{End: []byte("z"), Limit: 1000}}, "KV/Range",
			&pb.RangeRequest{Key: testKey, RangeEnd: []byte("z"), Limit: 1000, Serializable: true}},
		{store.Op{Kind: kv.Range, Key: testKey, Range: &store.RangeOp{End: []byte("z")}}, "KV/Range", &pb.RangeRequest{Key: testKey, RangeEnd: []byte("z")}},
		{store.Op{Kind: kv.Delete, Key: testKey}, "KV/DeleteRange", &pb.DeleteRangeRequest{Key: testKey}},
		{store.Op{Kind: kv.CAS, Key: testKey, Value: testValue, Revision: 12345}, "KV/Txn", casRequest(testKey, testValue, 12345)},
		{store.Op{Kind: kv.CAS, Key: testKey}, "KV/Txn", casRequest(testKey, nil, 0)},
	} {
		s := plainCodec(t)
		s.calls()
		s.submit(tc.op)
		got := tc.want.ProtoReflect().New().Interface()
		s.call("/etcdserverpb."+tc.path, got)
		if diff := cmp.Diff(tc.want, got, protocmp.Transform()); diff != "" {
			t.Errorf("%v: %s", tc.op.Kind, diff)
		}
	}
}

// TestReplies encodes replies with the official library, and checks the codec's events.
func TestReplies(t *testing.T) {
	first := &mvccpb.KeyValue{Key: testKey, CreateRevision: 100, ModRevision: 200, Version: 3, Value: testValue, Lease: 1 << 50}
	other := &mvccpb.KeyValue{Key: []byte("other"), ModRevision: 250}
	found := store.Event{Revision: 200, Count: 1, Key: testKey, Value: testValue}
	txn := func(succeeded bool, op *pb.ResponseOp) proto.Message {
		return &pb.TxnResponse{Header: testHeader, Succeeded: succeeded, Responses: []*pb.ResponseOp{op}}
	}
	ranged := func(kvs ...*mvccpb.KeyValue) *pb.ResponseOp {
		return &pb.ResponseOp{Response: &pb.ResponseOp_ResponseRange{ResponseRange: &pb.RangeResponse{
			Header: &pb.ResponseHeader{Revision: 299}, Kvs: kvs, Count: int64(len(kvs))}}}
	}
	for _, tc := range []struct {
		name  string
		op    store.Op
		reply proto.Message
		want  store.Event
	}{
		{"put", store.Op{Kind: kv.Put, Key: testKey}, &pb.PutResponse{Header: testHeader, PrevKv: first}, store.Event{Revision: 300}},
		{"get", store.Op{Kind: kv.Get}, &pb.RangeResponse{Header: testHeader, Kvs: []*mvccpb.KeyValue{first}, Count: 1}, found},
		{"miss", store.Op{Kind: kv.Get}, &pb.RangeResponse{Header: testHeader}, store.Event{Outcome: kv.Miss}},
		{"key that is not there", store.Op{Kind: kv.Range, Range: &store.RangeOp{}}, &pb.RangeResponse{Header: testHeader}, store.Event{Outcome: kv.Miss}},
		{"empty interval", store.Op{Kind: kv.Range, Range: &store.RangeOp{End: testKey}}, &pb.RangeResponse{Header: testHeader}, store.Event{}},
		{"interval", store.Op{Kind: kv.Range, Range: &store.RangeOp{End: testKey}},
			&pb.RangeResponse{Header: testHeader, Kvs: []*mvccpb.KeyValue{first, other}, More: true, Count: 77},
			store.Event{Revision: 200, Count: 2, Key: testKey, Value: testValue}},
		{"delete", store.Op{Kind: kv.Delete}, &pb.DeleteRangeResponse{Header: testHeader, Deleted: 1, PrevKvs: []*mvccpb.KeyValue{first}},
			store.Event{Revision: 300, Count: 1}},
		{"delete nothing", store.Op{Kind: kv.Delete}, &pb.DeleteRangeResponse{Header: testHeader}, store.Event{Revision: 300}},
		{"swapped", store.Op{Kind: kv.CAS}, txn(true, &pb.ResponseOp{Response: &pb.ResponseOp_ResponsePut{
			ResponsePut: &pb.PutResponse{Header: &pb.ResponseHeader{Revision: 300}}}}), store.Event{Revision: 300}},
		{"conflict", store.Op{Kind: kv.CAS}, txn(false, ranged(first)), store.Event{Outcome: kv.Conflict, Revision: 200}},
		{"conflict with nothing", store.Op{Kind: kv.CAS}, txn(false, ranged()), store.Event{Outcome: kv.Conflict}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := plainCodec(t)
			// The second and third reply have the same header as the first, which the codec has
			// remembered.
			for tag := range uint32(3) {
				tc.op.Tag = tag
				s.submit(tc.op)
				s.answer(2*tag+1, tc.reply)
				want := tc.want
				want.Tag, want.Member, want.Term, want.StoreRevision = tag, testHeader.MemberId, testHeader.RaftTerm, testHeader.Revision
				if diff := cmp.Diff(want, s.event(tag)); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

// TestUnknownFields checks that the codec skips fields that a later version of etcd may add,
// regardless of their type and position.
func TestUnknownFields(t *testing.T) {
	unknown := []byte("\xf8\x07\x96\x01" + "\xfa\x07\x03abc" + "\x71\x01\x02\x03\x04\x05\x06\x07\x08" + "\x75\x01\x02\x03\x04" +
		"\x7b\x08\x01\x7c" + "\x78\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")
	wrap := func(tag byte, b []byte) []byte { return append([]byte{tag, byte(len(b))}, b...) }
	marshal := func(m proto.Message) []byte {
		b, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	header := append(bytes.Clone(unknown), marshal(testHeader)...)
	entry := append(bytes.Clone(unknown), marshal(&mvccpb.KeyValue{Key: []byte("k"), ModRevision: 9, Value: []byte("v")})...)
	body := append(bytes.Clone(unknown), wrap(0x0a, append(header, unknown...))...)
	body = append(append(body, wrap(0x12, append(entry, unknown...))...), unknown...)
	s := plainCodec(t)
	s.submit(store.Op{Kind: kv.Get})
	s.answerBytes(1, body)
	want := store.Event{Member: testHeader.MemberId, Term: testHeader.RaftTerm, StoreRevision: testHeader.Revision, Revision: 9, Count: 1, Key: []byte("k"), Value: []byte("v")}
	if diff := cmp.Diff(want, s.event(0)); diff != "" {
		t.Error(diff)
	}
}

var allKinds = []kv.Kind{kv.Put, kv.Get, kv.Range, kv.Delete, kv.CAS}

func TestMalformedReplies(t *testing.T) {
	for body, kinds := range map[string][]kv.Kind{
		"\x0a": allKinds, "\x0a\x05abc": allKinds, "\x0a\x02\x10\x80": allKinds, "\x0a\x02\x20\x80": allKinds,
		"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02": allKinds, "\x0a\x01\x1f": allKinds, "\x00\x00": allKinds,
		"\x7c": allKinds, "\x0f\x01": allKinds, "\x78\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01": allKinds,
		"\x10": {kv.Delete, kv.CAS}, "\x12\x80": {kv.Get, kv.Range}, "\x12\x02\x0a\x09": {kv.Get, kv.Range},
		"\x12\x02\x18\x80": {kv.Get, kv.Range}, "\x20\x80": {kv.Get, kv.Range},
		"\x1a\xff\xff\xff\xff\x0f": {kv.CAS}, "\x1a\x04\x0a\x02\x12\x7f": {kv.CAS}, "\x1a\x03\x0a\x09\x01": {kv.CAS},
	} {
		for _, kind := range kinds {
			s := plainCodec(t)
			s.submit(store.Op{Kind: kind, Tag: 7, Range: &store.RangeOp{}})
			s.answerBytes(1, []byte(body))
			events, err := s.tryFeed()
			if err == nil || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v %q: error %v", kind, body, err)
			}
			if len(events) != 1 || events[0].Tag != 7 || events[0].Outcome != kv.StoreError {
				t.Errorf("%v %q: events %+v", kind, body, events)
			}
		}
	}
}

func TestEndsOfCalls(t *testing.T) {
	s := plainCodec(t)
	for tag := range uint32(5) {
		s.submit(store.Op{Kind: kv.Put, Tag: tag, Key: testKey})
	}
	s.calls()
	s.submit(store.Op{Kind: kv.Put, Tag: 5, Key: testKey})
	s.must(s.framer.WriteRSTStream(1, 7))
	s.must(s.framer.WriteRSTStream(3, 2))
	s.refuse(5, "14", "etcdserver: leader changed")
	s.refuse(7, "14", "")
	events := s.feed()
	if !s.c.Cancel(4) || s.c.Draining() {
		t.Error("Cancel did not free the slot of the cancelled operation")
	}
	events = append(events, s.c.Lost(nil)...)
	want := []kv.Outcome{kv.Refused, kv.StoreError, kv.LeaderChanged, kv.StoreError, kv.NotSent}
	for i, e := range events {
		if e.Outcome != want[i] || e.Type != store.OperationDone {
			t.Errorf("event %d: %+v, want %v", i, e, want[i])
		}
	}
	if len(events) != len(want) || events[4].Tag != 5 || string(events[3].Text) != "gRPC status Unavailable" {
		t.Errorf("events %+v", events)
	}
}

func TestGoAwayIsNotSent(t *testing.T) {
	s := plainCodec(t)
	s.submit(store.Op{Kind: kv.Put, Tag: 1, Key: testKey})
	s.submit(store.Op{Kind: kv.Put, Tag: 2, Key: testKey})
	s.calls()
	s.must(s.framer.WriteGoAway(1, 0, nil))
	if e := s.event(2); e.Outcome != kv.NotSent || !s.c.Draining() || s.c.Room() != 0 {
		t.Errorf("%+v", e)
	}
	if lost := s.c.Lost(nil); len(lost) != 1 || lost[0].Outcome != kv.ConnectionLost || lost[0].Tag != 1 {
		t.Errorf("the lost connection ended the operations %+v", lost)
	}
}

func TestExplainsOtherServers(t *testing.T) {
	for in, want := range map[string]string{
		"HTTP/1.1 400 Bad Request\r\n\r\n": "the server answered with HTTP/1, not HTTP/2: is this an etcd client port?",
		"\x15\x03\x01\x00\x02\x02\x46":     "the server answered with a TLS alert: it expects TLS, or a different client certificate: are --cacert, --cert and --key missing?",
		"220 mail ESMTP\r\n":               `the server does not speak HTTP/2: its first bytes are "220 mail "`,
	} {
		c := newCodecs(store.Access{})(store.ConnectionInfo{Endpoint: "127.0.0.1:80"})
		if c.Room() != 0 {
			t.Error("the codec has room for an operation before the server's first frame")
		}
		if _, err := c.Feed([]byte(in), nil); err == nil || err.Error() != want {
			t.Errorf("%q: %v", in, err)
		}
	}
}
