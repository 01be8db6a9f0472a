package nullserver

import (
	"slices"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
)

// past is what members that lag have. A key that is written again while they
// have not seen the write before it stays as it was before that one, so that
// they never have a write and lack an earlier one: they may be further behind
// than they are said to be, and never less.
type past struct {
	now func() int64
	lag int64 // nanoseconds
}

// before is an entry as it was before a write.
type before struct {
	entry *entry
	until int64 // when the entry was written last
}

// keep remembers an entry that is about to be written. Of one that is removed,
// and of one that was removed, nothing is kept.
func (p *past) keep(e *entry) {
	now, old := p.now(), e.With.old
	if old == nil || now-old.until > p.lag {
		was := *e
		was.Value, was.With.old = slices.Clone(e.Value), nil
		old = &before{entry: &was}
		e.With.old = old
	}
	old.until = now
}

// view is what a member that lags has of an entry; nil if it does not have it.
func (p *past) view(e *entry) *entry {
	old := e.With.old
	switch {
	case old == nil || p.now()-old.until > p.lag:
		return e
	case old.entry.Version == 0:
		return nil
	}
	return old.entry
}

// lagging reports whether a request is answered by a member that lags.
func (m *memory) lagging(id *identity, r *pb.RangeRequest) bool {
	return m.past != nil && r.Serializable && id.member != MemberID(1)
}

// seen is entries as a member that lags has them.
func (p *past) seen(found []*entry) []*entry {
	out := make([]*entry, 0, len(found))
	for _, e := range found {
		if v := p.view(e); v != nil {
			out = append(out, v)
		}
	}
	return out
}
