package nullserver

import "sync"

// leases are granted, kept alive and revoked, and never end by themselves.
type leases struct {
	mu   sync.Mutex
	ttl  map[int64]int64 // in seconds, by id
	last int64
}

func (l *leases) of(id int64) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ttl[id]
}

// firstLease makes numbers as long as etcd's.
const firstLease = 0x6e756c6c00000000

// grant takes a LeaseGrantRequest{TTL: 1, ID: 2} and appends a
// LeaseGrantResponse{header: 1, ID: 2, TTL: 3}.
func (l *leases) grant(b, request []byte, m *member) ([]byte, *status) {
	var ttl, id int64
	for len(request) > 0 {
		number, value, _, rest, ok := next(request)
		if !ok {
			return b, errMalformed
		}
		request = rest
		switch number {
		case 1:
			ttl = int64(value)
		case 2:
			id = int64(value)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if id == 0 {
		l.last++
		id = firstLease + l.last
	}
	if l.ttl[id] != 0 {
		return b, errLeaseExists
	}
	ttl = max(ttl, 1)
	l.ttl[id] = ttl
	b = m.identity.appendHeader(b, m.keeper.currentRevision())
	return appendUint(appendUint(b, 2, uint64(id)), 3, uint64(ttl)), nil
}

// revoke takes a LeaseRevokeRequest{ID: 1} and appends a
// LeaseRevokeResponse{header: 1}.
func (l *leases) revoke(b, request []byte, m *member) ([]byte, *status) {
	_, id, _, _, ok := next(request)
	if !ok {
		return b, errMalformed
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ttl[int64(id)] == 0 {
		return b, errLeaseNotFound
	}
	delete(l.ttl, int64(id))
	return m.identity.appendHeader(b, m.keeper.currentRevision()), nil
}
