// Package jute implements ZooKeeper's protocol on one connection without I/O: length-prefixed
// frames, the jute encoding of records, the start of a session, and requests whose responses arrive
// in order. It follows zookeeper.jute and the classes proto.* and data.* of ZooKeeper 3.9. The
// parts it uses have been the same since 3.4, except where a comment names a later version.
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
	OpError           Op = -1 // in the response to a multi
)

// The request numbers (xid) of frames that are not ordinary requests or responses.
const (
	XidNotification int32 = -1 // a watch event
	XidPing         int32 = -2
	XidAuth         int32 = -4
	XidSetWatches   int32 = -8
)

// Mode is the kind of node that a create makes (CreateMode).
type Mode int32

// The modes. The server removes a container after its last child was deleted, and a TTL node that
// has no children and was not changed for its time to live.
const (
	Persistent              Mode = 0
	Ephemeral               Mode = 1
	PersistentSequential    Mode = 2
	EphemeralSequential     Mode = 3
	Container               Mode = 4
	PersistentTTL           Mode = 5
	PersistentSequentialTTL Mode = 6
)

// WatchMode is the mode of an AddWatch (AddWatchMode).
type WatchMode int32

// The modes of watches that stay after they fired.
const (
	WatchPersistent          WatchMode = 0 // the node, and creation and deletion of its children
	WatchPersistentRecursive WatchMode = 1 // the node and all its descendants
)

// WatchEvent is the type of a watch event (Watcher.Event.EventType).
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
	// MaxFrame limits one response.
	MaxFrame = 64 << 20
	// DefaultMaxBuffer is the largest request that a server accepts, unless its jute.maxbuffer is
	// different. The server closes the connection on a larger one.
	DefaultMaxBuffer = 0xfffff

	lengthLen  = 4
	requestLen = 8  // of RequestHeader{xid int, type int}
	replyLen   = 16 // of ReplyHeader{xid int, zxid long, err int}
)

// AnyVersion lets a setData or delete apply to any version.
const AnyVersion int32 = -1

// Epoch returns the leader's term in a transaction id.
func Epoch(zxid int64) uint64 { return uint64(zxid) >> 32 }
