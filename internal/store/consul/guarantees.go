package consul

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/store"
)

// The parts of Consul's documentation that state its guarantees.
const (
	modes     = "Consul's consistency modes (https://developer.hashicorp.com/consul/api-docs/features/consistency): "
	kvStore   = "Consul's KV store (https://developer.hashicorp.com/consul/api-docs/kv): "
	sessions  = "Consul's sessions (https://developer.hashicorp.com/consul/docs/automate/session): "
	blocking  = "Consul's blocking queries (https://developer.hashicorp.com/consul/api-docs/features/blocking): "
	consensus = "Consul's consensus protocol (https://developer.hashicorp.com/consul/docs/architecture/consensus): "
)

// Guarantees implements store.Store. The response to a write has no index. The index in the response
// to a read is that of the key's latest change. A read in the default mode may be stale just after
// an election, and a read with ?stale may be stale at any time. A blocking query uses the default
// mode. So the index of the query's responses can decrease, as Consul's documentation says ("reset
// the index if it goes backwards"). For this reason, Guarantees does not include the order of watch
// events.
//
// Consul guarantees that a session lives for its TTL, but no response can prove a violation. A
// renewal reads only the leader's own state (Session.Renew in agent/consul/session_endpoint.go). A
// leader that was just restarted and elected reports sessions as missing until it has applied its
// log.
func (*Store) Guarantees() store.Guarantees {
	return store.Guarantees{
		Sources: map[history.Guarantee]string{
			history.RevisionOrder: kvStore + "ModifyIndex is \"the last index that modified this key\"; it is an index of the Raft log, and writes are executed in the order of the log",
			history.Linearizable:  modes + "the mode \"consistent\" is \"strongly consistent without caveats\"",
			history.Snapshot:      kvStore + "ModifyIndex \"corresponds to the X-Consul-Index header value that is returned in responses\"",
			history.Durable:       consensus + "\"an entry is considered committed when it is durably stored on a quorum of nodes\"",
			history.AtMostOnce:    consensus + "a write is an entry of the Raft log, and each entry is applied once",
			history.ExclusiveLock: sessions + "an acquire \"can only succeed if there is no existing lock holder\"",
			history.FencingToken:  sessions + "\"the LockIndex is incremented on each acquire\" by another session, so that the LockIndex acts as a \"sequencer\"",
			history.WatchOnce:     blocking + "a query waits \"for any changes subsequent to that index\"; the watcher ignores a response with the same index",
			history.WatchAccurate: kvStore + "a query returns the key's value and the key's ModifyIndex",
			history.CompareAndSet: kvStore + "with cas \"the key is only set if the index matches the ModifyIndex of that key\"",
		},
		MemberReadLevel:  kv.Local, // stale reads; admin.Applied shows when the member has applied the writes
		NoWriteRevisions: true,
	}
}
