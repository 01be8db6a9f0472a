package nullserver

import (
	"bytes"
	"cmp"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/quorumbench/quorumbench/internal/store/null"
)

// shards returns all shards that a transaction may read or write.
func (m *memory) shards(t *pb.TxnRequest) (set null.Shards) {
	for _, c := range t.Compare {
		set |= m.shardsOf(c.Key, c.RangeEnd)
	}
	for _, ops := range [2][]*pb.RequestOp{t.Success, t.Failure} {
		for _, op := range ops {
			get, put, remove := op.GetRequestRange(), op.GetRequestPut(), op.GetRequestDeleteRange()
			switch {
			case get != nil:
				set |= m.shardsOf(get.Key, get.RangeEnd)
			case put != nil:
				set |= m.ShardSet(put.Key)
			case remove != nil:
				set |= m.shardsOf(remove.Key, remove.RangeEnd)
			}
		}
	}
	return set
}

func (m *memory) txn(t *pb.TxnRequest, wrong null.Kind) (*pb.TxnResponse, error) {
	set := m.lockToWrite(m.shards(t))
	defer m.Unlock(set)
	r := &pb.TxnResponse{Succeeded: m.allHold(t.Compare) || wrong == null.LieCAS}
	ops := t.Failure
	if r.Succeeded {
		ops = t.Success
	}
	for _, op := range ops { // if one operation is invalid, the whole transaction fails
		var err error
		if get, put := op.GetRequestRange(), op.GetRequestPut(); get != nil {
			err = checkRevision(get, m.Revision())
		} else if put != nil {
			err = m.mayPut(put)
		}
		if err != nil {
			return nil, err
		}
	}
	w := writes{memory: m}
	for _, op := range ops {
		r.Responses = append(r.Responses, w.execute(op, wrong))
	}
	r.Header = w.header()
	r.Header.Revision = null.ResponseRevision(r.Header.Revision, wrong)
	return r, nil
}

// writes is a set of changes that are made under the same locks and that share one revision.
type writes struct {
	*memory
	revision int64 // 0 until the first change
}

// next returns the revision of the changes. The first call allocates the revision.
func (w *writes) next() int64 {
	if w.revision == 0 {
		w.revision = w.NextRevision()
	}
	return w.revision
}

// header returns a response header that contains only the revision. It is the revision of the
// changes, or the present revision if nothing was changed.
func (w *writes) header() *pb.ResponseHeader {
	if w.revision != 0 {
		return &pb.ResponseHeader{Revision: w.revision}
	}
	return &pb.ResponseHeader{Revision: w.Revision()}
}

// execute executes one operation of a transaction.
func (w *writes) execute(op *pb.RequestOp, wrong null.Kind) *pb.ResponseOp {
	switch op := op.Request.(type) {
	case *pb.RequestOp_RequestRange:
		return rangeOp(w.get(op.RequestRange, wrong))
	case *pb.RequestOp_RequestPut:
		switch wrong {
		case null.LieLost:
			w.next()
			return putOp(&pb.PutResponse{Header: w.header()})
		case null.LieTwice:
			defer func() { w.write(w.Entry(op.RequestPut.Key), op.RequestPut, w.NextRevision()) }()
		}
		return putOp(w.put(op.RequestPut))
	case *pb.RequestOp_RequestDeleteRange:
		if wrong == null.LieLost {
			w.next()
			return deleteOp(&pb.DeleteRangeResponse{Header: w.header(), Deleted: int64(len(w.entriesAt(nil, op.RequestDeleteRange.Key, op.RequestDeleteRange.RangeEnd)))})
		}
		return deleteOp(w.delete(op.RequestDeleteRange))
	}
	return &pb.ResponseOp{}
}

func rangeOp(r *pb.RangeResponse) *pb.ResponseOp {
	return &pb.ResponseOp{Response: &pb.ResponseOp_ResponseRange{ResponseRange: r}}
}

func putOp(r *pb.PutResponse) *pb.ResponseOp {
	return &pb.ResponseOp{Response: &pb.ResponseOp_ResponsePut{ResponsePut: r}}
}

func deleteOp(r *pb.DeleteRangeResponse) *pb.ResponseOp {
	return &pb.ResponseOp{Response: &pb.ResponseOp_ResponseDeleteRange{ResponseDeleteRange: r}}
}

func (w *writes) get(g *pb.RangeRequest, wrong null.Kind) *pb.RangeResponse {
	found, count, more := w.find(nil, g, false)
	if wrong == null.LieAbsent {
		found, count, more = nil, 0, false
	}
	r := &pb.RangeResponse{Header: w.header(), Count: int64(count), More: more}
	for _, e := range found {
		kv := keyValue(e)
		if g.KeysOnly {
			kv.Value = nil
		}
		kv.Key, kv.Value = damage(kv.Key, kv.Value, wrong)
		r.Kvs = append(r.Kvs, kv)
	}
	return r
}

func (w *writes) put(p *pb.PutRequest) *pb.PutResponse {
	revision, e := w.next(), w.Entry(p.Key)
	r := &pb.PutResponse{Header: w.header()}
	if p.PrevKv && e.Version > 0 {
		r.PrevKv = keyValue(e)
	}
	w.write(e, p, revision)
	return r
}

func (w *writes) delete(d *pb.DeleteRangeRequest) *pb.DeleteRangeResponse {
	found := w.entriesAt(nil, d.Key, d.RangeEnd)
	r := &pb.DeleteRangeResponse{Deleted: int64(len(found))}
	for _, e := range found {
		prev := keyValue(e)
		if d.PrevKv {
			r.PrevKvs = append(r.PrevKvs, prev)
		}
		revision := w.next()
		if w.Remove(e); w.hub.hasWatchers() {
			w.hub.removed(prev, revision)
		}
	}
	r.Header = w.header()
	return r
}

// allHold reports whether all comparisons hold. As in etcd, a key that does not exist is compared
// as if all its numbers were 0, and its value is not equal to any value. A comparison for an
// interval holds if it holds for all keys in the interval.
func (m *memory) allHold(compares []*pb.Compare) bool {
	for _, c := range compares {
		found := m.entriesAt(nil, c.Key, c.RangeEnd)
		if len(found) == 0 && (c.Target == pb.Compare_VALUE || !holds(c, &entry{})) {
			return false
		}
		for _, e := range found {
			if !holds(c, e) {
				return false
			}
		}
	}
	return true
}

// holds reports whether a comparison holds for one entry.
func holds(c *pb.Compare, e *entry) bool {
	var order int
	switch c.Target {
	case pb.Compare_VERSION:
		order = cmp.Compare(e.Version, c.GetVersion())
	case pb.Compare_CREATE:
		order = cmp.Compare(e.Created, c.GetCreateRevision())
	case pb.Compare_MOD:
		order = cmp.Compare(e.Changed, c.GetModRevision())
	case pb.Compare_VALUE:
		order = bytes.Compare(e.Value, c.GetValue())
	case pb.Compare_LEASE:
		order = cmp.Compare(e.Data.lease, c.GetLease())
	}
	switch c.Result {
	case pb.Compare_EQUAL:
		return order == 0
	case pb.Compare_GREATER:
		return order > 0
	case pb.Compare_LESS:
		return order < 0
	case pb.Compare_NOT_EQUAL:
		return order != 0
	}
	return true
}
