package nullserver

import (
	"bytes"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
)

// The functions in this file check requests. They make the same checks in the same order as etcd in
// api/v3rpc/key.go.

// maxTxnOps is etcd's default limit for the number of comparisons in a transaction, and for the
// number of operations in each branch.
const maxTxnOps = 128

func checkRange(r *pb.RangeRequest) error {
	switch {
	case len(r.Key) == 0:
		return rpctypes.ErrGRPCEmptyKey
	case r.SortOrder < 0 || r.SortOrder > pb.RangeRequest_DESCEND || r.SortTarget < 0 || r.SortTarget > pb.RangeRequest_VALUE:
		return rpctypes.ErrGRPCInvalidSortOption
	}
	return nil
}

func checkPut(p *pb.PutRequest) error {
	switch {
	case len(p.Key) == 0:
		return rpctypes.ErrGRPCEmptyKey
	case p.IgnoreValue && len(p.Value) != 0:
		return rpctypes.ErrGRPCValueProvided
	case p.IgnoreLease && p.Lease != 0:
		return rpctypes.ErrGRPCLeaseProvided
	}
	return nil
}

func checkDelete(d *pb.DeleteRangeRequest) error {
	if len(d.Key) == 0 {
		return rpctypes.ErrGRPCEmptyKey
	}
	return nil
}

func checkTxn(t *pb.TxnRequest) error {
	if max(len(t.Compare), len(t.Success), len(t.Failure)) > maxTxnOps {
		return rpctypes.ErrGRPCTooManyOps
	}
	for _, c := range t.Compare {
		if len(c.Key) == 0 {
			return rpctypes.ErrGRPCEmptyKey
		}
	}
	for _, ops := range [2][]*pb.RequestOp{t.Success, t.Failure} {
		for _, op := range ops {
			if err := checkOp(op); err != nil {
				return err
			}
		}
	}
	if hasOverlap(t.Success) || hasOverlap(t.Failure) {
		return rpctypes.ErrGRPCDuplicateKey
	}
	return nil
}

func checkOp(op *pb.RequestOp) error {
	switch op := op.Request.(type) {
	case *pb.RequestOp_RequestRange:
		return checkRange(op.RequestRange)
	case *pb.RequestOp_RequestPut:
		return checkPut(op.RequestPut)
	case *pb.RequestOp_RequestDeleteRange:
		return checkDelete(op.RequestDeleteRange)
	case *pb.RequestOp_RequestTxn:
		return errNestedTxn
	}
	return rpctypes.ErrGRPCKeyNotFound // the operation is empty
}

// hasOverlap reports whether the operations put a key twice, or put a key and also delete it.
func hasOverlap(ops []*pb.RequestOp) bool {
	for i, op := range ops {
		put := op.GetRequestPut()
		if put == nil {
			continue
		}
		for j, other := range ops {
			again, remove := other.GetRequestPut(), other.GetRequestDeleteRange()
			if j > i && again != nil && bytes.Equal(put.Key, again.Key) || remove != nil && deletesKey(put.Key, remove) {
				return true
			}
		}
	}
	return false
}

// deletesKey reports whether the request d deletes the key. Elsewhere, etcd interprets an end that
// is a single zero byte as "no end". In this check, etcd does not do so.
func deletesKey(key []byte, d *pb.DeleteRangeRequest) bool {
	if len(d.RangeEnd) == 0 {
		return bytes.Equal(key, d.Key)
	}
	return bytes.Compare(key, d.Key) >= 0 && bytes.Compare(key, d.RangeEnd) < 0
}
