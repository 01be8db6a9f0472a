package consul

import (
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/httpkv"
	"github.com/quorumbench/quorumbench/internal/wire/http1"
)

// Dialect describes how a server's KV API differs from that of other servers.
type Dialect struct {
	// StoreInfo holds the server's name for messages, and its operations.
	httpkv.StoreInfo
	// AlwaysJSON is set if the server ignores parameters without a value, such as ?raw, and
	// responds to a read of one key with a JSON list. The list is empty if the key does not exist.
	AlwaysJSON bool
	// QueryWait is how long a blocking query waits. 0 means the server's default.
	QueryWait time.Duration
	// FailureOutcome returns the outcome and text for a response with a status other than 200.
	FailureOutcome func(r *http1.Response) (kv.Outcome, []byte)
}

// codec implements Consul's KV API on one connection with one operation in flight
// (https://developer.hashicorp.com/consul/api-docs/kv).
type codec struct {
	grants *store.Grants // receives the sessions that operations create; may be nil
	httpkv.Codec
	*Dialect
	get, put, del, multi                                   *http1.Template
	create, renew, destroy                                 *http1.Template // for sessions
	register, deregister, nodeServices, nodeChecks, health *http1.Template

	prefix []byte // Range: the prefix in the current request

	replayed replayKind // kind of the current recorded call
	guarded  bool

	buf []byte // decoded parts of the response

	session []byte // KeepAlive: name of the session

	instances   []instance // instances in the response about a service
	readsChecks bool       // Range of a service instance: the request reads the instance's checks

	stm    stm
	edited []byte // the result of STMOp.Edit

	watch         watcherState
	lastTick      int64  // time of the latest call of Tick
	queriesAtTick uint64 // number of queries that the watcher had sent at the time lastTick
	queryOverdue  bool   // the latest query is overdue
}

// fieldIndex identifies the X-Consul-Index field among the response fields that the connection
// keeps.
const fieldIndex = 0

// replayKind is the kind of a recorded call.
type replayKind uint8

const (
	replayedRead replayKind = iota
	replayedList
	replayedNames
	replayedWrite
	replayedTxn
	replayedGrant
	replayedLease
)

// entry is a key with its data, as in the KV API's JSON.
type entry struct {
	key   []byte
	value []byte // base64
	index int64
	// For a lock: how often it was acquired, and the session that holds it.
	lockIndex int64
	session   []byte
}

// instance is a service instance.
type instance struct {
	id  []byte
	mod int64 // highest ModifyIndex of the instance and its checks
}

// stage is the step of a transaction that the current request belongs to.
type stage uint8

const (
	acquiring       stage = iota
	confirming            // the lock was acquired; the request reads the lock's LockIndex
	readingHolder         // the lock was not acquired; the request reads the lock's holder
	awaitingRelease       // the request waits for a change of the lock's key
	pausing               // the lock has no holder; the request waits for the end of the lock-delay
	reading
	committing
	releasing
	ended // no request remains
)

// stm is the current optimistic transaction.
type stm struct {
	open        bool // the end of the transaction has not been reported
	stage       stage
	abandoned   bool  // abandoned; only the release of the lock remains
	holdsLock   bool  // the transaction has acquired the lock
	index       int64 // index of the lock's key, for a blocking query
	lock        []byte
	session     []byte
	isolation   kv.Isolation
	edit        func(pair int, value, read, write []byte) []byte
	observer    store.STMObserver
	pairs       []stmPair
	needsCommit bool // a commit request follows the reads
	retries     uint32
	result      store.Event
	text        []byte // buffer for the result's Text
}

// stmPair is a key in the transaction.
type stmPair struct {
	key, value []byte
	writes     bool
	version    int64 // version when read; 0 if the key does not exist
	readValue  []byte
}

// watcherState is the state of the watcher on a connection.
type watcherState struct {
	watcher          uint32
	tag              uint32
	creationReported bool          // the watcher's creation was reported
	ended            bool          // the server refused a query, so the watcher has ended
	key              []byte        // the watched key, or the start of the interval
	end              []byte        // end of the interval (exclusive); nil if only one key is watched
	holder           bool          // the watched key is a lock; the watcher's events contain the lock's holder
	service          bool          // the watched key is a service's name; the watcher reports the service's healthy instances
	wait             time.Duration // how long each query waits; 0 for the dialect's QueryWait
	start            int64         // first requested index; 0 once a response has reached it
	index            int64         // index of the latest response; 0 if the next query requests the current state
	hasKnown         bool          // knownKeys contains the state from the previous response
	knownKeys        keyVersions
	nextKeys         keyVersions // state from the response that is being parsed
	queries          uint64
}

// keyVersions holds keys in byte order with their ModifyIndexes.
type keyVersions struct {
	bytes []byte
	ends  []int
	mods  []int64
}
