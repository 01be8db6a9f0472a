// Package jute is ZooKeeper's protocol on one connection, as bytes without
// I/O: length-prefixed frames, the jute encoding of records, the session's
// begin, and requests whose answers come in their order. The source is
// zookeeper.jute and the classes proto.* and data.* of ZooKeeper 3.9; what is
// used of it is the same since 3.4, but for what says otherwise.
package jute

// Op is the kind of a request (ZooDefs.OpCode).
type Op int32

// The requests.
const (
	OpCreate          Op = 1
	OpDelete          Op = 2
	OpExists          Op = 3
	OpGetData         Op = 4
	OpSetData         Op = 5
	OpGetChildren     Op = 8
	OpSync            Op = 9
	OpPing            Op = 11
	OpGetChildren2    Op = 12 // with the node's Stat
	OpCheck           Op = 13 // in a multi
	OpMulti           Op = 14
	OpCreate2         Op = 15 // with the new node's Stat; since 3.5
	OpCreateContainer Op = 19 // since 3.5
	OpCreateTTL       Op = 21 // since 3.5; the server must allow it
	OpAuth            Op = 100
	OpSetWatches      Op = 101
	OpAddWatch        Op = 106 // since 3.6
	OpCloseSession    Op = -11
	OpError           Op = -1 // in the answer to a multi
)

// The request numbers (xid) of what is no ordinary request.
const (
	XidNotification int32 = -1 // a watch event
	XidPing         int32 = -2
	XidAuth         int32 = -4
	XidSetWatches   int32 = -8
)

// Mode says what kind of node a create makes (CreateMode).
type Mode int32

// The modes. A container is removed when its last child is gone, a TTL node
// when it has no children and was not changed for its time.
const (
	Persistent              Mode = 0
	Ephemeral               Mode = 1
	PersistentSequential    Mode = 2
	EphemeralSequential     Mode = 3
	Container               Mode = 4
	PersistentTTL           Mode = 5
	PersistentSequentialTTL Mode = 6
)

// WatchMode says what an AddWatch asks for (AddWatchMode).
type WatchMode int32

// The modes of watches that stay after they fired.
const (
	WatchPersistent          WatchMode = 0 // the node, and its children's coming and going
	WatchPersistentRecursive WatchMode = 1 // the node and all below it
)

// WatchEvent says what a watch saw (Watcher.Event.EventType).
type WatchEvent int32

// The events.
const (
	NodeCreated         WatchEvent = 1
	NodeDeleted         WatchEvent = 2
	NodeDataChanged     WatchEvent = 3
	NodeChildrenChanged WatchEvent = 4
)

// Limits of a connection, in bytes.
const (
	// MaxFrame bounds one answer.
	MaxFrame = 64 << 20
	// DefaultMaxBuffer is the largest request that a server takes unless its
	// jute.maxbuffer says otherwise. It ends the connection on a larger one.
	DefaultMaxBuffer = 0xfffff

	lengthLen  = 4
	requestLen = 8  // of RequestHeader{xid int, type int}
	replyLen   = 16 // of ReplyHeader{xid int, zxid long, err int}
)

// AnyVersion is the version that a setData or delete gives to take any.
const AnyVersion int32 = -1

// Epoch is the leader's term in a transaction id.
func Epoch(zxid int64) uint64 { return uint64(zxid) >> 32 }
