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
	ledWatchRPC // a watch that the member cancels when it has no leader
	statusRPC
	numRPCs
)

// paths are the paths that etcd's rpc.proto defines for the gateway. They have not changed
// since etcd 3.4.
var paths = [numRPCs]string{
	"/v3/kv/range", "/v3/kv/put", "/v3/kv/deleterange", "/v3/kv/txn", "/v3/kv/compaction",
	"/v3/lease/grant", "/v3/lease/revoke", "/v3/lease/keepalive", "/v3/watch", "/v3/watch", "/v3/maintenance/status",
}

// codec implements the protocol of etcd's gateway on one connection, with at most one request in
// flight. The response to a watch request does not end, so the watcher's connection accepts no
// other operations.
type codec struct {
	grants *store.Grants // collects the IDs of the leases that operations obtain; nil if they are not needed
	*http1.Conn
	parts     *parts.Budget
	templates [numRPCs]*http1.Template

	// Fields for the operation in flight.
	tag         uint32
	kind        kv.Kind
	refused     bool // the gateway does not support the operation, so the codec sent a read instead
	lease       int64
	keys        store.Keys
	wantsValues bool // keys receives the values, too
	method      rpc
	replayed    bool        // the operation is a recorded call
	guarded     bool        // the recorded call has guards
	writes      []call.Part // the puts in a transaction

	watch    watching
	events   []store.Event // during Feed: receives the watcher's events
	buf      []byte        // contains bytes that were decoded from base64 in responses
	part     reply         // one of the results in the response to a transaction
	text     []byte        // text of an error
	messages []byte        // the part of an incomplete watch message that has arrived
}

// watching is the state of the watcher that uses the connection.
type watching struct {
	requested bool
	created   bool
	finished  bool // append no more events: the watcher has ended, or the caller has abandoned it
	number    uint32
	tag       uint32
}

// Texts of events. Many events share each text, so it must not be modified.
var (
	noSuchOperation = []byte("etcd's gateway does not support this kind of operation")
	malformed       = []byte("the server's response is not in the format of etcd's gateway")
	wrongLease      = []byte("the response is for another lease")
	noLease         = []byte("etcdserver: requested lease not found")
	noRevision      = []byte("the response contains no revision")
	txnNotExecuted  = []byte("the response says that a transaction was not executed, but the transaction has no conditions")
)

// reply holds the fields of a response that the codec needs. Fields that the response lacks are 0
// or false.
type reply struct {
	header            store.Event // only its member and term are used
	revision          int64       // the revision in the header
	count             int64
	first             store.Event // the first key that was read
	readCount         int64       // number of keys read
	succeeded         bool
	puts, deleted     int64
	lease, ttl        int64
	created, canceled bool
	compacted         int64
	reason            []byte
	code              int64 // code of the error; 0 if there is no error
	message           []byte
	nested            bool // the reply is nested in another reply; deeper nesting is not allowed
}
