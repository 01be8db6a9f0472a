package load

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/quorumbench/quorumbench/internal/scenario"
)

// Assignment is what a worker is to do. It is data alone: it can be encoded,
// sent to another machine and carried out there.
type Assignment struct {
	// Load is what is sent. Watchers that are to catch up with earlier events
	// have the revision in Load.Watch.Start by then.
	Load  scenario.Load
	Store string // its name
	// Access says how to reach the cluster. Certificates are names of files, and
	// a password can be the name of a variable: the worker reads them.
	Access scenario.Attach
	// Endpoints are those that the target has now, HOST:PORT each; connection i
	// goes to the endpoint i modulo their number.
	Endpoints []string
	// Voters are the endpoints to which what prepares the load goes, because those of
	// the load have no vote; nil: it goes where the load goes.
	Voters []string
	// Members says which member is at an endpoint, by its number, as far as it
	// is known: for stores whose answers do not say it.
	Members map[string]uint64
	// Shard is the part of the load that is this worker's.
	Shard Shard
	// Beside is how many workers of the same process have other shards of the load:
	// each keeps as many of Go's processors as it has loops.
	Beside int
	// Confined says that the cluster ran before, so that nothing but keys with the load's
	// prefix, and what they are bound to, may be touched.
	Confined bool
	// Preloaded is what a preload left; nil without one.
	Preloaded *Preloaded
	// Leases are those that kv.KeepAlive operations keep alive; client i of all
	// has the i-th. Who granted them revokes them (store.Leaser).
	Leases []int64
	// LeaseNames are the names of those leases, where they have names (store.Leaser).
	LeaseNames []string
	// Only are the numbers of the keys that Worker.ReadBack reads, a bit each, the
	// lowest first; nil for all of the key space.
	Only []uint64
}

// preparing returns the endpoints to which what prepares the load goes.
func (a *Assignment) preparing() []string {
	if len(a.Voters) > 0 {
		return a.Voters
	}
	return a.Endpoints
}

// Shard is part I of N of a load; the zero value is the whole. Connection k
// belongs to shard k modulo N, a client to the shard of its connection, and an
// operation of an open loop to that of the connection that it has in its turn.
// Of a closed loop's total, operation n belongs to shard n modulo N. So N shards
// together send what one worker sends.
type Shard struct{ I, N int }

// part reports whether there are other shards.
func (s Shard) part() bool { return s.N > 1 }

func (s Shard) of() int { return max(s.N, 1) }

// loop is the number of the shard's loop i of n among the loops of all shards,
// and how far it is to the next that is congruent: if all had as many.
func (s Shard) loop(i, n int) (first, stride int) { return s.I + s.of()*i, s.of() * n }

// share is how many of the numbers below total belong to the shard.
func (s Shard) share(total uint64) uint64 {
	n, i := uint64(s.of()), uint64(s.I)
	return (max(total, i) - i + n - 1) / n
}

// Divide returns the k-th part of n of an assignment, which may itself be a part.
func (a *Assignment) Divide(k, n int) *Assignment {
	part := *a
	part.Shard = Shard{I: a.Shard.I + a.Shard.of()*k, N: a.Shard.of() * n}
	return &part
}

// MostKeys is how many keys a load has at most, for who takes their numbers from elsewhere:
// an application makes some with its calls.
func (a *Assignment) MostKeys() uint64 {
	if a.Load.Application.Name != "" {
		return a.Load.KeySpace + scenario.MostCalls
	}
	return a.Load.KeySpace
}

// KeyNumbers bounds the numbers of a load's keys, likewise: an application may make them of
// what the store numbers.
func (a *Assignment) KeyNumbers() uint64 {
	if a.Load.Application.Name != "" {
		return 1 << 62
	}
	return a.Load.KeySpace
}

// checkShard says in one sentence why a load cannot be divided so.
func (a *Assignment) checkShard() error {
	if n := a.Shard.N; n < 0 || a.Shard.I < 0 || a.Shard.I >= a.Shard.of() {
		return fmt.Errorf("there is no part %d of %d of a load", a.Shard.I, n)
	}
	return a.Load.Divisible(a.Shard.N)
}

// Loops is how many event loops the shard has on this machine: one loop sends
// several hundred thousand operations a second, and each takes a processor from
// a store on the same machine.
func (a *Assignment) Loops() int {
	n := a.Load.Threads
	if n == 0 {
		n = min(runtime.NumCPU()/4, 8)
	}
	return min(max(n, 1), int(a.Shard.share(uint64(a.Load.Connections))))
}

// ErrNeverOpened says that a load was interrupted before its window opened.
var ErrNeverOpened = errors.New("interrupted before the measurement began")

// Preloaded is what a preload did. It remembers the values that it found and
// wrote anew: a linearizable read that begins afterwards must not return one of
// them, and a read of one member may.
type Preloaded struct {
	Written uint64 // keys
	// Replaced has the checksum (CRC-32) of the value that a key had, by the
	// key's number.
	Replaced map[uint64]uint32
	// Versions are those of all keys, as keys.Versions lists them, for a load
	// that compares and sets, and what a Keeper kept; else nil. The load goes on in
	// this memory.
	Versions []int64
	// Leases are the names of those that an application was granted, also beside an error.
	Leases []string
}

func (p *Preloaded) versions() []int64 {
	if p == nil {
		return nil
	}
	return p.Versions
}
