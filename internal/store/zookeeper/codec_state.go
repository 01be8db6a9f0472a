package zookeeper

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/wire/jute"
)

// Limits of one connection.
const (
	maxOpen = 4096     // requests without a reply
	maxHeld = 64 << 20 // bytes of those requests
)

// The calls: the request that a reply belongs to.
const (
	callIgnored   = iota // a request whose reply is ignored
	callClose            // closeSession
	callRefused          // an operation that cannot be sent; a request without effect was sent instead
	callPut              // setData
	callPutCreate        // create, after setData found no node
	callPutAgain         // create, after the parents were created
	callGet
	callExists
	callSync // before a linearizable read, which completes the operation
	callRange
	callDelete
	callCAS       // setData with a version
	callCASRead   // exists, to read the current version
	callCASCreate // create, if the node must not exist
	callCASAgain  // create, after the parents were created
	callTxn
	callEphemeral
	callEphemeralAgain // after the parents were created
	callPing
	callWatchRead   // getData, which sets a watch
	callWatchExists // exists, which sets the watch if the node does not exist
	callAddWatch
	callSetAgain    // getData, after a watch fired
	callExistsAgain // exists, after a watch fired
	callProgress    // a request whose reply shows how far the watchers have received events
	callAgain       // a recorded call whose response only shows its outcome
	callAgainSync
	callAgainGet
	callAgainExists
	callAgainList
	callAgainNames // a recorded list whose names are wanted
	callAgainCreate
	callAgainSet
	callAgainMulti
)

// codec implements ZooKeeper's protocol on one connection.
type codec struct {
	conn    *jute.Conn
	acl     jute.ACL
	pingAt  int64 // next ping, or next check for sent operations if quiet; 0: no session yet
	hearing hearing
	quiet   bool  // sends no pings: the load keeps the session alive
	load    signs // signs of life of the load, if quiet
	dialect Dialect
	newest  int64  // highest zxid that the session has seen
	names   *names // shared by the codecs of the event loop

	synced  jute.Code // result of the last sync
	syncWhy []byte    // reason why its response is impossible; nil: none
	values  fifo      // values of compare-and-sets whose version is being read
	ranges  fifo      // keys and ends of open ranges
	limits  []int64   // limits of the same ranges
	reasons []string  // of refused operations whose reply is open
	multi   []jute.MultiOp
	watches watches
	heard   store.Keys // receives the versions that recorded transactions create; may be nil
	closed  bool       // the session was closed, as in the recording
}

// bareWatch is a watch that a read of an application sets.
type bareWatch struct {
	path    []byte
	tag     uint32 // of the read that sets it
	watcher uint32
	set     bool // the reply to the read has arrived
}

// Dialect describes the guarantees that a server lacks compared to ZooKeeper, which has the zero
// Dialect.
type Dialect struct {
	// GoesBack: a read may return an older state than an earlier response.
	GoesBack bool
	// HidesChild: the root's Stat may count children that the list of children omits.
	HidesChild bool
	// LateStats: the Stats in the response to a multi show the state after the whole transaction
	// instead of after their operation.
	LateStats bool
}

// watches holds the watches of one connection.
type watches struct {
	creating  map[uint32]creation // by the operation's tag
	once      map[string]*oneShot // by the path
	recursive map[string]*recursive
	bare      []bareWatch
}

// creation is a watcher whose request is open.
type creation struct {
	watcher  uint32
	key, end []byte
	mode     kv.WatchMode
}

// oneShot is a watch of a node's data that the codec sets again each time it fires.
type oneShot struct {
	key      []byte // as spelled by the load
	at       int64  // mzxid of the last read
	deleted  int64  // zxid of a deletion that is not yet reported; 0: none
	reading  bool   // it fired, and a read that sets it again is open
	again    bool   // it fired during that read, because another read had set it too; one more read follows
	spare    bool   // the open read is that additional one, which may return nothing new
	watchers []onceWatcher
}

type onceWatcher struct {
	number uint32
	since  int64 // zxid at its creation
}

// recursive is a persistent recursive watch of a node.
type recursive struct {
	slash    bool // keys begin with a slash
	watchers []treeWatcher
}

// treeWatcher is a watcher of the keys from key to end below the node.
type treeWatcher struct {
	number   uint32
	key, end []byte
}

// hearing detects a mute connection as the Java client does (readTimeout in ClientCnxn): a reply
// is due and no input has arrived for two thirds of the session's timeout. At the end of the
// timeout the server may have expired the session if it received nothing either.
type hearing struct {
	heard bool  // input arrived since the last check
	at    int64 // time of the last input, or at which no reply was due; 0: not checked yet
	mute  bool
}

// signs are the signs of life of a load that keeps its session alive with its operations.
type signs struct {
	sent, seen uint64 // operations: total, and total at the last check
	at         int64  // time of the last check with new operations; 0: not checked yet
	// over reports that the load has sent nothing for so long that its session has expired or
	// will. The server closes silent connections by a separate clock, in steps of 10 s, and so
	// sometimes before the session expires. A codec that continued such a session on a new
	// connection would bring a dead client back to life.
	over bool
}
