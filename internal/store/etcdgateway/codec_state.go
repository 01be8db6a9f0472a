package etcdgateway

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
	"github.com/quorumbench/quorumbench/internal/wire/http1"
	"github.com/quorumbench/quorumbench/internal/wire/parts"
)

// rpc is a method of etcd's API, with a path of its gateway.
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
	ledWatchRPC // ends when the member knows no leader
	statusRPC
	numRPCs
)

// paths are the gateway's paths in etcd's rpc.proto, unchanged since 3.4.
var paths = [numRPCs]string{
	"/v3/kv/range", "/v3/kv/put", "/v3/kv/deleterange", "/v3/kv/txn", "/v3/kv/compaction",
	"/v3/lease/grant", "/v3/lease/revoke", "/v3/lease/keepalive", "/v3/watch", "/v3/watch", "/v3/maintenance/status",
}

// codec implements etcd's gateway on one connection with one request in flight. A
// watcher's request does not end, so its connection accepts nothing else.
type codec struct {
	grants *store.Grants // receives the leases that operations were granted; nil: none wanted
	*http1.Conn
	parts     *parts.Budget
	templates [numRPCs]*http1.Template

	// The operation in flight.
	tag     uint32
	kind    kv.Kind
	refused bool // the gateway has no such operation; a harmless read is sent
	lease   int64
	keys    store.Keys
	values  bool // with their values
	method  rpc
	call    bool        // a recorded call
	guarded bool        // with guards
	writes  []call.Part // puts of a transaction

	watch    watching
	to       []store.Event // receives the events of a watcher during Feed
	buf      []byte        // holds decoded base64 of responses
	part     reply         // of a transaction's response
	text     []byte        // of an error
	messages []byte        // the start of an incomplete message of a watcher
}

// watching is the state of the connection's watcher.
type watching struct {
	asked   bool
	created bool
	given   bool // the caller has abandoned it
	number  uint32
	tag     uint32
}

// Shared texts, never modified.
var (
	noSuchOperation = []byte("etcd's gateway has no such operation")
	malformed       = []byte("the server sent a response that etcd's gateway does not send")
	anotherLease    = []byte("the response is for another lease")
	noLease         = []byte("etcdserver: requested lease not found")
	noRevision      = []byte("the response has no revision")
	notSucceeded    = []byte("the server did not execute a transaction without guards")
)

// reply holds the relevant fields of a response; 0 or false if they are missing.
type reply struct {
	header            store.Event // its member and term are used
	revision          int64       // from the header
	count             int64
	first             store.Event // the first key of all reads
	read              int64       // number of keys read
	succeeded         bool
	puts, deleted     int64
	lease, ttl        int64
	created, canceled bool
	compacted         int64
	reason            []byte
	code              int64 // of an error; 0: none
	message           []byte
	inner             bool // nested in another reply, and contains none
}
