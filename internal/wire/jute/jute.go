// Package jute implements ZooKeeper's protocol for one connection, without I/O: frames with a
// length prefix, the jute encoding of records, the start of a session, and requests whose replies
// arrive in order. The package follows the file zookeeper.jute and the classes proto.* and data.*
// in ZooKeeper 3.9. The parts of the protocol that the package uses have not changed since 3.4,
// except where a comment mentions a later version.
package jute

// Op is the type of a request (ZooDefs.OpCode).
type Op int32

// The types of requests.
const (
	OpCreate          Op = 1
	OpDelete          Op = 2
	OpExists          Op = 3
	OpGetData         Op = 4
	OpSetData         Op = 5
	OpGetChildren     Op = 8
	OpSync            Op = 9
	OpPing            Op = 11
	OpGetChildren2    Op = 12 // the reply also contains the node's Stat
	OpCheck           Op = 13 // only in a multi
	OpMulti           Op = 14
	OpCreate2         Op = 15 // the reply also contains the new node's Stat; since 3.5
	OpCreateContainer Op = 19 // since 3.5
	OpCreateTTL       Op = 21 // since 3.5; the server must be configured to allow it
	OpAuth            Op = 100
	OpSetWatches      Op = 101
	OpAddWatch        Op = 106 // since 3.6
	OpCloseSession    Op = -11
	OpError           Op = -1 // only in the reply to a multi
)

// The xids (request numbers) of frames that are not ordinary requests or replies.
const (
	XidNotification int32 = -1 // a watch event
	XidPing         int32 = -2
	XidAuth         int32 = -4
	XidSetWatches   int32 = -8
)

// Mode is the type of a node to create (CreateMode).
type Mode int32

// The modes. The server removes a container node after the last child of the node was deleted. It
// removes a node with a time to live (TTL) if the node has no children and was not changed during
// this time.
const (
	Persistent              Mode = 0
	Ephemeral               Mode = 1
	PersistentSequential    Mode = 2
	EphemeralSequential     Mode = 3
	Container               Mode = 4
	PersistentTTL           Mode = 5
	PersistentSequentialTTL Mode = 6
)

// WatchMode is the mode of a watch that AddWatch sets (AddWatchMode).
type WatchMode int32

// The watch modes. Watches with these modes stay set after they have fired.
const (
	WatchPersistent          WatchMode = 0 // fires for the node and for created or deleted children
	WatchPersistentRecursive WatchMode = 1 // fires for the node and all its descendants
)

// WatchEvent is the type of a watch event (Watcher.Event.EventType).
type WatchEvent int32

// The types of watch events.
const (
	NodeCreated         WatchEvent = 1
	NodeDeleted         WatchEvent = 2
	NodeDataChanged     WatchEvent = 3
	NodeChildrenChanged WatchEvent = 4
)

// Sizes, in bytes.
const (
	// MaxFrame limits the size of one reply.
	MaxFrame = 64 << 20
	// DefaultMaxBuffer is the maximum request size that a server accepts with the default
	// jute.maxbuffer. The server closes the connection if a request is larger.
	DefaultMaxBuffer = 0xfffff
	// RequestHeaderLen is the size of RequestHeader{xid int, type int}. The header is part of the
	// request's size.
	RequestHeaderLen = 8

	lengthLen = 4
	replyLen  = 16 // size of ReplyHeader{xid int, zxid long, err int}
)

// AnyVersion is the version to pass to SetData or Delete if the node may have any version.
const AnyVersion int32 = -1

// Epoch returns the epoch of a zxid, which identifies the leader's term.
func Epoch(zxid int64) uint64 { return uint64(zxid) >> 32 }
