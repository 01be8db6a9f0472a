package etcd

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/google/go-cmp/cmp"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/protobuf/proto"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/wire/h2"
)

// wantEvent parses a reply with the official library. It returns the parsed message and the
// event that the codec should return for it.
func wantEvent(kind kv.Kind, body []byte) (e store.Event, m proto.Message, err error) {
	var h *pb.ResponseHeader
	ranged := func(r *pb.RangeResponse) {
		if e.Count = int64(len(r.GetKvs())); e.Count > 0 {
			first := r.Kvs[0]
			e.Key, e.Value, e.Revision = first.Key, first.Value, first.ModRevision
		}
	}
	switch kind {
	case kv.Put:
		r := &pb.PutResponse{}
		m, err = r, proto.Unmarshal(body, r)
		h, e.Revision = r.Header, r.Header.GetRevision()
	case kv.Get, kv.Range:
		r := &pb.RangeResponse{}
		m, err = r, proto.Unmarshal(body, r)
		h = r.Header
		if ranged(r); kind == kv.Get && e.Count == 0 {
			e.Outcome = kv.Miss
		}
	case kv.Delete:
		r := &pb.DeleteRangeResponse{}
		m, err = r, proto.Unmarshal(body, r)
		h, e.Revision, e.Count = r.Header, r.Header.GetRevision(), r.Deleted
	case kv.CAS:
		r := &pb.TxnResponse{}
		m, err = r, proto.Unmarshal(body, r)
		h = r.Header
		if r.Succeeded {
			e.Revision = r.Header.GetRevision()
			break
		}
		if len(r.Responses) > 0 {
			ranged(r.Responses[0].GetResponseRange())
		}
		e = store.Event{Outcome: kv.Conflict, Revision: e.Revision}
	}
	e.Member, e.Term, e.StoreRevision = h.GetMemberId(), h.GetRaftTerm(), h.GetRevision()
	return e, m, err
}

// isImpossible reports whether the reply violates etcd's API, so that no etcd server can send it.
func isImpossible(kind kv.Kind, m proto.Message) bool {
	switch r := m.(type) {
	case *pb.PutResponse:
		return r.Header.GetRevision() <= 0
	case *pb.DeleteRangeResponse:
		return r.Header.GetRevision() <= 0 || r.Deleted < 0 || r.Deleted > 1
	case *pb.RangeResponse:
		n := int64(len(r.Kvs))
		if kind == kv.Get && n > 1 || kind == kv.Range && (r.Count < n || r.More != (r.Count > n)) {
			return true
		}
		if n > 0 {
			first := r.Kvs[0]
			if len(first.Key) == 0 || first.ModRevision <= 0 || r.Header.GetMemberId() != 0 && first.ModRevision > r.Header.GetRevision() {
				return true
			}
		}
		return r.Header.GetRevision() < 0 || r.Header.GetRevision() == 0 && r.Header.GetMemberId() == 0
	case *pb.TxnResponse:
		puts, ranges := 0, 0
		for _, o := range r.Responses {
			switch o.Response.(type) {
			case *pb.ResponseOp_ResponsePut:
				puts++
			case *pb.ResponseOp_ResponseRange:
				ranges++
			}
		}
		if r.Succeeded {
			return r.Header.GetRevision() <= 0 || puts != 1 || ranges != 0
		}
		standIn := r.Header.GetMemberId() == 0
		return r.Header.GetRevision() < 0 || r.Header.GetRevision() == 0 && standIn ||
			puts != 0 || ranges != 1 && (!standIn || ranges != 0)
	}
	return false
}

// rawAnswer returns a reply on stream 1. It builds the HTTP/2 header blocks without an HPACK
// encoder.
func rawAnswer(body []byte) []byte {
	b := h2.AppendSettings(nil)
	headers := append([]byte{0x88, 0x0f, 0x10, 16}, "application/grpc"...)
	b = append(h2.AppendFrameHeader(b, len(headers), h2.FrameHeaders, h2.FlagEndHeaders, 1), headers...)
	message := append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(body))), body...)
	for n := 0; len(message) > 0; message = message[n:] {
		n = min(len(message), h2.DefaultMaxFrameSize)
		b = append(h2.AppendFrameHeader(b, n, h2.FrameData, 0, 1), message[:n]...)
	}
	trailers := append([]byte{0x00, 11}, "grpc-status\x010"...)
	return append(h2.AppendFrameHeader(b, len(trailers), h2.FrameHeaders, h2.FlagEndHeaders|h2.FlagEndStream, 1), trailers...)
}

