package etcdgateway

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
	"github.com/quorumbench/quorumbench/internal/wire/http1"
	"github.com/quorumbench/quorumbench/internal/wire/parts"
)

// rpc is a method of etcd's API for which the gateway has a path.
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
	ledWatchRPC // a watch that the server ends if the member knows no leader
	statusRPC
	numRPCs
)

// paths are the paths that etcd's rpc.proto defines for the gateway. They have not changed
// since etcd 3.4.
var paths = [numRPCs]string{
	"/v3/kv/range", "/v3/kv/put", "/v3/kv/deleterange", "/v3/kv/txn", "/v3/kv/compaction",
	"/v3/lease/grant", "/v3/lease/revoke", "/v3/lease/keepalive", "/v3/watch", "/v3/watch", "/v3/maintenance/status",
}

// codec implements etcd's gateway on one connection, with one request in flight. The response
// for a watcher does not end, so the watcher's connection accepts no other operations.
type codec struct {
	grants *store.Grants // collects leases granted to operations; nil if not wanted
	*http1.Conn
	parts     *parts.Budget
	templates [numRPCs]*http1.Template

	// Fields for the operation in flight.
	tag     uint32
	kind    kv.Kind
	refused bool // the gateway has no such operation, so the codec sent a read instead
	lease   int64
	keys    store.Keys
	values  bool // the values are passed to keys, too
	method  rpc
	call    bool        // the operation is a recorded call
	guarded bool        // the recorded call has guards
	writes  []call.Part // the puts in a transaction

	watch    watching
	to       []store.Event // during Feed: receives the watcher's events
	buf      []byte        // contains base64 that was decoded from responses
	part     reply         // one of the results in the response to a transaction
	text     []byte        // text of an error
	messages []byte        // the start of an incomplete message for a watcher
}

// watching is the state of the watcher that uses the connection.
type watching struct {
	asked   bool
	created bool
	given   bool // the caller has abandoned the watcher
	number  uint32
	tag     uint32
}

// Texts that are shared and must not be modified.
var (
	noSuchOperation = []byte("etcd's gateway has no such operation")
	malformed       = []byte("the server sent a response that etcd's gateway does not send")
	anotherLease    = []byte("the response is for another lease")
	noLease         = []byte("etcdserver: requested lease not found")
	noRevision      = []byte("the response has no revision")
	notSucceeded    = []byte("the server did not execute a transaction without guards")
)

// reply holds the fields of a response that the codec needs. They are 0 or false if the
// response does not contain them.
type reply struct {
	header            store.Event // only its member and term are used
	revision          int64       // the revision in the header
	count             int64
	first             store.Event // the first key that was read
	read              int64       // number of keys read
	succeeded         bool
	puts, deleted     int64
	lease, ttl        int64
	created, canceled bool
	compacted         int64
	reason            []byte
	code              int64 // code of the error; 0 if there is no error
	message           []byte
	inner             bool // the reply is inside another reply, and may contain no further reply
}
