package replay

import (
	"github.com/quorumbench/quorumbench/internal/store/call"
)

func (p *Plan) findNames() {
	m := &p.names
	m.keys, m.creators, m.leases = map[string]int32{}, map[string]int32{}, map[int64]int32{}
	addName := func(room int) int32 {
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
				m.leases[lease] = addName(0)
			}
			if part.Flags&call.Sequential == 0 || len(part.End) == 0 {
				continue
			}
			if _, ok := m.keys[string(part.End)]; !ok {
				m.keys[string(part.End)] = addName(len(p.prefix) + len(part.Key))
				m.creators[string(part.End)] = int32(n)
			}
		}
	}
}

// needName makes the call wait for the call that created a given sequential key.
func (f *finder) needName(key []byte) {
	if by, ok := f.plan.names.creators[string(key)]; ok {
		f.need(by)
	}
}
