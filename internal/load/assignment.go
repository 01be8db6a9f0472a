package load

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/quorumbench/quorumbench/internal/scenario"
)

// Assignment describes the work of a worker. It is pure data: it can be encoded, sent to
// another machine and executed there.
type Assignment struct {
	// Load defines the operations. If watchers must catch up with earlier events,
	// Load.Watch.Start is set to the first revision.
	Load  scenario.Load
	Store string // name of the store
	// Access describes how to reach the cluster. Certificates are file names, and a password
	// can be the name of a variable: the worker reads them.
	Access scenario.Attach
	// Endpoints are the current endpoints of the target, each as HOST:PORT. Connection i uses
	// endpoint i modulo their number.
	Endpoints []string
	// Voters are the endpoints for the preparation of the load if the members at Endpoints
	// have no vote; nil: the preparation uses Endpoints.
	Voters []string
	// Members maps an endpoint to the number of its member, if known. It is for stores whose
	// replies do not name the member.
	Members map[string]uint64
	// Shard is this worker's part of the load.
	Shard Shard
	// OtherWorkers is the number of workers in the same process that have other shards of the load.
	// Each of them occupies one of Go's processors per loop.
	OtherWorkers int
	// Confined reports that the cluster existed before the run. Then only keys with the load's
	// prefix, and the leases and sessions that they are bound to, may be changed.
	Confined bool
	// Preloaded is the result of the preload; nil without one.
	Preloaded *Preloaded
	// Leases are the leases that kv.KeepAlive operations keep alive: client i has lease i.
	// The code that granted them revokes them (store.Leaser).
	Leases []int64
	// LeaseNames are the names of the leases, if they have names (store.Leaser).
	LeaseNames []string
	// Only is a bit set of the key numbers that Worker.ReadBack reads, lowest number first;
	// nil for the whole key space.
	Only []uint64
}

// preparing returns the endpoints for the preparation of the load.
func (a *Assignment) preparing() []string {
	if len(a.Voters) > 0 {
		return a.Voters
	}
	return a.Endpoints
}

// Shard is part I of N of a load; the zero value is the whole load. Together N shards send
// what one worker sends:
//   - connection k belongs to shard k modulo N;
//   - a client belongs to the shard of its connection;
//   - an operation of an open loop belongs to the shard of the connection whose turn it is;
//   - operation n of a closed loop's total belongs to shard n modulo N.
type Shard struct{ I, N int }

// isPart reports whether there are other shards.
func (s Shard) isPart() bool { return s.N > 1 }

// count returns the number of shards, at least 1.
func (s Shard) count() int { return max(s.N, 1) }

// loop returns the number of this shard's loop i of n among the loops of all shards, and the
// number of those loops, if all shards have n.
func (s Shard) loop(i, n int) (first, stride int) { return s.I + s.count()*i, s.count() * n }

// share returns how many numbers below total belong to the shard.
func (s Shard) share(total uint64) uint64 {
	n, i := uint64(s.count()), uint64(s.I)
	return (max(total, i) - i + n - 1) / n
}

// Divide returns part k of n of an assignment, which may itself be a part.
func (a *Assignment) Divide(k, n int) *Assignment {
	part := *a
	part.Shard = Shard{I: a.Shard.I + a.Shard.count()*k, N: a.Shard.count() * n}
	return &part
}

// MostKeys returns the largest number of keys that the load can have. An application can
// create keys during the load.
func (a *Assignment) MostKeys() uint64 {
	if a.Load.Application.Name != "" {
		return a.Load.KeySpace + scenario.MostCalls
	}
	return a.Load.KeySpace
}

// KeyNumbers returns a bound for the numbers of the load's keys. An application may number
// its keys by numbers from the store.
func (a *Assignment) KeyNumbers() uint64 {
	if a.Load.Application.Name != "" {
		return 1 << 62
	}
	return a.Load.KeySpace
}

// checkShard returns an error if the load cannot be divided this way.
func (a *Assignment) checkShard() error {
	if n := a.Shard.N; n < 0 || a.Shard.I < 0 || a.Shard.I >= a.Shard.count() {
		return fmt.Errorf("there is no part %d of %d of a load", a.Shard.I, n)
	}
	return a.Load.Divisible(a.Shard.N)
}

// Loops returns the number of event loops of the shard on this machine. It is small, because
// one loop sends several hundred thousand operations per second, and each takes a CPU from a
// store on the same machine.
func (a *Assignment) Loops() int {
	n := a.Load.Threads
	if n == 0 {
		n = min(runtime.NumCPU()/4, 8)
	}
	return min(max(n, 1), int(a.Shard.share(uint64(a.Load.Connections))))
}

// ErrNeverOpened reports that a load was interrupted before its window opened.
var ErrNeverOpened = errors.New("interrupted before the measurement began")

// Preloaded is the result of a preload. It identifies the values that the preload found and
// replaced: a linearizable read that begins later must not return one of them, but a read of
// one member may.
type Preloaded struct {
	Written uint64 // number of keys written
	// Replaced maps a key's number to the checksum (CRC-32) of its earlier value.
	Replaced map[uint64]uint32
	// Versions are the versions of all keys (see keys.Versions) for a load with
	// compare-and-sets, or the memory of an application (app.Script.Kept); else nil. The load
	// continues to use this memory.
	Versions []int64
	// Leases are the names of the leases that an application was granted. It is set even if
	// the preload failed.
	Leases []string
}

// versions returns Versions; nil without a preload.
func (p *Preloaded) versions() []int64 {
	if p == nil {
		return nil
	}
	return p.Versions
}
