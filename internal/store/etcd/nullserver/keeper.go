package nullserver

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/quorumbench/quorumbench/internal/store/etcd/message"
	"github.com/quorumbench/quorumbench/internal/store/null"
)

// cannedBackend is a storage backend that stores nothing and is very cheap. Every key exists, and
// all keys have the same value.
type cannedBackend struct{ value []byte }

// cannedRevision is the revision of every key and every write.
const cannedRevision = 2

// Revision implements keeper.
func (c *cannedBackend) Revision() int64 { return cannedRevision }

func (c *cannedBackend) appendRange(b []byte, id *identity, r *pb.RangeRequest, wrong null.Kind) ([]byte, error) {
	b = id.appendHeader(b, cannedRevision)
	if !r.CountOnly {
		b = appendKV(b, r.Key, c.valueFor(r), revisions{cannedRevision, cannedRevision, 1}, wrong)
	}
	return appendUint(b, message.RangeCountTag, 1), nil
}

func (c *cannedBackend) valueFor(r *pb.RangeRequest) []byte {
	if r.KeysOnly {
		return nil
	}
	return c.value
}

func (c *cannedBackend) appendPut(b []byte, id *identity, _ *pb.PutRequest, _ null.Kind) ([]byte, error) {
	return id.appendHeader(b, cannedRevision), nil
}

func (c *cannedBackend) delete(*pb.DeleteRangeRequest) (*pb.DeleteRangeResponse, error) {
	return &pb.DeleteRangeResponse{Header: &pb.ResponseHeader{Revision: cannedRevision}, Deleted: 1}, nil
}

