package nullserver

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/quorumbench/quorumbench/internal/store/null"
)

func (m *memory) currentRevision() int64 { return m.revision.Load() }

func (m *memory) appendRange(b []byte, id *identity, r *rangeRequest, wrong null.Kind) ([]byte, *status) {
	set := m.shardsOf(r.key, r.end)
	m.lock(set)
	defer m.unlock(set)
	revision := m.revision.Load()
	if err := checkRevision(r, revision); err != nil {
		return b, err
	}
	b = id.appendHeader(b, revision)
	r.lags = m.lagging(id, r)
	return m.appendFound(b, r, wrong), nil
}

// checkRevision refuses what only older versions could answer.
func checkRevision(r *rangeRequest, revision int64) *status {
	switch {
	case r.revision > revision:
		return errFutureRev
	case r.revision > 0 && r.revision < revision:
		return errCompacted
	}
	return nil
}

// appendFound appends a RangeResponse without its header. The caller holds the
// locks, here and in what follows.
func (m *memory) appendFound(b []byte, r *rangeRequest, wrong null.Kind) []byte {
	if len(r.end) > 0 {
		return m.appendInterval(b, r, wrong)
	}
	e := m.get(r.key)
	if e != nil && r.lags {
		e = m.past.view(e)
	}
	if e == nil {
		return b
	}
	if !r.countOnly && r.matches(e) {
		b = appendEntry(b, 2, e, r.keysOnly, wrong)
	}
	return appendUint(b, 4, 1)
}

func appendEntry(b []byte, field protowire.Number, e *entry, keysOnly bool, wrong null.Kind) []byte {
	value := e.value
	if keysOnly {
		value = nil
	}
	return appendKV(b, field, e.key, value, e.create, e.mod, e.version, wrong)
}

func (m *memory) appendInterval(b []byte, r *rangeRequest, wrong null.Kind) []byte {
	found := m.interval(r.key, r.end)
	if r.lags {
		found = m.past.seen(found)
	}
	count := len(found)
	if m.removed > 0 {
		count = 0
		for _, e := range found {
			if !e.removed {
				count++
			}
		}
	}
	if r.reordered() {
		found = r.sorted(found)
	}
	more := false
	taken := int64(0)
	for _, e := range found {
		if r.countOnly || e.removed || !r.matches(e) {
			continue
		}
		if r.limit > 0 && taken == r.limit {
			more = true
			break
		}
		taken++
		b = appendEntry(b, 2, e, r.keysOnly, wrong)
	}
	if more {
		b = appendUint(b, 3, 1)
	}
	return appendUint(b, 4, uint64(count))
}

// filtered reports whether the request has bounds.
func (r *rangeRequest) filtered() bool {
	return r.minMod != 0 || r.maxMod != 0 || r.minCreate != 0 || r.maxCreate != 0
}

// matches reports whether an entry is inside the request's bounds.
func (r *rangeRequest) matches(e *entry) bool {
	return (r.minMod == 0 || e.mod >= r.minMod) && (r.maxMod == 0 || e.mod <= r.maxMod) &&
		(r.minCreate == 0 || e.create >= r.minCreate) && (r.maxCreate == 0 || e.create <= r.maxCreate)
}

// The values of RangeRequest.sort_order and sort_target.
const (
	orderNone     = 0
	orderDescend  = 2
	targetKey     = 0
	targetVersion = 1
	targetCreate  = 2
	targetMod     = 3
)

// reordered reports whether the answer is in another order than the index. As
// in etcd, a target without an order is ascending.
func (r *rangeRequest) reordered() bool { return r.target != targetKey || r.order == orderDescend }

