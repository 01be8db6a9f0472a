package patroni

import (
	"time"

	"github.com/quorumbench/quorumbench/internal/load/watch"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
)

// leases implements way for stores with leases and transactions.
type leases struct {
	leaseIDs []int64 // by member: the ID of its lease; 0: none
	ttl      int64   // seconds
}

func (w *leases) fill(s *source, e Entry, k Key, member int, op *store.Op) {
	op.Call = &s.call
	switch e.Call {
	case RenewLeader, RenewReplica:
		op.Revision = w.leaseIDs[member] // so that the operation's Completion contains the lease
		if lease := w.leaseIDs[member]; lease != 0 {
			s.setCall(call.Part{Action: call.KeepAlive, Lease: lease})
			return
		}
		w.grant(s, op)
	case ReadCluster:
		s.key = AppendScope(s.key[:0], s.prefix, int(e.Cluster))
		s.setCall(call.Part{Action: call.Read, Scope: call.Prefix, Key: s.key, Flags: call.Local})
		s.keepList(op)
	default:
		s.key = AppendKey(s.key[:0], s.prefix, int(e.Cluster), k)
		put := call.Part{Action: call.Write, Key: s.key, Value: s.callValue()}
		if isLeased(k) {
			put.Lease, op.Revision = w.leaseIDs[member], w.leaseIDs[member]
		}
		if s.setCall(put); e.Call == Race {
			s.addGuard(call.Part{Action: call.Compare, Target: call.Created, Key: s.key})
		}
	}
}

func (w *leases) grant(s *source, op *store.Op) bool {
	op.Call = &s.call
	s.setCall(call.Part{Action: call.Grant, Number: w.ttl})
	return true
}

func (w *leases) handleRenewal(member int, ev *store.Event) []byte {
	if w.leaseIDs[member] == 0 {
		w.leaseIDs[member] = ev.Count
	}
	return nil
}

func (w *leases) dropLease(member int)   { w.leaseIDs[member] = 0 }
func (w *leases) save() []int64          { return w.leaseIDs }
func (w *leases) restore(before []int64) { copy(w.leaseIDs, before) }

func (w *leases) grantedIn(ev *store.Event) int64 { return ev.Count }
func (w *leases) lifetime() time.Duration         { return time.Duration(w.ttl) * time.Second }

// addWatchers implements way. Each member watches the keys of its cluster on its own connection.
// The watcher starts at the current revision.
func (w *leases) addWatchers(s *Script, p *watch.Plan) {
	p.Connections = p.Streams
	for i := range p.Streams {
		p.Sink.Watchers = append(p.Sink.Watchers, watch.Watcher{First: uint64(i / s.Members * s.KeysPerCluster()), Keys: uint64(s.KeysPerCluster())})
	}
	var key, end []byte
	p.Fill = func(n uint32, op *store.Op) {
		key = AppendScope(key[:0], s.prefix, int(n)/s.Members)
		end = append(end[:0], key...)
		end[len(end)-1]++ // key ends with a slash, so this is the end of its prefix
		op.Key, op.Watch.End = key, end
	}
}
