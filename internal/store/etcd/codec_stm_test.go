package etcd

import (
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"golang.org/x/net/http2"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
)

// limitStreams makes the server allow only n concurrent streams.
func (s *scripted) limitStreams(n uint32) {
	s.must(s.framer.WriteSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: n}))
}

// committing starts a transaction with a client-side lock and returns the request that commits the
// transaction.
func (s *scripted) committing(tag uint32) *grpcCall {
	s.t.Helper()
	s.submit(store.Op{Tag: tag, Kind: kv.STM, STM: &store.STMOp{
		Lock: []byte(lockedBy), Locker: kv.LockClient, Lease: 100, Pairs: []store.Pair{{Key: []byte("a"), Value: []byte("b")}},
	}})
	mine := &pb.RangeResponse{Kvs: []*mvccpb.KeyValue{{Key: []byte(lockedBy + "/64"), CreateRevision: testHeader.Revision}}}
	s.answer(s.call("/etcdserverpb.KV/Txn", &pb.TxnRequest{}).id, &pb.TxnResponse{Header: testHeader, Succeeded: true, Responses: []*pb.ResponseOp{
		{Response: &pb.ResponseOp_ResponsePut{ResponsePut: &pb.PutResponse{}}},
		{Response: &pb.ResponseOp_ResponseRange{ResponseRange: mine}},
	}})
	s.feed()
	s.answer(s.call("/etcdserverpb.KV/Range", &pb.RangeRequest{}).id, &pb.RangeResponse{Header: testHeader})
	s.feed()
	return s.call("/etcdserverpb.KV/Txn", &pb.TxnRequest{})
}

// committed replies that the transaction was committed.
func (s *scripted) committed(commit *grpcCall) {
	s.answer(commit.id, &pb.TxnResponse{Header: testHeader, Succeeded: true, Responses: []*pb.ResponseOp{
		{Response: &pb.ResponseOp_ResponsePut{ResponsePut: &pb.PutResponse{}}},
	}})
}

// TestCommittedTransactionIsNoDefiniteError checks that a committed transaction does not end with
// an outcome that means that nothing was written, even if its lock cannot be released.
func TestCommittedTransactionIsNoDefiniteError(t *testing.T) {
	for name, c := range map[string]struct {
		fail func(s *scripted, id uint32)
		want kv.Outcome
	}{
		"too many requests": {func(s *scripted, id uint32) { s.refuse(id, "8", "etcdserver: too many requests") }, kv.StoreError},
		"no leader":         {func(s *scripted, id uint32) { s.refuse(id, "14", "etcdserver: no leader") }, kv.StoreError},
		"timeout":           {func(s *scripted, id uint32) { s.refuse(id, "14", "etcdserver: request timed out") }, kv.StoreTimeout},
		"refused stream":    {func(s *scripted, id uint32) { s.must(s.framer.WriteRSTStream(id, http2.ErrCodeRefusedStream)) }, kv.OK},
		"draining":          {func(s *scripted, id uint32) { s.must(s.framer.WriteGoAway(id-2, 0, nil)) }, kv.OK},
	} {
		s := scanServer(t)
		s.committed(s.committing(3))
		s.feed()
		c.fail(s, s.call("/etcdserverpb.KV/DeleteRange", &pb.DeleteRangeRequest{}).id)
		e := s.event(3)
		if e.Outcome != c.want || (c.want == kv.OK) != (e.Revision == testHeader.Revision) {
			t.Errorf("%s: the transaction ended with %v (%s) and revision %d, want %v", name, e.Outcome, e.Text, e.Revision, c.want)
		}
	}
}

// TestCommittedTransactionOfLostConnection checks the result of a committed transaction if the
// connection is lost before or after the release of the transaction's lock was sent.
func TestCommittedTransactionOfLostConnection(t *testing.T) {
	for name, streams := range map[string]uint32{"sent": 100, "not sent": 0} {
		s := scanServer(t)
		commit := s.committing(3)
		s.limitStreams(streams)
		s.committed(commit)
		s.feed()
		if n := len(s.calls()); n != int(min(streams, 1)) {
			t.Fatalf("%s: %d requests after the commit", name, n)
		}
		lost := s.c.Lost(nil)
		if len(lost) != 1 || lost[0].Tag != 3 || lost[0].Outcome != kv.OK || lost[0].Revision != testHeader.Revision {
			t.Errorf("%s: the lost connection ended the transactions %+v, want one with the outcome OK", name, lost)
		}
	}
}

// TestStalledTransactionLeavesNothingInItsSlot cancels a transaction that waits for a free stream,
// and starts another one, which reuses its slot. The codec must send the second transaction's
// commit only once.
func TestStalledTransactionLeavesNothingInItsSlot(t *testing.T) {
	s := newScripted(t, newCodecs(store.Access{})(store.ConnectionInfo{Endpoint: "h:1"}))
	s.limitStreams(2)
	s.feed()
	begin := func(tag uint32, keys ...string) {
		var pairs []store.Pair
		for _, key := range keys {
			pairs = append(pairs, store.Pair{Key: []byte(key), Value: []byte("v")})
		}
		s.submit(store.Op{Tag: tag, Kind: kv.STM, STM: &store.STMOp{Isolation: kv.ReadCommitted, Pairs: pairs}})
	}
	begin(1, "a", "b", "c")
	if n := len(s.calls()); n != 2 {
		t.Fatalf("%d requests, want 2", n)
	}
	s.c.Cancel(1)
	s.calls()
	begin(2, "a")
	s.answer(s.call("/etcdserverpb.KV/Range", &pb.RangeRequest{}).id, &pb.RangeResponse{Header: testHeader})
	s.feed()
	s.committed(s.call("/etcdserverpb.KV/Txn", &pb.TxnRequest{}))
	if e := s.event(2); e.Outcome != kv.OK || e.ExtraRequests != 1 {
		t.Errorf("the transaction ended with %v after %d requests, want OK after 2", e.Outcome, e.ExtraRequests+1)
	}
}
