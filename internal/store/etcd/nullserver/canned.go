package nullserver

import (
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/quorumbench/quorumbench/internal/store/null"
)

// canned is a keeper that remembers nothing and costs next to nothing: every
// key exists, with one and the same value.
type canned struct{ value []byte }

// cannedRevision is that of every key and every write.
const cannedRevision = 2

// Revision implements keeper.
func (c *canned) Revision() int64 { return cannedRevision }

func (c *canned) appendRange(b []byte, id *identity, r *pb.RangeRequest, wrong null.Kind) ([]byte, error) {
	b = id.appendHeader(b, cannedRevision)
	if !r.CountOnly {
		b = appendKV(b, r.Key, c.valueFor(r), cannedRevision, cannedRevision, 1, wrong)
	}
	return appendUint(b, 4, 1), nil
}

func (c *canned) valueFor(r *pb.RangeRequest) []byte {
	if r.KeysOnly {
		return nil
	}
	return c.value
}

func (c *canned) appendPut(b []byte, id *identity, _ *pb.PutRequest) ([]byte, error) {
	return id.appendHeader(b, cannedRevision), nil
}

func (c *canned) delete(*pb.DeleteRangeRequest) (*pb.DeleteRangeResponse, error) {
	return &pb.DeleteRangeResponse{Header: &pb.ResponseHeader{Revision: cannedRevision}, Deleted: 1}, nil
}

// txn answers as if every comparison held.
func (c *canned) txn(t *pb.TxnRequest, wrong null.Kind) (*pb.TxnResponse, error) {
	header := &pb.ResponseHeader{Revision: cannedRevision}
	r := &pb.TxnResponse{Header: &pb.ResponseHeader{Revision: cannedRevision}, Succeeded: true}
	for _, op := range t.Success {
		answer := &pb.ResponseOp{}
		switch op := op.Request.(type) {
		case *pb.RequestOp_RequestRange:
			found := &pb.RangeResponse{Header: header, Count: 1}
			if !op.RequestRange.CountOnly {
				key, value := damaged(op.RequestRange.Key, c.valueFor(op.RequestRange), wrong)
				found.Kvs = []*mvccpb.KeyValue{{Key: key, Value: value, CreateRevision: cannedRevision, ModRevision: cannedRevision, Version: 1}}
			}
			answer = rangeOp(found)
		case *pb.RequestOp_RequestPut:
			answer = putOp(&pb.PutResponse{Header: header})
		case *pb.RequestOp_RequestDeleteRange:
			answer = deleteOp(&pb.DeleteRangeResponse{Header: header, Deleted: 1})
		}
		r.Responses = append(r.Responses, answer)
	}
	return r, nil
}
