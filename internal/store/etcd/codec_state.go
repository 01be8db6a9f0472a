package etcd

import (
	"errors"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
	"github.com/quorumbench/quorumbench/internal/wire/h2"
)

// The calls, as the low bits of a stream's sub. The high bits are of the
// token's generation.
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
	callSTMRead // from here on a reply is no operation's end by itself
	callSTMCommit
	callLock
	callUnlock
	callLockWatch
	callWatch
	callKeepAlive
	callPage
	callStream
	callAgainRead // recorded calls: of these a reply is the end again
	callAgainList // one whose keys are wanted
	callAgainWrite
	callAgainTxn
	callAgainGuarded
	callAgainGrant
	callAgainStatus
	genShift = 5
	callMask = 1<<genShift - 1
	genMask  = 1<<(8-genShift) - 1
)

// ownTag is in the tags of our own calls and streams, and in no operation's.
// The bit below says whether a page of a range or a transaction has the rest.
const (
	ownTag  = 1 << 31
	scanTag = ownTag | 1<<30
	authTag = 1<<32 - 1
)

// codec is etcd's v3 API on one connection.
type codec struct {
	grants *store.Grants // takes what operations were granted; nil for nobody
	conn   *h2.Conn

	rangeRPC, streamRPC, putRPC, deleteRPC, txnRPC      h2.Method
	authRPC, watchRPC, keepAliveRPC, lockRPC, unlockRPC h2.Method
	grantRPC, revokeRPC, compactRPC, statusRPC          h2.Method
	ledWatchRPC                                         h2.Method // Watch that ends without a leader

	login *login // shared by the loop's codecs; nil without a user
	gen   uint32 // of the token that calls carry
	now   int64  // the last time heard of

	// The start of the last response header, from which the member's id was
	// read: it is the same in every answer of a connection.
	ids    [24]byte
	idsLen int
	member uint64

	extra aside // what the answer that was read last says beyond its event

	watches []watchStream    // by the operation's Stream
	keep    []keepStream     // one for each lease
	leases  map[int64]uint32 // a lease's place in keep
	stm     stms
	waits   lockWaits
	scans   scans

	keys    store.Keys  // takes the keys of ranges; may be nil
	listing uint32      // the tag of the range whose answer is read
	listed  bool        // its keys are handed out
	values  bool        // and their values
	each    store.Event // the one handed out

	request []byte      // the request that was encoded last
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

// ending is a watcher whose end was asked for.
type ending struct{ tag, watcher uint32 }

// aside is what an answer says beyond its event.
type aside struct {
	revision  int64 // of the store, in the header read last
	total     int64 // keys that there are without the limit
	more      bool  // there are keys beyond the limit
	succeeded bool  // a transaction took its first branch
	puts      int64 // a transaction's writes
	version   int64 // of the first key that was read: how often it was written since it was created
	ranges    int64 // and its reads
}

// keepStream is the LeaseKeepAlive stream of one lease. It is opened at the
// first use and kept. Its answers come in the order of the requests.
type keepStream struct {
	id    uint32 // of the HTTP/2 stream; 0: not open
	lease int64
	tags  []uint32 // of the operations that wait, the oldest at first
	first int      // of tags
}

// lock is the lock under which a transaction is made: asked for before its
// first read, and given back after its commit. etcd's lock service (v3lockpb)
// makes it, or we do: see codec_mutex.go. Both are the same keys.
type lock struct {
	state   lockState
	client  bool // we make it
	session int64
	// memory holds the keys: of all who want the lock, from the name and a slash
	// to the name and what follows a slash; and the holder's, which adds the
	// lease in hexadecimal.
	memory           []byte
	prefix, end, key []byte
	mutex            mutex
	result           store.Event // of the transaction
}

type lockState uint8

const (
	unlocked    lockState = iota // none is wanted, or it was given back
	wantsLock                    // to be asked for
	locking                      // asked for
	wantsOthers                  // ours: it is to be asked who is before us
	asking                       // asked
	wantsWait                    // ours: the key before it is to be watched
	waiting                      // for its deletion
	wantsCheck                   // ours: it is to be asked whether our key is still there
	checking                     // asked
	holding                      // reads and commits go on
	wantsUnlock                  // to be given back
	unlocking                    // being given back
	leaving                      // the transaction ended before its time: to be given back
	left                         // likewise: being given back
)

// login is the token that the codecs of one event loop share. etcd checks a
// password with bcrypt, which costs a member tens of milliseconds, so one
// codec logs in for all.
type login struct {
	user, password string

	have  bool   // the token serves
	token string // empty if the cluster has authentication turned off
	gen   uint32 // of the token
	asked int64  // when the token was asked for

	owner    *codec // who is logging in; nil: nobody
	claimed  int64  // since when
	retryAt  int64  // not before
	failures int    // in a row
}

// mutex is a lock as package concurrency of etcd's client makes it: each who
// wants it creates a key under the prefix, bound to his lease, and the oldest
// key's owner has it. Who has to wait watches the key that was created last
// before his own until it is deleted, asks again, and at last whether his own
// is still there.
type mutex struct {
	created  int64  // our key's create_revision
	before   []byte // the key before ours
	revision int64  // at which that was so
	watcher  int64  // the server's number of the watcher; or noLockWatcher
	wait     uint32 // counts the watches
}

const noLockWatcher = -1

// lockWaits is the Watch stream of the connection's mutexes.
type lockWaits struct {
	stream   uint32 // 0: not open
	creating []lockWait
	first    int              // of creating
	watchers map[int64]uint32 // who waits, by the server's number: his place
	events   []store.Event    // of one message
}

// lockWait is a watcher that is asked for. It is not wanted any more if the
// mutex counts another watch.
type lockWait struct{ place, wait uint32 }

var errMalformed = errors.New("the server sent an answer that is no etcd message: its protobuf is malformed")

// scan is a range whose answer comes in parts: as a stream, or as pages that
// are asked for one after the other.
type scan struct {
	tag    uint32
	busy   bool
	stream uint32 // the HTTP/2 stream's id; 0: pages
	// op is the request for the next page, from key on, whose slices lie in
	// memory. Its Limit is what is left of the operation's, 0 for no limit.
	op       store.RangeOp
	key      []byte
	level    kv.Consistency
	memory   []byte
	revision int64 // of the first page: the others are of it too
	pages    uint32

	found    store.Event // of all parts so far; its slices lie in first
	first    []byte      // the first key and its value
	counted  int64       // what a part said of how many there are
	last     []byte      // the part's last KeyValue
	more     bool        // the part was not the last, or the limit was reached
	finished bool        // the part with the header came
	listed   bool        // its keys are handed out
	values   bool        // and their values
	stalled  bool        // waits for room
}

// scans are a connection's ranges in parts. A page's tag is scanTag and the
// range's place.
type scans struct {
	table   []scan
	unused  []uint32
	open    int
	stalled []uint32
}

// stm is an optimistic transaction under way, as package concurrency of etcd's
// client makes them: it reads its keys, then commits a Txn that compares what
// it read and writes, and begins again when a comparison does not hold. The
// reads of one try go out together; from Serializable on the first goes alone,
// for the others are to be of its revision.
type stm struct {
	tag    uint32
	busy   bool
	iso    kv.Isolation
	edit   func(pair int, value, read, write []byte) []byte
	pairs  []stmPair
	memory []byte // the pairs' keys and values
	next   int    // the next read to be sent
	left   int    // reads of this try without an answer
	base   int64  // from Serializable on: the revision of the first read

	requests, retries uint32
	committing        bool // the Txn was sent
	told              store.STMTold
	lock              lock
	stalled           bool // waits for room
}

// stmPair is a key of a transaction. Its slices lie in the stm's memory.
type stmPair struct {
	key, value []byte
	writes     bool
	found      bool
	version    int64  // its mod_revision; 0: it is not there
	revision   int64  // of the store, as it was read
	read       []byte // its value, if it is to be edited
	write      []byte // what was made of it
}

// stms are a connection's transactions. The tag of a read is ownTag, the
// transaction's place, and the pair's number.
type stms struct {
	table   []stm
	unused  []uint32
	open    int
	left    int // places of transactions that ended and whose lock is being given back
	stalled []uint32
}

const (
	stmPairBits = 11
	maxSTMPairs = 1 << stmPairBits
)

// watchStream is one Watch stream, which many watchers share. The server
// numbers a stream's watchers from 0 and answers requests in their order.
type watchStream struct {
	id       uint32     // of the HTTP/2 stream; 0: not open
	watchers []uint32   // the engine's number of each, by the server's
	creating []creation // asked for and not answered, the oldest at first
	first    int        // of creating
}

type creation struct{ tag, watcher uint32 }

const (
	noWatcher   = 1<<32 - 1 // ended, or given up before it was created
	gaveUp      = 1<<32 - 1 // the tag of a creation or keep-alive that was cancelled
	maxWatchers = 1 << 24   // of a stream
)
