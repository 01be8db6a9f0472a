package etcd

import (
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/protobuf/proto"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
)

// TestLeasesShareStreams keeps more leases alive than the server allows streams. The streams must
// leave room for other requests, and each reply must end the operation for the same lease.
func TestLeasesShareStreams(t *testing.T) {
	const streams, leases = 4, 10
	s := newScripted(t, newCodecs(store.Access{})(store.ConnectionInfo{Endpoint: "h:1"}))
	s.limitStreams(streams)
	s.feed()
	for round := range uint32(2) {
		sent := map[uint32][]int64{} // the leases on each stream
		for i := range uint32(leases) {
			s.submit(store.Op{Tag: i, Kind: kv.KeepAlive, Lease: int64(100 + i)})
			calls := s.calls()
			if len(calls) != 1 {
				t.Fatalf("round %d: %d requests for one keep-alive", round, len(calls))
			}
			request := &pb.LeaseKeepAliveRequest{}
			s.must(proto.Unmarshal(calls[0].message, request))
			sent[calls[0].id] = append(sent[calls[0].id], request.ID)
		}
		if len(sent) != streams-1 {
			t.Fatalf("round %d: the keep-alives use %d streams, want %d", round, len(sent), streams-1)
		}
		done := map[uint32]bool{}
		for id, ids := range sent {
			if round == 0 {
				s.headers(id, false, ":status", "200", "content-type", "application/grpc")
			}
			for _, lease := range ids {
				s.out.Write(onStream(id, encoded(t, &pb.LeaseKeepAliveResponse{Header: testHeader, ID: lease, TTL: 30})))
				e := s.event(uint32(lease - 100))
				if e.Outcome != kv.OK || e.Count != 30 {
					t.Errorf("round %d: the keep-alive of lease %d ended with %v (%s)", round, lease, e.Outcome, e.Text)
				}
				done[e.Tag] = true
			}
		}
		if len(done) != leases {
			t.Errorf("round %d: %d keep-alives ended, want %d", round, len(done), leases)
		}
	}
	s.submit(store.Op{Tag: 50, Kind: kv.Put, Key: testKey})
	s.call("/etcdserverpb.KV/Put", &pb.PutRequest{})
}
