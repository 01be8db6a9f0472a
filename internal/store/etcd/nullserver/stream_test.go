package nullserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testing/servers/embedded"
)

// streamed reads a streamed range and combines its parts as the protocol specifies.
func streamed(ctx context.Context, client pb.KVClient, r *pb.RangeRequest) (*pb.RangeResponse, error) {
	stream, err := client.RangeStream(ctx, r)
	if err != nil {
		return nil, err
	}
	whole := &pb.RangeResponse{}
	for {
		part, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return whole, nil
		}
		if err != nil {
			return nil, err
		}
		proto.Merge(whole, part.RangeResponse)
	}
}

// TestStreamedRangesEqualEtcds executes the same writes on etcd and on the null server, and then
// compares the streamed ranges that both return.
func TestStreamedRangesEqualEtcds(t *testing.T) {
	if testing.Short() {
		t.Skip("starts an etcd")
	}
	ctx := background(t)
	etcd := pb.NewKVClient(official(t, clientv3.Config{Endpoints: []string{embedded.Etcd(t)}}).ActiveConnection())
	null := pb.NewKVClient(official(t, clientv3.Config{Endpoints: start(t, 1, store.NullOptions{Memory: true}, nil)}).ActiveConnection())
	g := &generator{Rand: rand.New(rand.NewPCG(3, 4)), revision: 1}
	keys, refused := 0, 0
	for i := range 1500 {
		if i%3 != 0 {
			put := &pb.PutRequest{Key: g.key(), Value: g.value()}
			for _, client := range []pb.KVClient{etcd, null} {
				r, err := client.Put(ctx, put)
				if err == nil {
					g.revision = r.Header.Revision
				}
			}
			continue
		}
		r := g.get()
		if r.SortTarget != pb.RangeRequest_KEY && r.SortOrder == pb.RangeRequest_NONE {
			// Without a sort order, etcd sorts each part separately.
			r.SortTarget = pb.RangeRequest_KEY
		}
		want, wantErr := streamed(ctx, etcd, r)
		got, gotErr := streamed(ctx, null, r)
		if fmt.Sprint(wantErr) != fmt.Sprint(gotErr) {
			t.Fatalf("request %d, %v:\netcd %v\nnull %v", i, r, wantErr, gotErr)
		}
		if wantErr != nil {
			refused++
			continue
		}
		keys += len(want.Kvs)
		if diff := cmp.Diff(want, got, protocmp.Transform(),
			protocmp.IgnoreFields(&pb.ResponseHeader{}, "cluster_id", "member_id", "raft_term")); diff != "" {
			t.Fatalf("request %d, %v: etcd -, null +\n%s", i, r, diff)
		}
	}
	if keys == 0 || refused == 0 {
		t.Errorf("%d keys were read and %d ranges were refused, want more than 0 of each", keys, refused)
	}
}
