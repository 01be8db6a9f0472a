package zookeeper

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/wire/jute"
)

// Limits of one connection.
const (
	maxOpen = 4096     // requests that wait for their answers
	maxHeld = 64 << 20 // bytes of them
)

// The calls: what an answer is an answer to.
const (
	callIgnored   = iota // a request whose answer decides nothing
	callClose            // the end of the session
	callRefused          // an operation that cannot be sent; something harmless went instead
	callPut              // setData
	callPutCreate        // create, after setData found no node
	callPutAgain         // create, after the parents were made
	callGet
	callExists
	callSync // before a linearizable read, which decides
	callRange
	callDelete
	callCAS       // setData with a version
	callCASRead   // exists, for a version that is not known
	callCASCreate // create, where no node may be
	callCASAgain  // create, after the parents were made
	callTxn
	callEphemeral
	callEphemeralAgain // after the parents were made
	callPing
	callWatchRead   // getData, which sets a watch
	callWatchExists // exists, which sets it where there is no node
	callAddWatch
	callSetAgain    // getData, after a watch fired
	callExistsAgain // exists, likewise
	callProgress    // a request whose answer says how far the watchers were told
	callAgain       // a recorded call whose answer says no more than how it ended
	callAgainSync
	callAgainGet
	callAgainExists
	callAgainList
	callAgainNames // likewise, whose names are wanted
	callAgainCreate
	callAgainSet
	callAgainMulti
)

// codec is ZooKeeper's protocol on one connection.
type codec struct {
	conn    *jute.Conn
	acl     jute.ACL
	pingAt  int64 // or when it is looked whether the load has sent something; 0: no session yet
	hearing hearing
	quiet   bool  // it sends no pings of its own: the load keeps the session alive
	load    signs // of life, where it does
	dialect Dialect
	newest  int64  // transaction that the session has seen
	names   *names // of the event loop

	synced  jute.Code // how the last sync ended
	syncWhy []byte    // a sentence about its answer; nil: nothing is wrong
	values  fifo      // of compare-and-sets whose version is being read
	ranges  fifo      // keys and ends of ranges under way
	limits  []int64   // of the same ranges
	reasons []string  // of refused operations under way
	multi   []jute.MultiOp
	watches watches
	heard   store.Keys // takes the versions that transactions of a recording make; or nil
	closed  bool       // the session was ended, as it was in a recording
}

// bareWatch is such a watch.
type bareWatch struct {
	path    []byte
	tag     uint32 // of the read that sets it
	watcher uint32
	set     bool // the read was answered
}

// Dialect is what a server that speaks ZooKeeper's protocol promises less than
// ZooKeeper, whose own is the zero Dialect.
type Dialect struct {
	// GoesBack: a read may show an older state than an answer before it.
	GoesBack bool
	// HidesChild: the root's Stat may count children that its list leaves out.
	HidesChild bool
	// LateStats: the Stats in the answer to a multi are of its end, and not of
	// the operation that they belong to.
	LateStats bool
}

// watches are those of one connection.
type watches struct {
	creating  map[uint32]creation // by the operation's tag
	once      map[string]*oneShot // by the path
	recursive map[string]*recursive
	bare      []bareWatch
}

// creation is a watcher that is asked for.
type creation struct {
	watcher  uint32
	key, end []byte
	mode     kv.WatchMode
}

// oneShot is a watch of a node's data that is set again and again.
type oneShot struct {
	key     []byte // as the load spells it
	at      int64  // the transaction that made what was read last
	deleted int64  // that of the deletion that is to be told; 0: none that is known
	reading bool   // it fired, and is being set again
	again   bool   // it fired meanwhile: another read had set it too, so that one more is made
	spare   bool   // what is being read is that one, which may show nothing new
	of      []onceWatcher
}

type onceWatcher struct {
	number uint32
	since  int64 // what it has seen with its creation
}

// recursive is a persistent recursive watch of a node.
type recursive struct {
	slash bool // keys are spelt with a slash at their beginning
	of    []treeWatcher
}

// treeWatcher is one that watches the keys from key to end below the node.
type treeWatcher struct {
	number   uint32
	key, end []byte
}

// hearing knows whether a connection is mute, as the Java client does (readTimeout in
// ClientCnxn): an answer is awaited, and nothing has come for two thirds of the session's
// timeout. The server may have ended the session at the end of that, when nothing has come
// to it either.
type hearing struct {
	heard bool  // something came since the last look
	at    int64 // when something came at last, or nothing was awaited; 0: not looked yet
	mute  bool
}

// signs are the signs of life of a load that keeps its session alive by what it sends.
type signs struct {
	sent, seen uint64 // operations, in all and when they were looked at last
	at         int64  // when there were new ones at last; 0: not looked yet
	// over says that the load has sent nothing for so long that its session ends, or has.
	// A server closes a connection on which nothing comes by a clock of its own, in steps
	// of 10 s, and so now and then before the session has ended: who took that up on a
	// new connection would have it live once more, and the dead do not.
	over bool
}
