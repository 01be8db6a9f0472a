package nullserver

import "slices"

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
	entry
	until int64 // when the entry was written last
}

// keep remembers an entry that is about to be written. Of one that is removed,
// and of one that was removed, nothing is kept.
func (p *past) keep(e *entry) {
	now := p.now()
	if e.old == nil || now-e.old.until > p.lag {
		was := &before{entry: *e}
		was.value, was.old = slices.Clone(e.value), nil
		e.old = was
	}
	e.old.until = now
}

// view is what a member that lags has of an entry; nil if it does not have it.
func (p *past) view(e *entry) *entry {
	switch {
	case e.old == nil || p.now()-e.old.until > p.lag:
		return e
	case e.old.version == 0:
		return nil
	}
	return &e.old.entry
}

// lagging reports whether a request is answered by a member that lags.
func (m *memory) lagging(id *identity, r *rangeRequest) bool {
	return m.past != nil && r.local && id.member != MemberID(1)
}

// seen is the entries of an interval as a member that lags has them.
func (p *past) seen(found []*entry) []*entry {
	out := make([]*entry, 0, len(found))
	for _, e := range found {
		if v := p.view(e); v != nil {
			out = append(out, v)
		}
	}
	return out
}
