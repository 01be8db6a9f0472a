package zookeeper

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/wire/jute"
)

// Limits of one connection.
const (
	maxUnanswered    = 4096     // requests without a reply
	maxBufferedBytes = 64 << 20 // total size of these requests, in bytes
)

// The kinds of requests. A reply has the kind of its request, so the codec knows how to handle it.
const (
	callIgnored   = iota // a request whose reply is ignored
	callClose            // closeSession
	callRefused          // a request without effect, sent for an operation that the codec refuses
	callPut              // setData
	callPutCreate        // create, sent if setData did not find the node
	callPutRetry         // create, sent after the parents were created
	callGet
	callExists
	callSync // sync before a linearizable read; the reply to the read completes the operation
	callRange
	callDelete
	callCAS       // setData with a version
	callCASRead   // exists, to read the current version
	callCASCreate // create, sent if the node must not exist
	callCASRetry  // create, sent after the parents were created
	callTxn
	callEphemeral
	callEphemeralRetry // create, sent after the parents were created
	callPing
	callWatchRead   // getData that sets a watch
	callWatchExists // exists that sets the watch, sent if the node does not exist
	callAddWatch
	callRearm       // getData that sets a watch again after it fired
	callRearmExists // exists that sets a watch again after it fired
	callProgress    // a request whose reply shows which events the watchers have received
	callReplayed    // a recorded call; the reply is needed only for the outcome
	callReplayedSync
	callReplayedGet
	callReplayedExists
	callReplayedList
	callReplayedNames // a recorded list; the caller needs the names
	callReplayedCreate
	callReplayedSet
	callReplayedMulti
)

// codec implements ZooKeeper's protocol on one connection.
type codec struct {
	conn     *jute.Conn
	acl      jute.ACL
	pingAt   int64 // time of the next ping or, if noPings is set, of the next check; 0: no session yet
	silence  silenceDetector
	noPings  bool         // the codec sends no pings, because the load keeps the session alive
	activity loadActivity // used if noPings is set: whether the load still sends operations
	dialect  Dialect
	newest   int64              // highest zxid that the session has seen
	names    *duplicateDetector // shared by the codecs of the event loop

	syncCode    jute.Code // result of the last sync
	syncProblem []byte    // reason why the reply to the last sync is impossible, or nil
	values      fifo      // values of compare-and-sets that are waiting for the node's version
	ranges      fifo      // keys and ends of the ranges without a reply
	limits      []int64   // limits of these ranges
	reasons     []string  // reasons of the refused operations without a reply
	multi       []jute.MultiOp
	watches     watches
	keys        store.Keys // receives the names and versions in the replies to recorded calls, or nil
	closed      bool       // the codec has replayed a recorded closeSession
}

// plainWatch is a watch that an application sets with a read.
type plainWatch struct {
	path    []byte
	tag     uint32 // tag of the read that sets the watch
	watcher uint32
	set     bool // the reply to the read has arrived
}

// Dialect describes which guarantees of ZooKeeper a server lacks. The zero Dialect is ZooKeeper
// itself.
type Dialect struct {
	// MayReadOlderState is set if a read may return an older state than an earlier response did.
	MayReadOlderState bool
	// MayHideChild is set if the root's Stat may count children that the list of children omits.
	MayHideChild bool
	// StatsAfterMulti is set if each Stat in the reply to a multi shows the state after the whole
	// transaction. In ZooKeeper, each Stat shows the state after the operation to which the Stat
	// belongs.
	StatsAfterMulti bool
}

// watches holds the watches of one connection.
type watches struct {
	creating  map[uint32]creation // by tag of the operation
	once      map[string]*oneShot // by path
	recursive map[string]*recursive
	plain     []plainWatch
}

// creation describes a watcher whose request has no reply yet.
type creation struct {
	watcher  uint32
	key, end []byte
	mode     kv.WatchMode
}

// oneShot is a watch of a node's data. The codec sets it again each time it fires.
type oneShot struct {
	key          []byte // the load's key, with or without a leading slash
	lastMzxid    int64  // mzxid of the node at the last read
	deletionZxid int64  // zxid of a deletion that is not yet reported, or 0
	reading      bool   // the watch fired, and a read that sets it again has no reply yet
	firedAgain   bool   // the watch fired again during that read, so one more read must follow
	extraRead    bool   // the current read is that additional read, which may return nothing new
	watchers     []onceWatcher
}

type onceWatcher struct {
	number uint32
	since  int64 // zxid when the watcher was created
}

// recursive is a persistent recursive watch of a node.
type recursive struct {
	slash    bool // the load's keys begin with a slash
	watchers []treeWatcher
}

// treeWatcher watches the keys from key to end below the node.
type treeWatcher struct {
	number   uint32
	key, end []byte
}

// silenceDetector detects a mute connection as the Java client does (readTimeout in ClientCnxn). A
// connection is mute if a reply is due and no input has arrived for two thirds of the session
// timeout. After the whole session timeout, the server may already have expired the session,
// because it may not have received any requests.
type silenceDetector struct {
	inputArrived bool  // input has arrived since the last check
	lastInput    int64 // latest time when input arrived or no reply was due; 0 initially
	mute         bool
}

// loadActivity is used if only the load's operations keep the session alive. It tracks whether the
// load still sends operations.
type loadActivity struct {
	sent, lastSent uint64 // operations sent by now, and at the last check
	lastActive     int64  // time of the last check that found new operations; 0 before the first check
	// sessionOver is set if the load has sent nothing for so long that its session has expired or
	// is about to expire. The server has a separate timer for silent connections, in steps of 10 s,
	// so it sometimes closes the connection before the session expires. If a codec then continued
	// the session on a new connection, a client that is supposed to be dead would live on.
	sessionOver bool
}
