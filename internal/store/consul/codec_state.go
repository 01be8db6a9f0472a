package consul

import (
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/httpkv"
	"github.com/quorumbench/quorumbench/internal/wire/http1"
)

// Dialect describes how a server's KV API differs from other servers that speak
// it.
type Dialect struct {
	// About holds the server's name, for messages, and its operations.
	httpkv.StoreInfo
	// JSON means that reads of one key return a JSON list, empty if the key does
	// not exist, instead of ?raw values, and that parameters need a value.
	JSON bool
	// Wait is how long a blocking query waits; 0 for the server's default.
	Wait time.Duration
	// Failed returns the outcome and text of a response other than 200.
	Failed func(r *http1.Response) (kv.Outcome, []byte)
}

// codec implements Consul's KV API on one connection with one operation in flight
// (https://developer.hashicorp.com/consul/api-docs/kv).
type codec struct {
	grants *store.Grants // receives the sessions that operations were granted; nil: none wanted
	httpkv.Codec
	*Dialect
	get, put, del, multi                                   *http1.Template
	create, renew, destroy                                 *http1.Template // sessions
	register, deregister, nodeServices, nodeChecks, health *http1.Template

	prefix []byte // Range: the requested prefix

	again   again // the recorded call in flight, and whether it has guards
	guarded bool

	buf []byte // holds decoded parts of responses

	session []byte // KeepAlive: the session's name

	instances []instance // of the response about a service
	ofChecks  bool       // the Range of an instance requests its checks

	stm    stm
	edited []byte // the result of STMOp.Edit

	watch  watched
	ticked int64  // time of the latest Tick
	atTick uint64 // the watcher's number of queries at that time
	dead   bool   // the latest query is overdue
}

// Indexes of the response fields that are kept.
const fieldIndex = 0

// again is the kind of the recorded call in flight.
type again uint8

const (
	againRead again = iota
	againList
	againNames
	againWrite
	againTxn
	againGrant
	againLease
)

// entry is a key as in the KV API's JSON.
type entry struct {
	key   []byte
	value []byte // base64
	index int64
	// For a lock: how often it was acquired, and its holder.
	lockIndex int64
	session   []byte
}

// instance is a service instance.
type instance struct {
	id  []byte
	mod int64 // of the instance or its checks
}

// stage is the purpose of the transaction's request in flight.
type stage uint8

const (
	acquiring  stage = iota
	confirming       // acquired: reads the lock's LockIndex
	looking          // another client has the lock
	waiting          // for a change of the lock's key
	pausing          // the lock has no holder: waits for the end of its lock-delay
	reading
	committing
	releasing
	ended // no request is left
)

// stm is the optimistic transaction in progress.
type stm struct {
	open      bool // its end was not reported yet
	stage     stage
	late      bool  // abandoned: only the lock must be released
	held      bool  // the lock was acquired
	index     int64 // index of the lock's key, to wait for a change
	lock      []byte
	session   []byte
	isolation kv.Isolation
	edit      func(pair int, value, read, write []byte) []byte
	observer  store.STMObserver
	pairs     []stmPair
	commits   bool // there is a request after the reads
	retries   uint32
	result    store.Event
	text      []byte // memory of the result's Text
}

// stmPair is a key of the transaction.
type stmPair struct {
	key, value []byte
	writes     bool
	version    int64 // version at the read; 0: the key does not exist
	read       []byte
}

// watched is the state of a connection's watcher.
type watched struct {
	watcher uint32
	tag     uint32
	begun   bool          // its creation was reported
	ended   bool          // the server refused a query
	key     []byte        // the watched key, or the start of the interval
	end     []byte        // end of the interval, exclusive; nil: only key
	holder  bool          // its events have the holder of the key as a lock
	service bool          // key is a service's name; the watcher reports its healthy instances
	wait    time.Duration // of each query; 0: the dialect's
	start   int64         // the first index wanted, until a response reaches it; then 0
	index   int64         // of the latest response; 0 requests the present state
	knows   bool          // known holds the earlier state
	known   seenKeys
	next    seenKeys // of the response being parsed
	queries uint64
}

// seenKeys holds keys in order with their ModifyIndexes.
type seenKeys struct {
	bytes []byte
	ends  []int
	mods  []int64
}
