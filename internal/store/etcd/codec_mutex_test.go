package etcd

import (
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
)

// mutexServer returns a scripted server and starts n transactions that wait for a lock. It also
// returns the request with which each transaction looks for the key before its own.
func mutexServer(t *testing.T, n uint32) (*scripted, []*grpcCall) {
	t.Helper()
	s := scanServer(t)
	for i := range n {
		s.submit(store.Op{
			Tag: i, Kind: kv.STM, STM: &store.STMOp{Lock: []byte(lockedBy), Locker: kv.LockClient, Lease: int64(100 + i), Pairs: []store.Pair{{Key: []byte("a"), Value: []byte("b")}}},
		})
	}
	other := &pb.RangeResponse{Kvs: []*mvccpb.KeyValue{{Key: []byte(lockedBy + "/7"), CreateRevision: 5}}}
	for _, call := range s.calls() {
		s.answer(call.id, &pb.TxnResponse{Header: testHeader, Succeeded: true, Responses: []*pb.ResponseOp{
			{Response: &pb.ResponseOp_ResponsePut{ResponsePut: &pb.PutResponse{}}},
			{Response: &pb.ResponseOp_ResponseRange{ResponseRange: other}},
		}})
	}
	if events := s.feed(); len(events) != 0 {
		t.Fatalf("%+v", events)
	}
	return s, s.calls()
}

func (s *scripted) answerOther(call *grpcCall) {
	s.answer(call.id, &pb.RangeResponse{Header: testHeader, Kvs: []*mvccpb.KeyValue{{Key: []byte(lockedBy + "/7"), CreateRevision: 5}}})
}

// TestMutexWhenWatchStreamEnds feeds an input that ends the Watch stream and also makes another
// transaction watch a key. The transaction that waits on the ended stream must fail, and the other
// transaction must open a new stream.
func TestMutexWhenWatchStreamEnds(t *testing.T) {
	s, asks := mutexServer(t, 3)
	s.answerOther(asks[0])
	s.answerOther(asks[1])
	s.feed()
	watch := s.calls()
	if len(watch) != 1 || watch[0].path != "/etcdserverpb.Watch/Watch" {
		t.Fatalf("%+v", watch)
	}
	stream := watch[0].id
	s.headers(stream, false, ":status", "200", "content-type", "application/grpc")
	s.out.Write(onStream(stream, encoded(t, &pb.WatchResponse{Header: testHeader, Created: true})))
	if events := s.feed(); len(events) != 0 {
		t.Fatalf("%+v", events)
	}
	s.c.Cancel(0) // abandon a watch on the stream, which is about to end
	s.out.Write(onStream(stream, encoded(t, &pb.WatchResponse{Header: testHeader, Created: true, WatchId: 1})))
	s.answerOther(asks[2])
	s.headers(stream, true, "grpc-status", "14", "grpc-message", "going away")
	events := s.feed()
	if len(events) != 1 || events[0].Tag != 1 || events[0].Outcome != kv.StoreError || string(events[0].Text) != "going away" {
		t.Fatalf("%+v", events)
	}
	paths := map[string]int{}
	for _, call := range s.calls() {
		if call.path == "" && call.id == stream {
			continue // the first transaction cancelled its watcher while the stream was still open
		}
		if call.id <= stream {
			t.Errorf("the codec reused stream %d", call.id)
		}
		paths[call.path]++
	}
	// The keys of the two transactions that have ended are deleted, and the third transaction
	// watches a key.
	if paths["/etcdserverpb.KV/DeleteRange"] != 2 || paths["/etcdserverpb.Watch/Watch"] != 1 || len(paths) != 2 {
		t.Errorf("%v", paths)
	}
	lost := s.c.Lost(nil)
	if len(lost) != 1 || lost[0].Tag != 2 || lost[0].Outcome != kv.ConnectionLost {
		t.Errorf("%+v", lost)
	}
}

// TestMutexWaitsForItsRelease checks that a transaction waits while its session's lock is being
// released. Without the wait, the transaction could find the session's old key, which is about to
// be deleted, and mistake it for its own key.
func TestMutexWaitsForItsRelease(t *testing.T) {
	s, asks := mutexServer(t, 1)
	s.c.Cancel(0)
	back := s.call("/etcdserverpb.KV/DeleteRange", &pb.DeleteRangeRequest{})
	s.submit(store.Op{
		Tag: 9, Kind: kv.STM, STM: &store.STMOp{Lock: []byte(lockedBy), Locker: kv.LockClient, Lease: 100, Pairs: []store.Pair{{Key: []byte("a"), Value: []byte("b")}}},
	})
	s.answerOther(asks[0]) // the late reply to the abandoned transaction
	s.feed()
	if calls := s.calls(); len(calls) != 0 {
		t.Fatalf("%+v", calls)
	}
	s.answer(back.id, &pb.DeleteRangeResponse{Header: testHeader, Deleted: 1})
	s.feed()
	s.call("/etcdserverpb.KV/Txn", &pb.TxnRequest{})
}

