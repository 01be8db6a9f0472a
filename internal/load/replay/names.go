package replay

import (
	"bytes"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
)

// names are what the store chose: of keys whose names it completed, and of leases that
// have no numbers. What it chose when it was recorded is replaced by what it chose now.
type names struct {
	keys   map[string]int32 // a recorded key's place
	makers map[string]int32 // the call that made it
	leases map[int64]int32
	texts  [][]byte // what they are called now; empty: not known yet
}

// nameRoom is how much a store adds to a name, and the length of a lease's.
const nameRoom = 64

// writtenKey is the key that a part writes.
func writtenKey(part *call.Part) []byte {
	if part.Flags&call.Sequential != 0 && len(part.End) > 0 {
		return part.End
	}
	return part.Key
}

func (p *Plan) findNames() {
	m := &p.names
	m.keys, m.makers, m.leases = map[string]int32{}, map[string]int32{}, map[int64]int32{}
	place := func(room int) int32 {
		m.texts = append(m.texts, make([]byte, 0, room+nameRoom))
		return int32(len(m.texts) - 1) // #nosec G115 -- a plan has few enough parts
	}
	for n, c := range p.calls {
		for i := range c.Parts {
			part := &c.Parts[i]
			lease := part.Lease
			if part.Action == call.Grant && lease == 0 {
				lease = c.Lease
			}
			if _, ok := m.leases[lease]; lease != 0 && !ok {
				m.leases[lease] = place(0)
			}
			if part.Flags&call.Sequential == 0 || len(part.End) == 0 {
				continue
			}
			if _, ok := m.keys[string(part.End)]; !ok {
				m.keys[string(part.End)] = place(len(p.prefix) + len(part.Key))
				m.makers[string(part.End)] = int32(n)
			}
		}
	}
}

// ofKey is what a recorded key is called now; empty: as it was.
func (m *names) ofKey(key []byte) []byte {
	if len(m.keys) == 0 {
		return nil
	}
	if at, ok := m.keys[string(key)]; ok {
		return m.texts[at]
	}
	return nil
}

// ofLease is what a recorded lease is called now.
func (m *names) ofLease(lease int64) []byte {
	if at, ok := m.leases[lease]; ok && lease != 0 {
		return m.texts[at]
	}
	return nil
}

// granted takes the name of a lease.
func (m *names) granted(lease int64, name []byte) {
	if at, ok := m.leases[lease]; ok {
		m.texts[at] = append(m.texts[at][:0], name...)
	}
}

// named takes the names that an answer tells.
func (s *source) named(c *call.Call, ev *store.Event) {
	if len(s.names.texts) == 0 {
		return
	}
	for i := range c.Parts {
		part := &c.Parts[i]
		switch {
		case part.Action == call.Grant && part.Lease == 0:
			s.names.granted(c.Lease, ev.Value)
		case part.Action == call.Grant:
			s.names.granted(part.Lease, ev.Value)
		case part.Flags&call.Sequential != 0 && len(part.End) > 0 && len(ev.Key) > 0:
			at := s.names.keys[string(part.End)]
			prefix := s.prefix
			if len(prefix) > 0 && prefix[0] == '/' {
				prefix = prefix[1:]
			}
			name := bytes.TrimPrefix(ev.Key, slash)
			if len(name) > len(prefix) && string(name[:len(prefix)]) == prefix {
				s.names.texts[at] = append(s.names.texts[at][:0], name[len(prefix):]...)
			}
		}
	}
}

// named has the call wait for the one that made a key whose name the store completed.
func (f *finder) named(key []byte) {
	if by, ok := f.plan.names.makers[string(key)]; ok {
		f.add(by)
	}
}
