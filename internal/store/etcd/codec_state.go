package etcd

import (
	"errors"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
	"github.com/quorumbench/quorumbench/internal/wire/h2"
)

// The calls that the codec sends. Each request has a number, `sub`, which package h2 returns with
// the reply. The low bits of sub contain the call. The high bits contain the generation of the
// token that the request used.
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
	callSTMRead // the reply to this call, or to a later one up to callStream, need not end an operation
	callSTMCommit
	callLock
	callUnlock
	callLockWatch
	callWatch
	callKeepAlive
	callPage
	callStream
	callReplayedRead // this and all later values are recorded calls, each of which ends with its reply
	callReplayedList // a read whose keys the caller wants
	callReplayedWrite
	callReplayedTxn
	callReplayedGuarded
	callReplayedGrant
	callReplayedStatus
	genShift = 5
	callMask = 1<<genShift - 1
	genMask  = 1<<(8-genShift) - 1
)

// ownTag is a bit in the tags of calls and streams that the codec creates for itself. It is not set
// in the tags of operations. The additional bit in scanTag distinguishes requests for pages of a
// range from requests in a transaction.
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
	ledWatchRPC                                         h2.Method // a Watch call that the member ends if it does not know a leader

	login *login // shared by all codecs of the event loop; nil without a user
	gen   uint32 // generation of the token that this connection uses
	now   int64  // the time that was passed to the last call of Tick

	// ids contains the start of the last response header, up to and including the member ID. These
	// bytes are the same in all replies on a connection, so parseHeader compares them instead of
	// parsing them.
	ids    [24]byte
	idsLen int
	member uint64

	extra replyExtras // fields of the latest reply that the reply's event does not contain

	watches    []watchStream    // indexed by store.WatchOp.Stream
	keepAlives []keepStream     // one stream for each lease, if the server allows enough streams
	leases     map[int64]uint32 // maps a lease to the index of its stream in keepAlives
	nextShared uint32           // index in keepAlives of the stream that was shared last
	stm        stmTable
	waits      lockWaits
	scans      scanTable

	keys        store.Keys  // receives the keys in replies to ranges; may be nil
	listTag     uint32      // tag of the range whose reply is being parsed
	wantsKeys   bool        // set if the keys of that range are passed to `keys`
	wantsValues bool        // set if the values are passed, too
	currentKey  store.Event // the key that is being passed to `keys`

	request       []byte         // the request that was encoded last
	parts         []call.Part    // parts of the transaction that is being encoded
	cancellations []cancellation // operations that wait for the cancellation of a recorded watcher
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

// cancellation is an operation that has requested the cancellation of a watcher.
type cancellation struct{ tag, watcher uint32 }

// replyExtras holds fields of a reply that the reply's event does not contain.
type replyExtras struct {
	revision  int64 // the store's revision, from the latest header
	total     int64 // number of keys in the range, regardless of the limit
	more      bool  // set if the limit excluded keys of the range
	succeeded bool  // the transaction's comparisons held
	puts      int64 // number of writes in the transaction
	version   int64 // version of the first key that was read: the number of its writes since its creation
	ranges    int64 // number of reads in the transaction
}

// keepStream is the LeaseKeepAlive stream of a lease. The lease's first keep-alive opens the
// stream, and the stream then stays open. If the server allows too few streams, several leases
// share a stream. The server replies in the order of the requests.
type keepStream struct {
	id    uint32     // number of the HTTP/2 stream; 0 if the stream is not open
	sent  []sentKeep // the requests that wait for a reply, oldest first
	first int        // index of the first valid element of sent
}

// sentKeep is a keep-alive that was sent.
type sentKeep struct {
	tag   uint32
	lease int64
}

// lock is the lock of a transaction. The codec acquires it before the transaction's first read and
// releases it after the commit. To acquire it, the codec uses either etcd's lock service (v3lockpb)
// or a client-side mutex (see codec_mutex.go). Both use the same keys.
type lock struct {
	state   lockState
	isMutex bool // set for a client-side mutex, not set for etcd's lock service
	session int64
	// memory contains the bytes of prefix, end and key. prefix is the lock's name followed by a
	// slash. The interval from prefix to end contains the keys of all clients that want the lock.
	// key is this client's own key: prefix followed by the lease in hexadecimal.
	memory           []byte
	prefix, end, key []byte
	mutex            mutex
	result           store.Event // the transaction's event
}

type lockState uint8

const (
	unlocked        lockState = iota // no lock is wanted, or the lock was released
	wantsLock                        // the request for the lock has not been sent yet
	locking                          // the request for the lock was sent
	wantsOlderKey                    // client-side: the read of the next older key has not been sent yet
	readingOlderKey                  // client-side: the read of the next older key was sent
	wantsWatcher                     // client-side: the watcher for the older key has not been requested yet
	waiting                          // client-side: the codec waits until the older key, which it watches, is deleted
	wantsCheck                       // client-side: the read that checks whether this client's key still exists has not been sent yet
	checking                         // client-side: the read that checks whether this client's key still exists was sent
	holding                          // the lock is held; reads and commits may be sent
	wantsUnlock                      // the request to release the lock has not been sent yet
	unlocking                        // the request to release the lock was sent
	wantsAbandon                     // the transaction ended early; the request to release the lock has not been sent yet
	abandoning                       // the transaction ended early; the request to release the lock was sent
)