// txn returns the response to a transaction whose comparisons all hold.
func (c *cannedBackend) txn(t *pb.TxnRequest, wrong null.Kind) (*pb.TxnResponse, error) {
	header := &pb.ResponseHeader{Revision: cannedRevision}
	r := &pb.TxnResponse{Header: &pb.ResponseHeader{Revision: cannedRevision}, Succeeded: true}
	for _, op := range t.Success {
		answer := &pb.ResponseOp{}
		switch op := op.Request.(type) {
		case *pb.RequestOp_RequestRange:
			found := &pb.RangeResponse{Header: header, Count: 1}
			if !op.RequestRange.CountOnly {
				key, value := damage(op.RequestRange.Key, c.valueFor(op.RequestRange), wrong)
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

// newMemory returns an empty memory with the revision of an empty etcd cluster. If `lag` is not 0,
// a local read from any member except the first does not see a write until `lag` has passed since
// the write.
func newMemory(h *hub, lag time.Duration, now func() int64) *memory {
	m := &memory{Space: null.NewSpace[entryData](null.MaxShards, 1), hub: h}
	if lag > 0 {
		m.past = &lagTracker{now: now, lag: int64(lag)}
	}
	return m
}

// shardsOf returns the shards that contain the key or, if end is not empty, the interval.
func (m *memory) shardsOf(key, end []byte) null.Shards {
	if len(end) > 0 {
		return m.AllShards()
	}
	return m.ShardSet(key)
}

func (m *memory) appendRange(b []byte, id *identity, r *pb.RangeRequest, wrong null.Kind) ([]byte, error) {
	set := m.shardsOf(r.Key, r.RangeEnd)
	m.Lock(set)
	defer m.Unlock(set)
	revision := m.Revision()
	if err := checkRevision(r, revision); err != nil {
		return b, err
	}
	var one [1]*entry
	found, count, more := m.find(one[:0], r, m.isLaggingRead(id, r))
	b = id.appendHeader(b, null.ResponseRevision(revision, wrong))
	if wrong == null.LieAbsent {
		return b, nil
	}
	for _, e := range found {
		value := e.Value
		if r.KeysOnly {
			value = nil
		}
		b = appendKV(b, e.Key, value, revisions{e.Created, e.Changed, e.Version}, wrong)
	}
	if more {
		b = appendUint(b, message.RangeMoreTag, 1)
	}
	return appendUint(b, message.RangeCountTag, uint64(count)), nil
}

// checkRevision returns an error if a request is for a revision other than the present one.
func checkRevision(r *pb.RangeRequest, revision int64) error {
	switch {
	case r.Revision > revision:
		return rpctypes.ErrGRPCFutureRev
	case r.Revision > 0 && r.Revision < revision:
		return rpctypes.ErrGRPCCompacted
	}
	return nil
}

// entriesAt returns the entries in the interval from key to end. If end is empty, only the entry of
// the single key is wanted; entriesAt then appends this entry to `buffer` and returns the result.
// As in etcd, an end that is a single zero byte means "no end". The caller of this function, and of
// the functions below, must hold the shards' locks.
func (m *memory) entriesAt(buffer []*entry, key, end []byte) []*entry {
	switch {
	case len(end) == 1 && end[0] == 0:
		return m.Interval(key, nil)
	case len(end) > 0:
		return m.Interval(key, end)
	}
	if e := m.Get(key); e != nil {
		buffer = append(buffer, e)
	}
	return buffer
}

// find returns the entries for a reply, the number of keys that match the request, and whether
// the limit excludes some of them.
func (m *memory) find(buffer []*entry, r *pb.RangeRequest, isLagging bool) (found []*entry, count int, more bool) {
	found = m.entriesAt(buffer, r.Key, r.RangeEnd)
	if isLagging {
		found = m.past.laggingEntries(found)
	}
	if count = len(found); r.CountOnly {
		return nil, count, false
	}
	if reordered(r) {
		found = sorted(r, found)
	}
	if filtered(r) {
		found = slices.DeleteFunc(slices.Clone(found), func(e *entry) bool { return !matches(r, e) })
	}
	if r.Limit > 0 && int64(len(found)) > r.Limit {
		found, more = found[:r.Limit], true
	}
	return found, count, more
}

// filtered reports whether a request restricts the revisions of the keys.
func filtered(r *pb.RangeRequest) bool {
	return r.MinModRevision != 0 || r.MaxModRevision != 0 || r.MinCreateRevision != 0 || r.MaxCreateRevision != 0
}

// matches reports whether an entry's revisions are within the request's limits.
func matches(r *pb.RangeRequest, e *entry) bool {
	return (r.MinModRevision == 0 || e.Changed >= r.MinModRevision) && (r.MaxModRevision == 0 || e.Changed <= r.MaxModRevision) &&
		(r.MinCreateRevision == 0 || e.Created >= r.MinCreateRevision) && (r.MaxCreateRevision == 0 || e.Created <= r.MaxCreateRevision)
}

// reordered reports whether the keys in the reply are in an order other than ascending. As in
// etcd, a sort target without a sort order means ascending order.
func reordered(r *pb.RangeRequest) bool {
	return r.SortTarget != pb.RangeRequest_KEY || r.SortOrder == pb.RangeRequest_DESCEND
}

func sorted(r *pb.RangeRequest, found []*entry) []*entry {
	found = slices.Clone(found)
	if r.SortOrder == pb.RangeRequest_NONE && r.Limit > 0 && !filtered(r) {
		// Without a sort order, etcd sorts only the entries that it has read in key order. It reads
		// one more entry than the limit, to find out whether there are more.
		found = found[:min(int64(len(found)), r.Limit+1)]
	}
	slices.SortStableFunc(found, func(a, b *entry) (c int) {
		switch r.SortTarget {
		case pb.RangeRequest_KEY:
			c = strings.Compare(a.Key, b.Key)
		case pb.RangeRequest_VERSION:
			c = cmp.Compare(a.Version, b.Version)
		case pb.RangeRequest_CREATE:
			c = cmp.Compare(a.Created, b.Created)
		case pb.RangeRequest_MOD:
			c = cmp.Compare(a.Changed, b.Changed)
		default:
			c = bytes.Compare(a.Value, b.Value)
		}
		if r.SortOrder == pb.RangeRequest_DESCEND {
			c = -c
		}
		return c
	})
	return found
}

// lockToWrite prepares a write to the shards in `set`. It locks these shards or, if a client
// watches several keys, all shards. It returns the shards that it locked.
func (m *memory) lockToWrite(set null.Shards) null.Shards {
	for wide := m.hub.ordersAllEvents(); ; wide = true {
		if wide {
			set = m.AllShards()
		}
		if m.Lock(set); wide || !m.hub.ordersAllEvents() {
			return set
		}
		m.Unlock(set) // a client has started to watch several keys in the meantime
	}
}

func (m *memory) appendPut(b []byte, id *identity, p *pb.PutRequest, wrong null.Kind) ([]byte, error) {
	set := m.lockToWrite(m.ShardSet(p.Key))
	defer m.Unlock(set)
	if err := m.mayPut(p); err != nil {
		return b, err
	}
	revision := m.NextRevision()
	b = id.appendHeader(b, null.ResponseRevision(revision, wrong))
	if wrong == null.LieLost {
		return b, nil
	}
	e := m.Entry(p.Key)
	if p.PrevKv && e.Version > 0 {
		b = appendKV(b, e.Key, e.Value, revisions{e.Created, e.Changed, e.Version}, null.CorrectResponse)
	}
	m.write(e, p, revision)
	if wrong == null.LieTwice {
		m.write(e, p, m.NextRevision())
	}
	return b, nil
}

// mayPut returns an error if a put uses an unknown lease, or if a put must keep the value or lease
// of a key that does not exist.
func (m *memory) mayPut(p *pb.PutRequest) error {
	switch {
	case p.Lease != 0 && (m.hub == nil || m.hub.lease.secondsOf(p.Lease) == 0):
		return rpctypes.ErrGRPCLeaseNotFound
	case (p.IgnoreValue || p.IgnoreLease) && m.Get(p.Key) == nil:
		return rpctypes.ErrGRPCKeyNotFound
	}
	return nil
}

// write stores the value of a put in an entry.
func (m *memory) write(e *entry, p *pb.PutRequest, revision int64) {
	if m.past != nil {
		m.past.keep(e)
	}
	value := p.Value
	if p.IgnoreValue {
		value = e.Value
	}
	if !p.IgnoreLease && p.Lease != e.Data.lease {
		if e.Data.lease = p.Lease; p.Lease != 0 {
			m.hub.lease.bind(p.Lease, e.Key)
		}
	}
	if !m.hub.hasWatchers() {
		e.Set(value, revision)
		return
	}
	var prev *mvccpb.KeyValue
	if e.Version > 0 && m.hub.wantsPrevious.Load() {
		prev = keyValue(e)
	}
	e.Set(value, revision)
	m.hub.written(e, prev)
}

// keyValue converts an entry to the generated type. It copies the value, so later writes do not
// change it.
func keyValue(e *entry) *mvccpb.KeyValue {
	return &mvccpb.KeyValue{
		Key: []byte(e.Key), Value: bytes.Clone(e.Value), CreateRevision: e.Created, ModRevision: e.Changed, Version: e.Version,
	}
}

func (m *memory) delete(d *pb.DeleteRangeRequest) (*pb.DeleteRangeResponse, error) {
	set := m.lockToWrite(m.shardsOf(d.Key, d.RangeEnd))
	defer m.Unlock(set)
	w := writes{memory: m}
	return w.delete(d), nil
}

// endLease ends a lease and deletes its keys.
func (m *memory) endLease(id int64) error {
	set := m.AllShards()
	m.Lock(set)
	defer m.Unlock(set)
	// Because all shards are locked, no put can bind another key to the lease.
	keys, err := m.hub.lease.revoke(id)
	w := writes{memory: m}
	for _, key := range keys {
		if e := m.Get([]byte(key)); e != nil && e.Data.lease == id {
			w.delete(&pb.DeleteRangeRequest{Key: []byte(key)})
		}
	}
	return err
}

// keep stores the present state of an entry before the entry is written, so that lagging members
// can return this state. It does not handle deletions: a lagging member sees a deletion at once.
func (p *lagTracker) keep(e *entry) {
	now, old := p.now(), e.Data.earlier
	if old == nil || now-old.until > p.lag {
		was := *e
		was.Value, was.Data.earlier = slices.Clone(e.Value), nil
		old = &earlierState{entry: &was}
		e.Data.earlier = old
	}
	old.until = now
}

// view returns an entry in the state that a lagging member has. It returns nil if the key does
// not exist on that member yet.
func (p *lagTracker) view(e *entry) *entry {
	old := e.Data.earlier
	switch {
	case old == nil || p.now()-old.until > p.lag:
		return e
	case old.entry.Version == 0:
		return nil
	}
	return old.entry
}

// isLaggingRead reports whether the request is a local read that a lagging member serves.
func (m *memory) isLaggingRead(id *identity, r *pb.RangeRequest) bool {
	return m.past != nil && r.Serializable && id.member != memberID(1)
}

// laggingEntries returns the entries in the state that a lagging member has.
func (p *lagTracker) laggingEntries(found []*entry) []*entry {
	out := make([]*entry, 0, len(found))
	for _, e := range found {
		if v := p.view(e); v != nil {
			out = append(out, v)
		}
	}
	return out
}