// FuzzReply checks that the codec can parse every reply that the official library can parse. If
// the encoding is canonical, both must obtain the same result.
func FuzzReply(f *testing.F) {
	seed := func(kind kv.Kind, m proto.Message) {
		b, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(uint8(kind), b)
	}
	entry := &mvccpb.KeyValue{Key: []byte("k"), CreateRevision: 1, ModRevision: 1 << 60, Version: 3, Value: []byte("v"), Lease: -1}
	ranged := &pb.RangeResponse{Header: testHeader, Kvs: []*mvccpb.KeyValue{entry, entry}, More: true, Count: 9}
	at := &mvccpb.KeyValue{Key: []byte("k"), CreateRevision: 1, ModRevision: testHeader.Revision, Version: 3, Value: []byte("v")}
	seed(kv.Get, &pb.RangeResponse{Header: testHeader, Kvs: []*mvccpb.KeyValue{at}, Count: 1})
	seed(kv.Range, &pb.RangeResponse{Header: testHeader, Kvs: []*mvccpb.KeyValue{at, at}, More: true, Count: 9})
	seed(kv.Delete, &pb.DeleteRangeResponse{Header: testHeader, Deleted: 1})
	seed(kv.Put, &pb.PutResponse{Header: testHeader, PrevKv: entry})
	seed(kv.Get, ranged)
	seed(kv.Range, ranged)
	seed(kv.Delete, &pb.DeleteRangeResponse{Header: testHeader, Deleted: 3})
	seed(kv.CAS, &pb.TxnResponse{Header: testHeader, Responses: []*pb.ResponseOp{
		{Response: &pb.ResponseOp_ResponseRange{ResponseRange: ranged}}}})
	seed(kv.CAS, &pb.TxnResponse{Header: testHeader, Succeeded: true, Responses: []*pb.ResponseOp{
		{Response: &pb.ResponseOp_ResponsePut{ResponsePut: &pb.PutResponse{Header: testHeader}}}}})
	f.Fuzz(func(t *testing.T, k uint8, body []byte) {
		kind := kv.Kind(k % uint8(kv.Txn))
		c := newCodecs(store.Access{})(store.ConnectionInfo{Endpoint: "h:1"})
		if _, err := c.Feed(h2.AppendSettings(nil), nil); err != nil {
			t.Fatal(err)
		}
		c.Submit(&store.Op{Kind: kind, Key: []byte("k"), Range: &store.RangeOp{End: []byte("l")}})
		events, err := c.Feed(rawAnswer(body), nil)
		if len(events) != 1 || len(c.Lost(nil)) != 0 {
			t.Fatalf("%d events", len(events))
		}
		want, m, official := wantEvent(kind, body)
		if official != nil {
			return
		}
		if err != nil {
			t.Fatalf("the codec rejected a response that the official library accepts: %v", err)
		}
		if usual, err := (proto.MarshalOptions{Deterministic: true}).Marshal(m); err != nil || !bytes.Equal(usual, body) {
			return
		}
		if impossible := isImpossible(kind, m); impossible != (events[0].Outcome == kv.WrongResponse) {
			t.Fatalf("the response is impossible for etcd: %v, but the event is %+v", impossible, events[0])
		} else if impossible {
			return
		}
		if n, m := len(want.Key), len(want.Value); n == 0 || m == 0 { // nil equals empty here
			want.Key, want.Value = append([]byte{}, want.Key...), append([]byte{}, want.Value...)
			events[0].Key, events[0].Value = append([]byte{}, events[0].Key...), append([]byte{}, events[0].Value...)
		}
		if diff := cmp.Diff(want, events[0]); diff != "" {
			t.Fatal(diff)
		}
	})
}
