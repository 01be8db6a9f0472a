package etcdgateway

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
	"github.com/quorumbench/quorumbench/internal/wire/http1"
	"github.com/quorumbench/quorumbench/internal/wire/parts"
)

// rpc is a method of etcd's API as a path of its gateway.
type rpc uint8

const (
	rangeRPC rpc = iota
	putRPC
	deleteRPC
	txnRPC
	compactRPC
	grantRPC
	revokeRPC
	keepAliveRPC
	watchRPC
	ledWatchRPC // which ends when the member knows no leader
	statusRPC
	numRPCs
)

// paths are those of etcd's rpc.proto since 3.4.
var paths = [numRPCs]string{
	"/v3/kv/range", "/v3/kv/put", "/v3/kv/deleterange", "/v3/kv/txn", "/v3/kv/compaction",
	"/v3/lease/grant", "/v3/lease/revoke", "/v3/lease/keepalive", "/v3/watch", "/v3/watch", "/v3/maintenance/status",
}

// codec is etcd's gateway on one connection, which has one request in flight. A
// watcher's request has no end: its connection takes nothing else.
type codec struct {
	grants *store.Grants // takes what operations were granted; nil for nobody
	*http1.Conn
	parts     *parts.Budget
	templates [numRPCs]*http1.Template

	// The operation in flight.
	tag     uint32
	kind    kv.Kind
	refused bool // the gateway has no such operation; something harmless is asked
	lease   int64
	keys    store.Keys
	values  bool // and their values are wanted
	method  rpc
	call    bool        // it is a recorded call
	guarded bool        // with guards
	writes  []call.Part // of a transaction

	watch    watching
	to       []store.Event // where the events of a watcher go while Feed runs
	buf      []byte        // what answers' base64 decodes to
	part     reply         // of a transaction's
	text     []byte        // of an error
	messages []byte        // the beginning of a watcher's message that is not whole
}

// watching is the connection's watcher.
type watching struct {
	asked   bool
	created bool
	given   bool // who asked has given it up
	number  uint32
	tag     uint32
}

// Sentences that nobody writes to.
var (
	noSuchOperation = []byte("etcd's gateway has no such operation here")
	malformed       = []byte("the server sent an answer that is no message of etcd's gateway")
	anotherLease    = []byte("the response is for another lease")
	noLease         = []byte("etcdserver: requested lease not found")
	noRevision      = []byte("the answer does not say at which revision it was given")
	notSucceeded    = []byte("the transaction had no guard, and was not done")
)

// reply is what matters of a response; what is 0 or false is not in it.
type reply struct {
	header            store.Event // its member and term
	revision          int64       // the header's
	count             int64
	first             store.Event // the first key read, of all reads
	read              int64       // keys that were read
	succeeded         bool
	puts, deleted     int64
	lease, ttl        int64
	created, canceled bool
	compacted         int64
	reason            []byte
	code              int64 // of an error; 0: it is none
	message           []byte
	inner             bool // it is within another, and none is within it
}
