package consul

import (
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/httpkv"
	"github.com/quorumbench/quorumbench/internal/wire/http1"
)

// Dialect is what a server that speaks Consul's KV API does in its own way.
type Dialect struct {
	// About has the server's name for sentences about it, and its operations.
	httpkv.About
	// JSON says that a read of one key is answered with a list of JSON, which is
	// empty where there is no such key, and not as ?raw; and that a parameter
	// counts only where it has a value.
	JSON bool
	// Wait is how long a blocking query waits; 0 for the server's default.
	Wait time.Duration
	// Failed is what an answer that is not 200 means.
	Failed func(r *http1.Response) (kv.Outcome, []byte)
}

// codec is Consul's KV API on one connection, which has one operation in
// flight (https://developer.hashicorp.com/consul/api-docs/kv).
type codec struct {
	grants *store.Grants // takes what operations were granted; nil for nobody
	httpkv.Codec
	*Dialect
	get, put, del, multi                                   *http1.Template
	create, renew, destroy                                 *http1.Template // sessions
	register, deregister, nodeServices, nodeChecks, health *http1.Template

	prefix []byte // Range: what is asked for

	again   again // the recorded call in flight, and whether it has guards
	guarded bool

	buf []byte // what answers decode to

	session []byte // KeepAlive: whose

	instances []instance // of the answer about a service
	ofChecks  bool       // a Range about an instance asks for its checks

	stm    stm
	edited []byte // what STMOp.Edit made

	watch  watched
	ticked int64  // when Tick was called last
	atTick uint64 // how many queries of the watcher there were then
	dead   bool   // the last one is overdue
}

// The response fields that are kept.
const fieldIndex = 0

// again is what a recorded call is that awaits its answer.
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

// entry is a key as the KV API's JSON describes it.
type entry struct {
	key   []byte
	value []byte // base64
	index int64
	// Of a lock: how often it was acquired, and who has it.
	lockIndex int64
	session   []byte
}

// instance is one of those that a service has.
type instance struct {
	id  []byte
	mod int64 // of itself, or of its checks
}

// stage is what the request in flight is to the transaction.
type stage uint8

const (
	acquiring  stage = iota
	confirming       // it has the lock: which LockIndex that is
	looking          // another has it
	waiting          // for a change of the lock's key
	pausing          // for the lock-delay to end, as nobody has it
	reading
	committing
	releasing
	ended // nothing is asked any more
)

// stm is the optimistic transaction under way.
type stm struct {
	open      bool // its end was not told yet
	stage     stage
	late      bool  // given up: what is left is to give the lock back
	held      bool  // the lock was acquired
	index     int64 // of the lock's key, to wait for a change of
	lock      []byte
	session   []byte
	isolation kv.Isolation
	edit      func(pair int, value, read, write []byte) []byte
	told      store.STMTold
	pairs     []stmPair
	commits   bool // there is something to be sent after the reads
	retries   uint32
	result    store.Event
	text      []byte // the memory of its Text
}

// stmPair is a key of it.
type stmPair struct {
	key, value []byte
	writes     bool
	version    int64 // that was read; 0: it is not there
	read       []byte
}

// watched is the state of a connection's watcher.
type watched struct {
	watcher uint32
	tag     uint32
	begun   bool          // its creation was answered
	ended   bool          // the server refused a query
	key     []byte        // the key watched, or where the interval begins
	end     []byte        // behind the interval; nil: the key alone
	holder  bool          // it is told who has the lock of the key
	service bool          // the key is the name of a service, and its healthy instances are watched
	wait    time.Duration // of each query; 0: the dialect's
	start   int64         // the first index wanted, until an answer's reaches it; then 0
	index   int64         // of the last answer; 0 asks for what is there now
	knows   bool          // what there was is in known
	known   seenKeys
	next    seenKeys // of the answer under way
	queries uint64
}

// seenKeys are keys in their order, with their ModifyIndexes.
type seenKeys struct {
	bytes []byte
	ends  []int
	mods  []int64
}
