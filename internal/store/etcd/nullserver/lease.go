package nullserver

import (
	"slices"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
)

// secondsOf returns the time to live of a lease in seconds, or 0 if the lease does not exist.
func (l *leases) secondsOf(id int64) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ttl[id]
}

// firstLease is added to a counter to form the IDs of leases. It makes the IDs as long as etcd's.
const firstLease = 0x6e756c6c00000000

func (l *leases) grant(r *pb.LeaseGrantRequest) (id, ttl int64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if id = r.ID; id == 0 {
		l.lastID++
		id = firstLease + l.lastID
	}
	if l.ttl[id] != 0 {
		return 0, 0, rpctypes.ErrGRPCLeaseExist
	}
	l.ttl[id] = max(r.TTL, 1)
	return id, l.ttl[id], nil
}

// bind attaches the key to the lease, so that the end of the lease deletes the key.
func (l *leases) bind(id int64, key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.Contains(l.keys[id], key) {
		l.keys[id] = append(l.keys[id], key)
	}
}

// revoke ends a lease and returns the keys that were bound to it.
func (l *leases) revoke(id int64) (keys []string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ttl[id] == 0 {
		return nil, rpctypes.ErrGRPCLeaseNotFound
	}
	keys = l.keys[id]
	delete(l.ttl, id)
	delete(l.keys, id)
	return keys, nil
}
