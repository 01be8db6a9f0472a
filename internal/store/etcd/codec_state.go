package etcd

import (
	"errors"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
	"github.com/quorumbench/quorumbench/internal/wire/h2"
)

// Calls: the low bits of a stream's sub. The high bits hold the token's
// generation.
const (
	callPut = iota + 1
	callGet
	callRange
	callCount
	callDelete
	callCAS
	callTxn
	callTxnGet
	callTxnCount
	callExists
	callAuth
	callSTMRead // up to callStream: a reply does not necessarily end an operation
	callSTMCommit
	callLock
	callUnlock
	callLockWatch
	callWatch
	callKeepAlive
	callPage
	callStream
	callAgainRead // recorded calls, which end with their reply
	callAgainList // with keys that the caller wants
	callAgainWrite
	callAgainTxn
	callAgainGuarded
	callAgainGrant
	callAgainStatus
	genShift = 5
	callMask = 1<<genShift - 1
	genMask  = 1<<(8-genShift) - 1
)

// ownTag marks the tags of the codec's internal calls and streams; no operation's
// tag has this bit. scanTag's other bit distinguishes pages of a range from
// requests of a transaction.
const (
	ownTag  = 1 << 31
	scanTag = ownTag | 1<<30
	authTag = 1<<32 - 1
)

// codec implements etcd's v3 API on one connection.
type codec struct {
	grants *store.Grants // receives the leases that operations were granted; nil: none wanted
	conn   *h2.Conn

	rangeRPC, streamRPC, putRPC, deleteRPC, txnRPC      h2.Method
	authRPC, watchRPC, keepAliveRPC, lockRPC, unlockRPC h2.Method
	grantRPC, revokeRPC, compactRPC, statusRPC          h2.Method
	ledWatchRPC                                         h2.Method // a Watch that the server ends if there is no leader

	login *login // shared by the loop's codecs; nil without a user
	gen   uint32 // generation of the token in use
	now   int64  // the latest known time

	// The start of the last response header up to and including the member ID. It
	// is identical in all replies of a connection, so parseHeader compares it
	// instead of parsing.
	ids    [24]byte
	idsLen int
	member uint64

	extra aside // fields of the latest reply that are not in its event

	watches []watchStream    // by the operation's Stream
	keep    []keepStream     // one per lease
	leases  map[int64]uint32 // index in keep by lease
	stm     stms
	waits   lockWaits
	scans   scans

	keys    store.Keys  // receives the keys of ranges; may be nil
	listing uint32      // tag of the range whose reply is being parsed
	listed  bool        // its keys are passed to keys
	values  bool        // with their values
	each    store.Event // the key that is passed on

	request []byte      // the latest encoded request
	parts   []call.Part // of a transaction
	endings []ending    // of recorded watchers
}

func newCodec(cfg h2.Config, l *login, now int64) *codec {
	c := &codec{conn: h2.NewConn(cfg), login: l, now: now}
	metadata := l != nil
	c.rangeRPC = c.conn.Register("/etcdserverpb.KV/Range", metadata)
	c.streamRPC = c.conn.Register("/etcdserverpb.KV/RangeStream", metadata)
	c.putRPC = c.conn.Register("/etcdserverpb.KV/Put", metadata)
	c.deleteRPC = c.conn.Register("/etcdserverpb.KV/DeleteRange", metadata)
	c.txnRPC = c.conn.Register("/etcdserverpb.KV/Txn", metadata)
	c.authRPC = c.conn.Register("/etcdserverpb.Auth/Authenticate", false)
	c.watchRPC = c.conn.Register("/etcdserverpb.Watch/Watch", metadata)
	c.lockRPC = c.conn.Register("/v3lockpb.Lock/Lock", metadata)
	c.unlockRPC = c.conn.Register("/v3lockpb.Lock/Unlock", metadata)
	c.keepAliveRPC = c.conn.Register("/etcdserverpb.Lease/LeaseKeepAlive", metadata)
	c.grantRPC = c.conn.Register("/etcdserverpb.Lease/LeaseGrant", metadata)
	c.revokeRPC = c.conn.Register("/etcdserverpb.Lease/LeaseRevoke", metadata)
	c.compactRPC = c.conn.Register("/etcdserverpb.KV/Compact", metadata)
	c.statusRPC = c.conn.Register("/etcdserverpb.Maintenance/Status", metadata)
	c.ledWatchRPC = c.conn.RegisterWith("/etcdserverpb.Watch/Watch", metadata, "hasleader", "true")
	return c
}

// ending is a requested cancellation of a watcher.
type ending struct{ tag, watcher uint32 }

// aside holds the fields of a reply that are not in its event.
type aside struct {
	revision  int64 // the store's revision, from the latest header
	total     int64 // number of keys without the limit
	more      bool  // there are keys beyond the limit
	succeeded bool  // a transaction's comparisons held
	puts      int64 // a transaction's writes
	version   int64 // of the first key read: the number of writes since it was created
	ranges    int64 // a transaction's reads
}

// keepStream is the LeaseKeepAlive stream of one lease. It is opened at the first
// use and stays open. The server replies in request order.
type keepStream struct {
	id    uint32 // HTTP/2 stream; 0: not open
	lease int64
	tags  []uint32 // the waiting operations, oldest first
	first int      // index of the first valid element of tags
}

// lock is the lock that a transaction holds: acquired before its first read and
// released after its commit. Either etcd's lock service (v3lockpb) or the client
// acquires it (see codec_mutex.go), with the same keys.
type lock struct {
	state   lockState
	client  bool // the client acquires it, not etcd's lock service
	session int64
	// memory holds the keys: prefix (the name and a slash) and end, the interval
	// of the keys of all clients that want the lock; and this client's key, which
	// appends the lease in hexadecimal.
	memory           []byte
	prefix, end, key []byte
	mutex            mutex
	result           store.Event // of the transaction
}

