package load

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/quorumbench/quorumbench/internal/scenario"
)

// Assignment describes the work of a worker. It contains only data, so it can be encoded, sent to
// another machine and executed there.
type Assignment struct {
	// Load defines the operations. If watchers must first receive earlier events,
	// Load.Watch.StartRevision is the revision of the first of these events.
	Load  scenario.Load
	Store string // name of the store
	// Access describes how to reach the cluster. For a worker on this machine, it contains the
	// names of certificate files, and possibly the name of an environment variable with a password.
	// The worker reads these files and this variable. For a worker on another machine, it contains
	// the certificates and the password themselves (see CarryAccess).
	Access scenario.RunningCluster
	// Endpoints are the target's current endpoints, each as HOST:PORT. Connection i uses the
	// endpoint with index i modulo the number of endpoints.
	Endpoints []string
	// Voters are the endpoints that are used to prepare the load if the members at Endpoints have
	// no vote. If Voters is nil, Endpoints are used.
	Voters []string
	// Members maps each endpoint to the number of its member, if the number is known. It is needed
	// for stores whose replies do not identify the member.
	Members map[string]uint64
	// Shard is this worker's part of the load.
	Shard Shard
	// OtherWorkers is the number of other workers in the same process, which run other shards of
	// the load. Each of them occupies one of Go's processors per loop.
	OtherWorkers int
	// Confined is set if the cluster existed before the run. In this case, the load may change only
	// the keys with the load's prefix, and the leases and sessions to which these keys are bound.
	Confined bool
	// Preloaded is the result of the preload. It is nil if there was none.
	Preloaded *Preloaded
	// Leases are the leases that kv.KeepAlive operations renew. Client i uses lease i. The code
	// that requested the leases also revokes them (store.Leaser).
	Leases []int64
	// LeaseNames are the names of the leases, for stores in which leases have names (store.Leaser).
	LeaseNames []string
	// Only is a bit set of key numbers: Worker.ReadBack reads only these keys. Bit 0 of the first
	// element stands for key 0. If Only is nil, ReadBack reads the whole key space.
	Only []uint64
}

// preparationEndpoints returns the endpoints at which the load is prepared.
func (a *Assignment) preparationEndpoints() []string {
	if len(a.Voters) > 0 {
		return a.Voters
	}
	return a.Endpoints
}

// Shard is part I of a load that is divided into N parts. The zero value is the whole load.
// Together, N shards send what a single worker would send:
//   - connection k belongs to shard k modulo N;
//   - a client belongs to the shard of its connection;
//   - an operation of an open loop belongs to the shard of the connection whose turn it is;
//   - operation n of a closed loop's total belongs to shard n modulo N.
type Shard struct{ I, N int }

// isPart reports whether there is more than one shard.
func (s Shard) isPart() bool { return s.N > 1 }

// count returns the number of shards, at least 1.
func (s Shard) count() int { return max(s.N, 1) }

// loop returns the position of this shard's loop i among the loops of all shards (`first`), and the
// total number of loops in all shards (`stride`). Every shard has n loops.
func (s Shard) loop(i, n int) (first, stride int) { return s.I + s.count()*i, s.count() * n }

// share returns how many of the numbers from 0 to `total`-1 belong to the shard.
func (s Shard) share(total uint64) uint64 {
	n, i := uint64(s.count()), uint64(s.I)
	return (max(total, i) - i + n - 1) / n
}

// Divide divides an assignment into n parts and returns part k. The assignment may itself be a part
// of a load.
func (a *Assignment) Divide(k, n int) *Assignment {
	part := *a
	part.Shard = Shard{I: a.Shard.I + a.Shard.count()*k, N: a.Shard.count() * n}
	return &part
}

// MaxKeys returns the maximum number of keys of the load. For an application, this maximum is
// larger than the key space, because an application can create keys during the load.
func (a *Assignment) MaxKeys() uint64 {
	if a.Load.Application.Name != "" {
		return a.Load.KeySpace + scenario.MaxCalls
	}
	return a.Load.KeySpace
}

// KeyNumberLimit returns an upper bound for the numbers of the load's keys. For an application, the
// bound is large, because the numbers of the keys may include numbers that the store assigns.
func (a *Assignment) KeyNumberLimit() uint64 {
	if a.Load.Application.Name != "" {
		return 1 << 62
	}
	return a.Load.KeySpace
}

// checkShard returns an error if the shard does not exist or the load cannot be divided into this
// number of shards.
func (a *Assignment) checkShard() error {
	switch i, n := a.Shard.I, a.Shard.N; {
	case n < 0:
		return fmt.Errorf("a load cannot be divided into %d parts; the number of parts must not be negative", n)
	case i == 0:
	case n <= 1:
		return fmt.Errorf("part %d does not exist in a load that is not divided; its only part is part 0", i)
	case i < 0 || i >= n:
		return fmt.Errorf("part %d does not exist in a load that is divided into %d parts; its parts are numbered from 0 to %d", i, n, n-1)
	}
	return a.Load.CheckDivisible(a.Shard.N)
}

// Loops returns the number of event loops that the shard uses on this machine. The number is small
// for two reasons: one loop can send several hundred thousand operations per second, and each loop
// uses a CPU that a store on the same machine could use.
func (a *Assignment) Loops() int {
	n := a.Load.Threads
	if n == 0 {
		n = min(runtime.NumCPU()/4, 8)
	}
	return min(max(n, 1), int(a.Shard.share(uint64(a.Load.Connections))))
}

// ErrNoWindow reports that a load was interrupted before its window opened.
var ErrNoWindow = errors.New("interrupted before the measurement began")

// Preloaded is the result of a preload. It identifies the values that the preload found and
// replaced. A linearizable read that begins after the preload must not return such a value, but a
// local read may.
type Preloaded struct {
	Written uint64 // number of keys written
	// Replaced maps the number of a key to the checksum (CRC-32) of the value that the preload
	// replaced.
	Replaced map[uint64]uint32
	// The content of Versions depends on the load. For a load with compare-and-sets, Versions
	// contains the versions of all keys (see keys.Versions). For an application, it contains the
	// result of app.Script.PreloadResults. For any other load, it is nil. The load takes over the
	// slice's memory.
	Versions []int64
	// Leases are the names of the leases that an application requested. The field is set even if
	// the preload failed.
	Leases []string
}

// versions returns Versions, or nil if there was no preload.
func (p *Preloaded) versions() []int64 {
	if p == nil {
		return nil
	}
	return p.Versions
}
