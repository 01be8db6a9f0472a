package etcd

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Parts of etcd's documentation that state its guarantees.
const (
	guarantees = "etcd API guarantees (https://etcd.io/docs/v3.6/learning/api_guarantees/): "
	lockAPI    = "etcd concurrency API (https://etcd.io/docs/v3.6/dev-guide/api_concurrency_reference_v3/): "
	lockNotes  = "etcd versus other key-value stores, notes on the usage of lock and lease (https://etcd.io/docs/v3.6/learning/why/): "
	api        = "etcd API (https://etcd.io/docs/v3.6/learning/api/): "
)

// Guarantees implements store.Store. It has no guarantees for sessions, because etcd gives none:
// a client that reads locally may read older data after it has switched to another member.
func (*Store) Guarantees() store.Guarantees {
	return store.Guarantees{
		Sources: map[history.Guarantee]string{
			history.RevisionOrder: guarantees + "operations \"occur in a total order, consistent with real-time order of those operations\"; the revisions show this order",
			history.Linearizable:  guarantees + "\"strict serializability for all KV api calls\", except for reads that request less (serializable reads)",
			history.Snapshot:      api + "the header of a response contains the revision of the store at which the response was created",
			history.Durable:       guarantees + "\"Any completed operations are durable\"",
			history.AtMostOnce:    guarantees + "\"KV Service operations are atomic\"",
			history.CompareAndSet: api + "a transaction executes its comparisons and the operations that depend on them as one atomic operation",

			history.Lease:              api + "\"a lease expires if the etcd cluster does not receive a keepAlive within a given TTL period\"",
			history.ExclusiveLock:      lockAPI + "a lock's key \"exists so long as the lock is held by the caller\", and it is held \"until Unlock is called on the key or the lease associate with the owner expires\"",
			history.FencingToken:       lockNotes + "revisions increase, so the revision at which a lock's key was created can serve as the lock's fencing token",
			history.WatchOrder:         guarantees + "Ordered, \"events are ordered by revision\"",
			history.WatchOnce:          guarantees + "Unique, \"an event will never appear on a watch twice\"",
			history.WatchComplete:      guarantees + "Reliable, \"a sequence of events will never drop any subsequence of events within the available history window\", and Resumable, a broken watch can resume after the last event that it received",
			history.WatchFullRevisions: guarantees + "Atomic, \"a list of events is guaranteed to encompass complete revisions\"",
			history.WatchProgress:      guarantees + "Bookmarkable, \"progress notification events guarantee that all events up to a revision have been already delivered\"",
			history.WatchAccurate:      api + "a watch's events report the changes to the keys for which the watch was created, and prev_kv \"is the key-value pair for the key from the revision immediately before the event\"",
		},
		MemberReadLevel:  kv.Linearizable,
		ConflictVersions: true,
		AtomicRanges:     true,
	}
}