type lockState uint8

const (
	unlocked    lockState = iota // not wanted, or released
	wantsLock                    // request not sent yet
	locking                      // request sent
	wantsOthers                  // client-side: must look for an earlier key
	asking                       // request sent
	wantsWait                    // client-side: must watch the earlier key
	waiting                      // for the earlier key's deletion
	wantsCheck                   // client-side: must check that our key still exists
	checking                     // request sent
	holding                      // reads and commits proceed
	wantsUnlock                  // release not sent yet
	unlocking                    // release sent
	leaving                      // the transaction ended early: release not sent yet
	left                         // the transaction ended early: release sent
)

// login holds the token that the codecs of one event loop share. etcd checks
// passwords with bcrypt, which costs a member tens of milliseconds, so one codec
// logs in for all of them.
type login struct {
	user, password string

	have  bool   // the token is valid
	token string // empty if the cluster has authentication turned off
	gen   uint32 // of the token
	asked int64  // when the token was requested

	owner    *codec // the codec that is logging in; nil: none
	claimed  int64  // when owner started
	retryAt  int64  // no new attempt before this time
	failures int    // consecutive
}

// mutex is a lock made as in package concurrency of etcd's client. Each client
// creates a key under the prefix, bound to its lease; the owner of the oldest key
// holds the lock. A waiting client watches the key created just before its own
// until that key is deleted, looks for an earlier key again, and finally checks
// that its own key still exists.
type mutex struct {
	created  int64  // our key's create_revision
	before   []byte // the key created just before ours
	revision int64  // the store's revision when before was read
	watcher  int64  // the server's number of the watcher; or noLockWatcher
	wait     uint32 // counts the watches, to recognize replies to abandoned ones
}

const noLockWatcher = -1

// lockWaits holds the Watch stream of the connection's mutexes.
type lockWaits struct {
	stream   uint32 // 0: not open
	creating []lockWait
	first    int              // index of the first valid element of creating
	watchers map[int64]uint32 // index of the waiting transaction, by the server's watcher number
	events   []store.Event    // of the message being parsed
}

// lockWait is a requested watcher. It is obsolete once the mutex's wait count
// differs.
type lockWait struct{ place, wait uint32 }

var errMalformed = errors.New("the server sent a malformed protobuf message; is it an etcd server?")

// scan is a range whose result arrives in parts: streamed, or in pages that are
// requested one after the other.
type scan struct {
	tag    uint32
	busy   bool
	stream uint32 // the HTTP/2 stream's id; 0: pages
	// op is the request for the next page, which starts at key; its slices point
	// into memory. Its Limit is the rest of the operation's limit, 0 for no
	// limit.
	op       store.RangeOp
	key      []byte
	level    kv.Consistency
	memory   []byte
	revision int64 // of the first page; the other pages are read at the same revision
	pages    uint32

	found    store.Event // of all parts so far; its slices point into first
	first    []byte      // the first key and its value
	counted  int64       // the total count in the latest part
	last     []byte      // the part's last KeyValue
	more     bool        // more parts follow, or the limit was reached
	finished bool        // the part with the header has arrived
	listed   bool        // its keys are passed to keys
	values   bool        // with their values
	stalled  bool        // waits for room
}

// scans holds a connection's ranges that arrive in parts. A page's tag is scanTag
// plus the index in table.
type scans struct {
	table   []scan
	unused  []uint32
	open    int
	stalled []uint32
}

// stm is an optimistic transaction in progress, as in package concurrency of
// etcd's client: it reads its keys, then commits a Txn that compares the versions
// read and writes, and starts over when a comparison fails. The reads of one try
// are sent together; at isolation Serializable and above the first read is sent
// before the others, which must use its revision.
type stm struct {
	tag    uint32
	busy   bool
	iso    kv.Isolation
	edit   func(pair int, value, read, write []byte) []byte
	pairs  []stmPair
	memory []byte // the pairs' keys and values
	next   int    // index of the next read to send
	left   int    // reads of this try without a reply
	base   int64  // at Serializable and above: the revision of the first read

	requests, retries uint32
	committing        bool // the Txn was sent
	observer          store.STMObserver
	lock              lock
	stalled           bool // waits for room
}

// stmPair is a key of a transaction. Its slices point into stm.memory.
type stmPair struct {
	key, value []byte
	writes     bool
	found      bool
	version    int64  // its mod_revision; 0: the key does not exist
	revision   int64  // the store's revision at the read
	read       []byte // its value, if an edit needs it
	write      []byte // the value to write
}

// stms holds a connection's transactions. A read's tag combines ownTag, the
// transaction's index in table, and the pair's index.
type stms struct {
	table   []stm
	unused  []uint32
	open    int
	left    int // slots of ended transactions whose lock is still being released
	stalled []uint32
}

const (
	stmPairBits = 11
	maxSTMPairs = 1 << stmPairBits
)

// watchStream is a Watch stream that many watchers share. The server numbers a
// stream's watchers from 0 and replies in request order.
type watchStream struct {
	id       uint32     // of the HTTP/2 stream; 0: not open
	watchers []uint32   // the engine's watcher number, by the server's
	creating []creation // pending create requests, oldest first
	first    int        // index of the first valid element of creating
}

type creation struct{ tag, watcher uint32 }

const (
	noWatcher   = 1<<32 - 1 // cancelled, or abandoned before it was created
	gaveUp      = 1<<32 - 1 // tag of an abandoned creation or keep-alive
	maxWatchers = 1 << 24   // per stream
)
