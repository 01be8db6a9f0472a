package etcd

import (
	"errors"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
	"github.com/quorumbench/quorumbench/internal/wire/h2"
)

// Calls. h2 returns a number called sub with each reply. The sub's low bits contain the call that
// the codec sent. The high bits contain the generation of the token that the request used.
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
	callSTMRead // from here to callStream: a reply need not end an operation
	callSTMCommit
	callLock
	callUnlock
	callLockWatch
	callWatch
	callKeepAlive
	callPage
	callStream
	callAgainRead // this call and the next ones are recorded calls, which end with their reply
	callAgainList // a read whose keys the caller wants
	callAgainWrite
	callAgainTxn
	callAgainGuarded
	callAgainGrant
	callAgainStatus
	genShift = 5
	callMask = 1<<genShift - 1
	genMask  = 1<<(8-genShift) - 1
)

// ownTag is set in the tags of calls and streams that the codec creates for itself; it is not
// set in an operation's tag. The additional bit in scanTag distinguishes a request for a page
// of a range from a request in a transaction.
const (
	ownTag  = 1 << 31
	scanTag = ownTag | 1<<30
	authTag = 1<<32 - 1
)

// codec implements etcd's v3 API on one connection.
type codec struct {
	grants *store.Grants // collects leases granted to operations; nil if not wanted
	conn   *h2.Conn

	rangeRPC, streamRPC, putRPC, deleteRPC, txnRPC      h2.Method
	authRPC, watchRPC, keepAliveRPC, lockRPC, unlockRPC h2.Method
	grantRPC, revokeRPC, compactRPC, statusRPC          h2.Method
	ledWatchRPC                                         h2.Method // a Watch that the server ends if the member knows no leader

	login *login // shared by all codecs of the event loop; nil without a user
	gen   uint32 // generation of the token that this connection uses
	now   int64  // the current time when Tick was last called

	// ids contains the start of the last response header, up to and including the member ID. These
	// bytes are the same in all replies on a connection, so parseHeader compares them instead of
	// parsing them.
	ids    [24]byte
	idsLen int
	member uint64

	extra aside // fields of the latest reply that its event does not contain

	watches []watchStream    // indexed by the operation's Stream
	keep    []keepStream     // one stream for each lease
	leases  map[int64]uint32 // maps a lease to its index in keep
	stm     stms
	waits   lockWaits
	scans   scans

	keys    store.Keys  // receives the keys in replies to ranges; may be nil
	listing uint32      // tag of the range whose reply is being parsed
	listed  bool        // that range's keys are passed to keys
	values  bool        // their values are passed, too
	each    store.Event // the key that is being passed

	request []byte      // the request that was encoded last
	parts   []call.Part // parts of the transaction that is being encoded
	endings []ending    // operations that wait until a recorded watcher has ended
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

// ending is an operation that requested the cancellation of a watcher.
type ending struct{ tag, watcher uint32 }

// aside holds fields of a reply that the reply's event does not contain.
type aside struct {
	revision  int64 // the store's revision, from the latest header
	total     int64 // number of keys that there would be without the limit
	more      bool  // there are more keys than the limit allowed
	succeeded bool  // the transaction's comparisons held
	puts      int64 // number of writes in the transaction
	version   int64 // number of writes to the first key read since it was created
	ranges    int64 // number of reads in the transaction
}

// keepStream is the LeaseKeepAlive stream for one lease. The lease's first keep-alive opens it,
// and it stays open. The server replies in the order of the requests.
type keepStream struct {
	id    uint32 // number of the HTTP/2 stream; 0 if the stream is not open
	lease int64
	tags  []uint32 // tags of the operations that wait for a reply, oldest first
	first int      // index of the first valid element of tags
}

// lock is the lock that a transaction holds. It is acquired before the transaction's first read
// and released after its commit. Either etcd's lock service (v3lockpb) acquires it, or the
// client does (see codec_mutex.go). Both use the same keys.
type lock struct {
	state   lockState
	client  bool // the client itself acquires the lock, not etcd's lock service
	session int64
	// memory holds the three keys. prefix is the lock's name and a slash. prefix and end are the
	// interval that contains the keys of all clients that want the lock. key is this client's key:
	// the prefix followed by the lease in hexadecimal.
	memory           []byte
	prefix, end, key []byte
	mutex            mutex
	result           store.Event // the transaction's event
}

type lockState uint8

const (
	unlocked    lockState = iota // no lock is wanted, or the lock was released
	wantsLock                    // the request for the lock was not sent yet
	locking                      // the request for the lock was sent
	wantsOthers                  // client-side: the request for an earlier key was not sent yet
	asking                       // the request for an earlier key was sent
	wantsWait                    // client-side: the earlier key is not being watched yet
	waiting                      // the earlier key is being watched until it is deleted
	wantsCheck                   // client-side: it was not checked yet whether our key still exists
	checking                     // the request that checks whether our key exists was sent
	holding                      // the lock is held; reads and commits may be sent
	wantsUnlock                  // the request to release the lock was not sent yet
	unlocking                    // the request to release the lock was sent
	leaving                      // ended early; the request to release the lock was not sent yet
	left                         // ended early; the request to release the lock was sent
)

// login holds the token that all codecs of one event loop share. One codec logs in for all of
// them, because etcd checks passwords with bcrypt, which costs a member tens of milliseconds.
type login struct {
	user, password string

	have  bool   // there is a valid token
	token string // empty if authentication is disabled in the cluster
	gen   uint32 // generation of the token
	asked int64  // time at which the token was requested

	owner    *codec // the codec that is logging in; nil if no codec is
	claimed  int64  // time at which owner started to log in
	retryAt  int64  // time before which no new attempt is made
	failures int    // number of consecutive failures
}

// mutex is a lock that the client builds as package concurrency in etcd's client does. Each
// client creates a key under the prefix, bound to its lease. The client whose key is the oldest
// holds the lock. A client that waits watches the key that was created just before its own.
// When that key has been deleted, the client looks for an earlier key again. If there is none,
// it checks that its own key still exists.
type mutex struct {
	created  int64  // the create_revision of our key
	before   []byte // the key that was created just before our key
	revision int64  // the store's revision when the codec read that key
	watcher  int64  // the server's number for the watcher, or noLockWatcher
	wait     uint32 // number of watches so far; used to recognize replies to abandoned watches
}

const noLockWatcher = -1

// lockWaits holds the Watch stream that all mutexes on the connection share.
type lockWaits struct {
	stream   uint32 // number of the HTTP/2 stream; 0 if it is not open
	creating []lockWait
	first    int              // index of the first valid element of creating
	watchers map[int64]uint32 // index of the waiting transaction, by the server's watcher number
	events   []store.Event    // events in the message that is being parsed
}

// lockWait is a watcher that was requested. It is obsolete if the mutex's wait count has
// changed since then.
type lockWait struct{ place, wait uint32 }

var errMalformed = errors.New("the server sent a malformed protobuf message; is it an etcd server?")

// scan is a range whose result arrives in parts: as a stream, or in pages that the codec
// requests one after the other.
type scan struct {
	tag    uint32
	busy   bool
	stream uint32 // number of the HTTP/2 stream; 0 if the range is read in pages
	// op describes the request for the next page, which starts at key. The slices in op and key
	// refer to memory. op.Limit is the part of the operation's limit that is left; 0 means no
	// limit.
	op       store.RangeOp
	key      []byte
	level    kv.Consistency
	memory   []byte
	revision int64 // the revision of the first page, at which the other pages are read, too
	pages    uint32

	found    store.Event // the combined event for all parts so far; its slices refer to first
	first    []byte      // the first key and its value
	counted  int64       // the total count according to the latest part
	last     []byte      // the last KeyValue in the latest part
	more     bool        // more keys exist after the latest part
	finished bool        // the part that contains the header has arrived
	listed   bool        // the keys are passed to the codec's keys
	values   bool        // the keys are passed with their values
	stalled  bool        // waits until the connection can take another request
}

// scans holds the ranges on a connection whose results arrive in parts. The tag of a request
// for a page is scanTag plus the range's index in table.
type scans struct {
	table   []scan
	unused  []uint32
	open    int
	stalled []uint32
}

// stm is an optimistic transaction in progress. It works like one in package concurrency in
// etcd's client. It reads its keys, and then commits a Txn that compares the versions that were
// read and writes. If a comparison fails, the transaction starts over. All reads in one try are
// sent together. At isolation Serializable and above, the first read is sent alone, because the
// other reads must use its revision.
type stm struct {
	tag    uint32
	busy   bool
	iso    kv.Isolation
	edit   func(pair int, value, read, write []byte) []byte
	pairs  []stmPair
	memory []byte // the pairs' keys and values
	next   int    // index of the next read to send in this try
	left   int    // number of reads in this try whose reply has not arrived
	base   int64  // at Serializable and above: the revision of the first read

	requests, retries uint32
	committing        bool // the Txn was sent
	observer          store.STMObserver
	lock              lock
	stalled           bool // waits until the connection can take another request
}

// stmPair is one key in a transaction. Its slices refer to stm.memory.
type stmPair struct {
	key, value []byte
	writes     bool
	found      bool
	version    int64  // the key's mod_revision; 0 if the key does not exist
	revision   int64  // the store's revision when the key was read
	read       []byte // the value that was read, if an edit needs it
	write      []byte // the value to write
}

// stms holds the transactions on a connection. The tag of a read combines ownTag, the
// transaction's index in table, and the index of the pair.
type stms struct {
	table   []stm
	unused  []uint32
	open    int
	left    int // slots whose transaction has ended but whose lock is still being released
	stalled []uint32
}

const (
	stmPairBits = 11
	maxSTMPairs = 1 << stmPairBits
)

// watchStream is a Watch stream that many watchers share. The server numbers the watchers on a
// stream from 0, and replies in the order of the requests.
type watchStream struct {
	id       uint32     // number of the HTTP/2 stream; 0 if it is not open
	watchers []uint32   // maps the server's watcher number to the engine's
	creating []creation // the create requests without a reply, oldest first
	first    int        // index of the first valid element of creating
}

type creation struct{ tag, watcher uint32 }

const (
	noWatcher   = 1<<32 - 1 // a watcher that was cancelled, or abandoned before its creation
	gaveUp      = 1<<32 - 1 // tag of an abandoned create request or keep-alive
	maxWatchers = 1 << 24   // maximum number of watchers on one stream
)