// TestMutexReleaseNeedsItsOwnReply sends two replies in the same input: a wrong answer, which ends
// a transaction, and the reply to the transaction's other read. The codec must not mistake the
// second reply for the reply to the lock's release. If it did, the real reply to the release would
// later end the next transaction.
func TestMutexReleaseNeedsItsOwnReply(t *testing.T) {
	s := scanServer(t)
	begin := func(tag uint32) {
		s.submit(store.Op{Tag: tag, Kind: kv.STM, STM: &store.STMOp{
			Lock: []byte(lockedBy), Locker: kv.LockClient, Lease: 100, Pairs: []store.Pair{{Key: []byte("a"), Value: []byte("b")}, {Key: []byte("c")}},
		}})
	}
	begin(1)
	mine := &pb.RangeResponse{Kvs: []*mvccpb.KeyValue{{Key: []byte(lockedBy + "/64"), CreateRevision: testHeader.Revision}}}
	s.answer(s.call("/etcdserverpb.KV/Txn", &pb.TxnRequest{}).id, &pb.TxnResponse{Header: testHeader, Succeeded: true, Responses: []*pb.ResponseOp{
		{Response: &pb.ResponseOp_ResponsePut{ResponsePut: &pb.PutResponse{}}},
		{Response: &pb.ResponseOp_ResponseRange{ResponseRange: mine}},
	}})
	s.feed()
	for i, call := range s.calls() {
		changed := testHeader.Revision + 1 - int64(i) // in the first reply, the key's revision is later than the reply's revision
		s.answer(call.id, &pb.RangeResponse{Header: testHeader, Count: 1, Kvs: []*mvccpb.KeyValue{{Key: []byte{"ac"[i]}, CreateRevision: 1, ModRevision: changed, Version: 1}}})
	}
	if events := s.feed(); len(events) != 1 || events[0].Tag != 1 || events[0].Outcome != kv.WrongResponse {
		t.Fatalf("%+v", events)
	}
	begin(2)
	back := s.call("/etcdserverpb.KV/DeleteRange", &pb.DeleteRangeRequest{})
	s.answer(back.id, &pb.DeleteRangeResponse{Header: testHeader, Deleted: 1})
	if events := s.feed(); len(events) != 0 {
		t.Fatalf("%+v", events)
	}
	s.call("/etcdserverpb.KV/Txn", &pb.TxnRequest{})
}

// TestMutexOfCompactedRevision checks that a transaction looks for an earlier key again if the
// start revision of its watcher was compacted.
func TestMutexOfCompactedRevision(t *testing.T) {
	s, asks := mutexServer(t, 1)
	s.answerOther(asks[0])
	s.feed()
	watch := s.calls()[0]
	s.headers(watch.id, false, ":status", "200", "content-type", "application/grpc")
	for _, m := range []*pb.WatchResponse{{Created: true}, {Canceled: true, CompactRevision: 400}} {
		m.Header, m.WatchId = testHeader, 3
		s.out.Write(onStream(watch.id, encoded(t, m)))
	}
	if events := s.feed(); len(events) != 0 {
		t.Fatalf("%+v", events)
	}
	again := s.call("/etcdserverpb.KV/Range", &pb.RangeRequest{})
	s.answer(again.id, &pb.RangeResponse{Header: testHeader}) // there is no earlier key any more
	s.feed()
	mine := &pb.RangeRequest{}
	check := s.call("/etcdserverpb.KV/Range", mine)
	if string(mine.Key) != lockedBy+"/64" || len(mine.RangeEnd) != 0 {
		t.Fatalf("%v", mine)
	}
	s.answer(check.id, &pb.RangeResponse{Header: testHeader, Kvs: []*mvccpb.KeyValue{{Key: mine.Key, CreateRevision: 300}}})
	s.feed()
	read := &pb.RangeRequest{}
	if s.call("/etcdserverpb.KV/Range", read); string(read.Key) != "a" {
		t.Fatalf("%v", read)
	}
}