// login holds the token that all codecs of one event loop share. One codec logs in for all of
// them, because etcd checks passwords with bcrypt, which costs a member tens of milliseconds.
type login struct {
	user, password string

	hasToken    bool   // set if token is valid
	token       string // empty if authentication is disabled in the cluster
	gen         uint32 // generation of the token
	requestedAt int64  // time at which the token was requested

	owner     *codec // the codec that is logging in; nil if no codec is logging in
	claimedAt int64  // time at which owner started to log in
	retryAt   int64  // time before which no new attempt is made
	failures  int    // number of consecutive failures
}

// mutex is the state of a client-side lock, which works like the mutex in package concurrency of
// etcd's client. Each client creates a key under the lock's prefix and binds the key to the
// client's lease. The client with the oldest key holds the lock. A waiting client watches the next
// older key, which is the key that was created just before its own. When that key has been deleted,
// the client again looks for an older key. If it finds none, it checks that its own key still
// exists.
type mutex struct {
	created    int64  // the create_revision of this client's key
	olderKey   []byte // the next older key
	revision   int64  // the store's revision when the codec read the next older key
	watcher    int64  // the number that the server gave the watcher, or noLockWatcher
	watchCount uint32 // number of this mutex's watches so far; shows whether a reply is for an abandoned watch
}

const noLockWatcher = -1

// lockWaits holds the Watch stream that all mutexes on the connection share.
type lockWaits struct {
	stream   uint32 // number of the HTTP/2 stream; 0 if the stream is not open
	creating []lockWait
	first    int              // index of the first valid element of creating
	watchers map[int64]uint32 // index of the waiting transaction, by the server's watcher number
	events   []store.Event    // events in the message that is being parsed
}

// lockWait is a request for a watcher. The field `wait` is the mutex's watchCount at the time of
// the request. If watchCount has changed since then, the request is obsolete.
type lockWait struct{ slot, wait uint32 }

var errMalformed = errors.New("the server sent a malformed protobuf message; is it an etcd server?")

// scan is a range whose result arrives in parts: as a stream, or in pages that the codec
// requests one after the other.
type scan struct {
	tag    uint32
	busy   bool
	stream uint32 // number of the HTTP/2 stream; 0 if the range is read in pages
	// op and key describe the request for the next page, which starts at key. Their slices refer to
	// memory. op.Limit is the number of keys that the operation may still read; 0 means no limit.
	op       store.RangeOp
	key      []byte
	level    kv.Consistency
	memory   []byte
	revision int64 // revision of the first page; all later pages are read at this revision
	pages    uint32

	found       store.Event // the combined event for all parts so far; its slices refer to first
	first       []byte      // the first key and its value
	counted     int64       // the count field of the latest part
	last        []byte      // the last KeyValue in the latest part
	more        bool        // set if more keys exist after the latest part
	finished    bool        // set if the part that contains the header has arrived
	wantsKeys   bool        // set if the keys are passed to codec.keys
	wantsValues bool        // set if the values are passed, too
	stalled     bool        // set while the range waits until the connection can take another request
}

// scanTable holds those ranges on a connection that arrive in parts. The tag of a request for a
// page is scanTag plus the range's index in table.
type scanTable struct {
	table   []scan
	unused  []uint32
	open    int
	stalled []uint32
}

// stm is an optimistic transaction in progress. It works like a transaction of package concurrency
// in etcd's client. It first reads its keys. Then it sends a Txn request, which compares the
// present version of each key with the version that was read, and writes the new values. If a
// comparison fails, the transaction starts over. At isolation levels below Serializable, all reads
// in one try are sent together. At Serializable and above, the first read is sent alone, because
// the other reads must use its revision.
type stm struct {
	tag           uint32
	busy          bool
	iso           kv.Isolation
	edit          func(pair int, value, read, write []byte) []byte
	pairs         []stmPair
	memory        []byte // the pairs' keys and values
	next          int    // index of the next read to send in this try
	pendingReads  int    // number of reads in this try whose reply has not arrived
	firstRevision int64  // at Serializable and above: the revision of the first read

	requests, retries uint32
	committing        bool // the Txn was sent
	observer          store.STMObserver
	lock              lock
	stalled           bool // set while the transaction waits until the connection can take another request
}

// stmPair is one key in a transaction. Its slices refer to stm.memory.
type stmPair struct {
	key, value []byte
	writes     bool
	exists     bool
	version    int64  // the key's mod_revision; 0 if the key does not exist
	revision   int64  // the store's revision when the key was read
	readValue  []byte // the value that was read, if an edit needs it
	writeValue []byte // the value to write
}

// stmTable holds the transactions on a connection. The tag of a read combines ownTag, the
// transaction's index in table, and the index of the pair.
type stmTable struct {
	table     []stm
	unused    []uint32
	open      int
	releasing int // number of ended transactions whose lock is still being released
	stalled   []uint32
}

const (
	stmPairBits = 11
	maxSTMPairs = 1 << stmPairBits
)

// watchStream is a Watch stream that many watchers share. The server numbers the watchers on a
// stream from 0, and replies in the order of the requests.
type watchStream struct {
	id       uint32     // number of the HTTP/2 stream; 0 if the stream is not open
	watchers []uint32   // maps the server's number for a watcher to the engine's number
	creating []creation // the create requests that have no reply yet, oldest first
	first    int        // index of the first valid element of creating
}

type creation struct{ tag, watcher uint32 }

const (
	noWatcher    = 1<<32 - 1 // number of a watcher that was cancelled, or abandoned before its creation
	abandonedTag = 1<<32 - 1 // tag of an abandoned create request or keep-alive
	maxWatchers  = 1 << 24   // maximum number of watchers on one stream
)
