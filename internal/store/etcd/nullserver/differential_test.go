package nullserver

import (
	"bytes"
	cmps "cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testing/servers/embedded"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// TestRepliesEqualEtcds sends the same requests to etcd and to the null server. It compares all
// fields of the responses except those that identify the member.
func TestRepliesEqualEtcds(t *testing.T) {
	if testing.Short() {
		t.Skip("starts an etcd")
	}
	ctx := background(t)
	etcd := pb.NewKVClient(official(t, clientv3.Config{Endpoints: []string{embedded.Etcd(t)}}).ActiveConnection())
	null := pb.NewKVClient(official(t, clientv3.Config{Endpoints: start(t, 1, store.NullOptions{Memory: true}, nil)}).ActiveConnection())
	g := &generator{Rand: rand.New(rand.NewPCG(1, 2)), revision: 1}
	var requests []proto.Message
	for _, key := range []string{"z", "b", "a"} {
		requests = append(requests, &pb.PutRequest{Key: []byte(key)})
	}
	requests = append(requests, &pb.RangeRequest{ // checks a limit together with a sort target but without a sort order
		Key: []byte("a"), RangeEnd: []byte{0}, Limit: 1, SortTarget: pb.RangeRequest_CREATE,
	})
	count := 800
	if settle.Long() {
		count = 3000
	}
	for i := range count {
		var request proto.Message
		if i < len(requests) {
			request = requests[i]
		} else {
			request = g.request()
		}
		want, wantErr := sendRequest(ctx, etcd, request)
		got, gotErr := sendRequest(ctx, null, request)
		if fmt.Sprint(wantErr) != fmt.Sprint(gotErr) {
			t.Fatalf("request %d, %T{%v}:\netcd %v\nnull %v", i, request, request, wantErr, gotErr)
		}
		untie(t, request, want)
		untie(t, request, got)
		if diff := cmp.Diff(want, got, protocmp.Transform(),
			protocmp.IgnoreFields(&pb.ResponseHeader{}, "cluster_id", "member_id", "raft_term")); wantErr == nil && diff != "" {
			t.Fatalf("request %d, %T{%v}: etcd -, null +\n%s", i, request, request, diff)
		}
		if r, ok := want.(interface{ GetHeader() *pb.ResponseHeader }); ok && wantErr == nil {
			g.revision = r.GetHeader().Revision
		}
	}
}

// untie checks that the keys in a response are in the requested order. It then sorts keys with
// equal sort values by name, because etcd does not define their order.
func untie(t *testing.T, request, answer proto.Message) {
	t.Helper()
	r, ok := request.(*pb.RangeRequest)
	if !ok || r.SortTarget == pb.RangeRequest_KEY {
		return
	}
	kvs := answer.(*pb.RangeResponse).GetKvs()
	by := func(a, b *mvccpb.KeyValue) (c int) {
		switch r.SortTarget {
		case pb.RangeRequest_VERSION:
			c = cmps.Compare(a.Version, b.Version)
		case pb.RangeRequest_CREATE:
			c = cmps.Compare(a.CreateRevision, b.CreateRevision)
		case pb.RangeRequest_MOD:
			c = cmps.Compare(a.ModRevision, b.ModRevision)
		case pb.RangeRequest_VALUE:
			if !r.KeysOnly { // otherwise the response contains no values
				c = bytes.Compare(a.Value, b.Value)
			}
		}
		if r.SortOrder == pb.RangeRequest_DESCEND {
			c = -c
		}
		return c
	}
	if !slices.IsSortedFunc(kvs, by) {
		t.Errorf("the response to %v has the keys in the order %v", r, kvs)
	}
	slices.SortFunc(kvs, func(a, b *mvccpb.KeyValue) int { return cmps.Or(by(a, b), bytes.Compare(a.Key, b.Key)) })
}

func sendRequest(ctx context.Context, kv pb.KVClient, request proto.Message) (proto.Message, error) {
	switch r := request.(type) {
	case *pb.RangeRequest:
		return kv.Range(ctx, r)
	case *pb.PutRequest:
		return kv.Put(ctx, r)
	case *pb.DeleteRangeRequest:
		return kv.DeleteRange(ctx, r)
	}
	return kv.Txn(ctx, request.(*pb.TxnRequest))
}

// generator generates random requests, most of which are valid.
type generator struct {
	*rand.Rand
	revision int64
}

// oneIn returns true with a probability of 1/n.
func (g *generator) oneIn(n int) bool { return g.IntN(n) == 0 }

func (g *generator) key() []byte {
	if g.oneIn(60) {
		return nil
	}
	b := make([]byte, 1+g.IntN(2))
	for i := range b {
		b[i] = "\x00ab\xff"[g.IntN(4)]
	}
	return b
}

func (g *generator) end() []byte {
	switch g.IntN(6) {
	case 0:
		return []byte{0}
	case 1, 2:
		return g.key()
	}
	return nil
}

func (g *generator) value() []byte {
	if g.oneIn(5) {
		return nil
	}
	return fmt.Append(nil, g.IntN(20))
}

func (g *generator) request() proto.Message {
	switch n := g.IntN(10); {
	case n < 3:
		return g.put()
	case n < 6:
		return g.get()
	case n < 7:
		return g.delete()
	}
	return g.txn()
}

func (g *generator) put() *pb.PutRequest {
	p := &pb.PutRequest{Key: g.key(), Value: g.value(), PrevKv: g.oneIn(3), IgnoreValue: g.oneIn(10), IgnoreLease: g.oneIn(20)}
	if p.IgnoreValue && !g.oneIn(4) {
		p.Value = nil
	}
	if g.oneIn(40) {
		p.Lease = 7
	}
	return p
}

func (g *generator) get() *pb.RangeRequest {
	r := &pb.RangeRequest{
		Key: g.key(), RangeEnd: g.end(), Limit: int64(max(0, g.IntN(8)-4)), Serializable: g.oneIn(2),
		KeysOnly: g.oneIn(5), CountOnly: g.oneIn(8),
	}
	if g.oneIn(10) {
		r.Revision = g.revision + int64(g.IntN(2))
	}
	if g.oneIn(3) {
		r.SortOrder = pb.RangeRequest_SortOrder(g.IntN(3))
		r.SortTarget = pb.RangeRequest_SortTarget(g.IntN(5))
		if r.SortTarget != pb.RangeRequest_KEY {
			// The order of keys with equal sort values is undefined (see untie), so etcd and the
			// null server could return different keys if there were a limit.
			r.Limit = 0
		}
	}
	if g.oneIn(100) {
		r.SortTarget = 9
	}
	for _, bound := range []*int64{&r.MinModRevision, &r.MaxModRevision, &r.MinCreateRevision, &r.MaxCreateRevision} {
		if g.oneIn(12) {
			*bound = g.Int64N(g.revision + 2)
		}
	}
	return r
}

func (g *generator) delete() *pb.DeleteRangeRequest {
	d := &pb.DeleteRangeRequest{Key: g.key(), PrevKv: g.oneIn(3)}
	if g.oneIn(4) {
		d.RangeEnd = g.end()
	}
	return d
}

func (g *generator) txn() *pb.TxnRequest {
	t := &pb.TxnRequest{}
	for range g.IntN(3) {
		t.Compare = append(t.Compare, g.compare())
	}
	for range g.IntN(4) {
		t.Success = append(t.Success, g.op())
	}
	for range g.IntN(3) {
		t.Failure = append(t.Failure, g.op())
	}
	if g.oneIn(200) {
		for range maxTxnOps + 1 {
			t.Success = append(t.Success, g.op())
		}
	}
	return t
}

func (g *generator) op() *pb.RequestOp {
	switch g.IntN(8) {
	case 0, 1, 2:
		return &pb.RequestOp{Request: &pb.RequestOp_RequestPut{RequestPut: g.put()}}
	case 3, 4, 5:
		r := g.get()
		r.Revision = 0   // etcd panics if, in a transaction, a write precedes a read at an unavailable revision
		r.SortTarget = 0 // untie does not check ranges in transactions
		return &pb.RequestOp{Request: &pb.RequestOp_RequestRange{RequestRange: r}}
	case 6:
		return &pb.RequestOp{Request: &pb.RequestOp_RequestDeleteRange{RequestDeleteRange: g.delete()}}
	}
	return &pb.RequestOp{}
}

func (g *generator) compare() *pb.Compare {
	c := &pb.Compare{
		Key: g.key(), Result: pb.Compare_CompareResult(g.IntN(4)), Target: pb.Compare_CompareTarget(g.IntN(5)),
	}
	if g.oneIn(4) {
		c.RangeEnd = g.end()
	}
	switch c.Target {
	case pb.Compare_VERSION:
		c.TargetUnion = &pb.Compare_Version{Version: g.Int64N(4)}
	case pb.Compare_CREATE:
		c.TargetUnion = &pb.Compare_CreateRevision{CreateRevision: g.Int64N(g.revision + 1)}
	case pb.Compare_MOD:
		c.TargetUnion = &pb.Compare_ModRevision{ModRevision: g.Int64N(g.revision + 1)}
	case pb.Compare_VALUE:
		c.TargetUnion = &pb.Compare_Value{Value: g.value()}
	case pb.Compare_LEASE:
		c.TargetUnion = &pb.Compare_Lease{Lease: g.Int64N(2)}
	}
	return c
}
