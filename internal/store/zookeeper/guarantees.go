package zookeeper

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/store"
)

// guide is the part of ZooKeeper's documentation that states its guarantees.
const guide = "ZooKeeper Programmer's Guide (https://zookeeper.apache.org/doc/current/zookeeperProgrammers.html): "

// Guarantees implements store.Store. ZooKeeper does not guarantee linearizable reads, even after a
// sync. It guarantees that within a session, a read never returns an older state than an earlier read
// did; the codec checks this. A client that starts a new session may read older data.
//
// A member processes no read concurrently with a write (see CommitProcessor). Each response
// contains the zxid of the last transaction that the member had applied (see
// FinalRequestProcessor). So a read returns the state at that zxid.
func (*Store) Guarantees() store.Guarantees {
	return store.Guarantees{
		Sources: map[history.Guarantee]string{
			history.RevisionOrder:   guide + "the zxid \"exposes the total ordering of all changes\": \"if zxid1 is smaller than zxid2 then zxid1 happened before zxid2\"",
			history.Snapshot:        guide + "mzxid is \"the zxid of the change that last modified this znode\", and a response reflects all changes up to the zxid that it contains",
			history.Durable:         guide + "Reliability: \"Once an update has been applied, it will persist from that time forward until a client overwrites the update\"",
			history.AtMostOnce:      guide + "Atomicity: \"Updates either succeed or fail -- there are no partial results\"",
			history.CompareAndSet:   guide + "when a client performs an update it \"must supply the version of the data of the znode it is changing\", and if that \"doesn't match the actual version of the data, the update will fail\"",
			history.Lease:           guide + "the cluster itself expires sessions, \"when the cluster does not hear from the client within the specified session timeout period (i.e. no heartbeat)\"",
			history.EndsWithSession: guide + "ephemeral nodes \"exist as long as the session that created the znode is active. When the session ends the znode is deleted\": one transaction closes the session and deletes its ephemeral nodes, and the member responds after it has applied this transaction (PrepRequestProcessor, FinalRequestProcessor)",
			history.WatchOrder:      guide + "\"The order of watch events from ZooKeeper corresponds to the order of the updates as seen by the ZooKeeper service\"",
			history.WatchOnce:       guide + "an event is \"sent to the client that set the watch, which occurs when the data for which the watch was set changes\"",
			history.WatchComplete:   guide + "a persistent watch \"does not get removed when triggered\" and sends an event for each change; with a one-shot watch that is set again after each event, \"you cannot reliably see every change\"",
			history.WatchProgress:   guide + "\"A client will see a watch event for a znode it is watching before seeing the new data that corresponds to that znode\", and watches are ordered \"with respect to other events, other watches, and asynchronous replies\": a response arrives after the events of all changes up to the response's zxid",
			history.WatchAccurate:   guide + "a watch delivers events for the node on which it was set and, if the watch is recursive, for the nodes below that node",
		},
		MemberReadLevel:     kv.Linearizable, // a sync, then a read of the member's state
		VersionsCountWrites: true,
	}
}