func (r *rangeRequest) sorted(found []*entry) []*entry {
	found = slices.DeleteFunc(slices.Clone(found), func(e *entry) bool { return e.removed })
	if r.order == orderNone && r.limit > 0 && !r.filtered() {
		// Without an order etcd sorts only what it took by key: up to the limit
		// and one more, by which it knows that there is more.
		found = found[:min(int64(len(found)), r.limit+1)]
	}
	slices.SortStableFunc(found, func(a, b *entry) (c int) {
		switch r.target {
		case targetKey:
			c = strings.Compare(a.key, b.key)
		case targetVersion:
			c = cmp.Compare(a.version, b.version)
		case targetCreate:
			c = cmp.Compare(a.create, b.create)
		case targetMod:
			c = cmp.Compare(a.mod, b.mod)
		default:
			c = bytes.Compare(a.value, b.value)
		}
		if r.order == orderDescend {
			c = -c
		}
		return c
	})
	return found
}

func (m *memory) appendPut(b []byte, id *identity, p *putRequest) ([]byte, *status) {
	set := m.shardsOf(p.key, nil)
	m.lock(set)
	defer m.unlock(set)
	if err := m.mayPut(p); err != nil {
		return b, err
	}
	w := writes{m: m}
	at := len(b)
	b = w.appendPut(b, p)
	return prependHeader(b, at, id, w.revision), nil
}

// mayPut refuses a write under a lease, since none can be granted here, and one
// that keeps a part of a key that is not there.
func (m *memory) mayPut(p *putRequest) *status {
	switch {
	case p.lease != 0:
		return errLeaseNotFound
	case (p.ignoreValue || p.ignoreLease) && m.get(p.key) == nil:
		return errKeyNotFound
	}
	return nil
}

func (m *memory) appendDelete(b []byte, id *identity, d *deleteRequest) ([]byte, *status) {
	set := m.shardsOf(d.key, d.end)
	m.lock(set)
	defer m.unlock(set)
	w := writes{m: m}
	at := len(b)
	b = w.appendDelete(b, d)
	return prependHeader(b, at, id, w.seen()), nil
}

// prependHeader puts a header before what was appended to b from at on.
func prependHeader(b []byte, at int, id *identity, revision int64) []byte {
	var room [headerRoom]byte
	return insert(b, at, id.appendHeader(room[:0], revision))
}

// headerRoom is more than any header takes.
const headerRoom = 64

// insert puts data into b at the given place.
func insert(b []byte, at int, data []byte) []byte {
	b = append(b, data...)
	copy(b[at+len(data):], b[at:len(b)-len(data)])
	copy(b[at:], data)
	return b
}

// writes are changes made under the same locks, which share one revision.
type writes struct {
	m        *memory
	revision int64 // 0 until something changes
}

// next is the revision of a change.
func (w *writes) next() int64 {
	if w.revision == 0 {
		w.revision = w.m.revision.Add(1)
	}
	return w.revision
}

// seen is the revision to tell: of the changes, or of the last before.
func (w *writes) seen() int64 {
	if w.revision != 0 {
		return w.revision
	}
	return w.m.revision.Load()
}

// appendPut writes a key and appends a PutResponse without its header.
func (w *writes) appendPut(b []byte, p *putRequest) []byte {
	old := w.m.get(p.key)
	if p.prevKV && old != nil {
		b = appendEntry(b, 2, old, false, null.Answer)
	}
	value := p.value
	if p.ignoreValue && old != nil {
		value = old.value
	}
	w.m.put(p.key, value, w.next())
	return b
}

// appendDelete removes keys and appends a DeleteRangeResponse without its header.
func (w *writes) appendDelete(b []byte, d *deleteRequest) []byte {
	var one [1]*entry
	found := one[:0]
	if len(d.end) > 0 {
		found = w.m.interval(d.key, d.end)
	} else if e := w.m.get(d.key); e != nil {
		found = append(found, e)
	}
	removed := 0
	for _, e := range found {
		if !e.removed {
			removed++
		}
	}
	b = appendUint(b, 2, uint64(removed))
	for _, e := range found {
		if e.removed {
			continue
		}
		if d.prevKV {
			b = appendEntry(b, 3, e, false, null.Answer)
		}
		revision := w.next()
		w.m.remove(e)
		if hub := w.m.hub; hub != nil && hub.count.Load() > 0 {
			hub.tell(e, revision, e)
		}
	}
	return b
}
