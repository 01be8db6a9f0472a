package patroni

import (
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/app"
	"github.com/quorumbench/quorumbench/internal/load/watch"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
)

// locks implements way for stores in which sessions can hold keys.
type locks struct {
	sessions   []sessionName // by member
	hasSession []bool        // by member: whether it has a session
	ttl        time.Duration // TTL of a session, counted from its last renewal
}

// sessionName is the name of a session, which is a UUID.
type sessionName [36]byte

// A session lives for twice the requested TTL, so Patroni requests half of the configured TTL. A
// lock can be acquired 1 ms after the end of the session that held it.
const (
	ttlFactor = 2
	lockDelay = 1 // ms
)

func (w *locks) fill(s *source, e Entry, k Key, member int, op *store.Op) {
	switch e.Call {
	case RenewLeader, RenewReplica:
		if w.hasSession[member] {
			op.Revision = s.sessionNumber(w.sessions[member])
			op.LeaseName = w.sessions[member][:]
			return
		}
		w.grant(s, op)
		return
	case ReadCluster:
		s.key = AppendScope(s.key[:0], s.prefix, int(e.Cluster))
		s.setCall(call.Part{Action: call.Read, Scope: call.Prefix, Key: s.key, Flags: call.LeaderLeaseRead})
		op.Call = &s.call
		s.keepList(op)
		return
	}
	s.key = AppendKey(s.key[:0], s.prefix, int(e.Cluster), k)
	if !isLeased(k) {
		op.Key, op.Value = s.key, s.value
		return
	}
	s.setCall(call.Part{Action: call.Write, Key: s.key, Value: s.callValue(), Lease: namedLease, Name: w.sessions[member][:]})
	s.addGuard(call.Part{Action: call.Compare, Target: call.LeaseTarget, Key: s.key})
	op.Call, op.Revision = &s.call, s.sessionNumber(w.sessions[member])
}

// sessionNumber returns the number that identifies a session in the history. It returns 0 if the
// load records no history.
func (s *source) sessionNumber(name sessionName) int64 {
	if s.chronicle == nil {
		return 0
	}
	return name.numbers()[0]
}

// namedLease is the value of call.Part.Lease in a call that identifies the session by name.
const namedLease = 1

func (w *locks) grant(s *source, op *store.Op) bool {
	s.setCall(call.Part{
		Action: call.Grant, Number: int64(w.requestedTTL()), Limit: lockDelay + 1,
		Flags: call.Ephemeral | call.NoHealthChecks,
	})
	op.Call = &s.call
	return true
}

var invalidUUIDText = []byte("the name of the new session is not a UUID")

func (w *locks) handleRenewal(member int, ev *store.Event) []byte {
	if w.hasSession[member] {
		return nil
	}
	if len(ev.Value) != len(sessionName{}) {
		return invalidUUIDText
	}
	copy(w.sessions[member][:], ev.Value)
	if w.sessions[member].numbers() == [2]int64{} {
		return invalidUUIDText
	}
	w.hasSession[member] = true
	return nil
}

func (w *locks) dropLease(member int) { w.hasSession[member] = false }

// grantedIn implements way. It returns the first half of the session's name, as a number.
func (w *locks) grantedIn(ev *store.Event) int64 {
	if len(ev.Value) != len(sessionName{}) {
		return 0
	}
	name := sessionName(ev.Value)
	return name.numbers()[0]
}

// lifetime implements way. Although sessions live longer, the store guarantees only the requested
// TTL.
func (w *locks) lifetime() time.Duration { return w.requestedTTL() * time.Second }

// requestedTTL returns the TTL, in seconds, that is requested for a session.
func (w *locks) requestedTTL() time.Duration {
	return (w.ttl + ttlFactor*time.Second - 1) / (ttlFactor * time.Second)
}

// save implements way. It returns two numbers per session: the two halves of the session's name.
func (w *locks) save() []int64 {
	all := make([]int64, 0, 2*len(w.sessions))
	for _, name := range w.sessions {
		n := name.numbers()
		all = append(all, n[0], n[1])
	}
	return all
}

func (w *locks) restore(before []int64) {
	for i := range w.sessions {
		if len(before) >= 2*i+2 && (before[2*i] != 0 || before[2*i+1] != 0) {
			app.AppendUUID(w.sessions[i][:0], before[2*i], before[2*i+1])
			w.hasSession[i] = true
		}
	}
}

// numbers returns the two halves of a session's name as numbers. It returns zeros if the name is not
// a UUID.
func (s *sessionName) numbers() (n [2]int64) {
	n[0], n[1] = app.ParseUUID(s[:])
	return n
}

// addWatchers implements way. Each replica has a blocking query for the leader's key, on its own
// connection. The query waits for about as long as a loop takes. When a replica wins a race, it
// keeps its query.
func (w *locks) addWatchers(s *Script, p *watch.Plan) {
	p.Connections = p.Streams
	replicas := s.Members - 1
	p.Sink.States = true
	p.OnAcknowledged = s.noteLeader
	for i := range p.Streams {
		p.Sink.Watchers = append(p.Sink.Watchers, watch.Watcher{First: uint64(i/replicas*s.KeysPerCluster() + int(Leader)), Keys: 1})
	}
	var key []byte
	p.Fill = func(n uint32, op *store.Op) {
		key = AppendKey(key[:0], s.prefix, int(n)/replicas, Leader)
		op.Key, op.Watch.Mode, op.Watch.QueryWait = key, kv.QueryWatch, s.QueryWait()
	}
}
