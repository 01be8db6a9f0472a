package nullserver

import (
	"sync"
	"sync/atomic"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/protobuf/proto"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/null"
)

// pending is a reply that is not sent at once: it is due later, waits for the
// client's windows, or is a fault instead of a reply.
type pending struct {
	conn      *conn
	stream    uint32
	kind      null.Kind
	err       error  // if not nil, the reply is this error
	code      uint32 // of Reset
	body      []byte // the message with its prefix
	sent      int    // how many bytes of body were sent
	window    int64  // the stream's window minus the initial one
	place     int    // its index in session.waiting while it is there
	cancelled bool   // the client has cancelled the request
	long      bool   // on a long-lived stream: body is one message without a prefix that is due later, or messages with prefixes that wait for the window
}

// call holds the relevant fields of a request's headers.
type call struct {
	method *method // nil: unknown method
	token  tokenState
}

// tokenState is the validity of a request's token.
type tokenState uint8

const (
	tokenNone tokenState = iota
	tokenRight
	tokenWrong
)

// memory is the keeper that stores data: reads return what was put. Older
// versions are not kept, as if a compaction followed every write.
type memory struct {
	*null.Space[kept]
	hub  *hub  // receives every write; may be nil
	past *past // nil: no member lags
}

type entry = null.Entry[kept]

// kept holds the properties of a key other than its value.
type kept struct {
	old   *before // what lagging members have; nil: the present entry
	lease int64   // the lease that the key is bound to; 0: none
}

// past holds what lagging members have. If a key is written again before they
// have seen the previous write, they keep the value before that one. They may
// therefore lag more than the given time, but never have a write without an
// earlier one.
type past struct {
	now func() int64
	lag int64 // nanoseconds
}

// before is an entry's state before a write.
type before struct {
	entry *entry
	until int64 // time of the entry's latest write
}

// leases holds the granted leases, which never expire by themselves.
type leases struct {
	mu   sync.Mutex
	ttl  map[int64]int64    // in seconds, by id
	keys map[int64][]string // keys written with the lease, by ID
	last int64
}

// stream is a request that is not complete yet, or a long-lived stream.
type stream struct {
	id       uint32
	call     call
	body     []byte
	extra    int64 // by which the client enlarged its window before the reply
	received int   // bytes not yet returned to the client's window
	long     *long // not nil: the stream is long-lived
}

// Server is a store.NullServer: the members of one null cluster.
type Server struct {
	*null.Server[*conn, *pending]
	options store.NullOptions
	members []*member
	touched []*conn // reused by due
}

// conn is a session on a network connection. One goroutine reads; the server's
// schedule sends delayed replies.
type conn struct {
	null.Writer // of the session's output; its lock guards the session
	server      *Server
	session     *session
	touched     bool // used only by due
}

// identity is the encoded identity of a member, part of every reply header.
type identity struct {
	member uint64
	before []byte // a header's cluster_id and member_id, encoded
	after  []byte // its raft_term
}

// method is a gRPC method that the server implements.
type method struct {
	path     string
	scripted bool          // an operation that the script counts and affects; other methods are answered at once
	long     bool          // its streams are long-lived
	request  proto.Message // an empty request; nil for hand-written parsers
}

// room is reused memory for parsing hot requests without allocation.
type room struct {
	get pb.RangeRequest
	put pb.PutRequest
}

// member is one member of the null cluster.
type member struct {
	identity *identity
	keeper   keeper
	hub      *hub             // nil: no watches and leases
	members  []string         // the URLs of all members
	noLocal  bool             // refuses local reads
	user     string           // NAME:PASSWORD; empty: no authentication
	errors   map[string]error // by name in a script
}

// Limits of what one connection may make the server hold.
const (
	maxHeaders = 64 << 10 // bytes of a header block
	maxRequest = 64 << 20 // bytes of a request, far above etcd's 1.5 MiB
)

// session is the server's side of one connection, without I/O, clock, goroutine
// or lock. It turns input into output and delayed replies.
//
// A request consists of HEADERS and DATA, which nearly always arrive together, so
// the newest stream is kept outside of the map of streams.
type session struct {
	member  *member
	owner   *conn // nil without a network, and then there are no watches
	script  *null.Script
	arrive  func(now int64) (a null.Action, due int64) // nil: every operation is answered at once
	now     int64                                      // arrival time of the input being handled
	out     []byte                                     // to be written
	later   []null.Item[*pending]
	closing bool // close the connection once out is written

	greeted  bool
	requests *requestHeaders
	replies  replyHeaders
	block    []byte // of HEADERS that a CONTINUATION continues
	blockFor uint32 // the stream of block; 0 for none
	blockEnd bool   // the HEADERS carried END_STREAM
	newest   *stream
	streams  map[uint32]*stream // all open streams except newest, until their request is complete
	spare    []*stream
	last     uint32 // highest stream number seen

	open     int    // requests accepted and not ended
	accepted uint64 // total accepted requests
	goneAway bool   // GOAWAY was sent: no new requests are accepted

	received int // bytes not yet returned to the connection's window
	send     sendWindows
	waiting  []*pending          // replies that are due later
	held     map[uint32]struct{} // requests that are never answered
	free     []*pending
	room     room

	maxStreams int // 0 for no limit
}

// long is the state of a long-lived stream, Watch or LeaseKeepAlive, whose
// messages are handled as they arrive.
type long struct {
	out      *pending // output that waits for a window
	watchers int64    // number of watchers created on the stream
}

// hub holds the watchers of a null cluster and sends them events. A write calls
// it under the locks of its keys, which keeps the events of each key in order, or
// under all locks if a client watches several keys, which keeps all events in
// order. Events go out through the schedule, because a writer holds its own
// connection's lock and must not wait for another one's.
type hub struct {
	server *Server
	script *null.Script
	events atomic.Uint64 // events sent to all watchers
	count  atomic.Int64  // number of watchers
	before atomic.Bool   // a watcher wants previous values
	wide   atomic.Bool   // a watcher watches several keys

	mu     sync.Mutex // guards the following fields
	keys   map[string][]*watcher
	ranges []*watcher
	batch  []null.Item[*pending] // reused by notify
	reply  *pb.WatchResponse     // with one event; reused
	lease  leases
}

// watcher is one watcher on a stream.
type watcher struct {
	conn     *conn
	stream   uint32
	id       int64
	key, end string
	from     int64 // the first revision that the client wants
	prevKV   bool
	behind   []byte // an event that the script delays until after the next one
}

// window is how many bytes a client may send on a connection and on each stream
// (RFC 9113, section 5.2), large enough that clients never wait.
const window = 1 << 30

// sendWindows holds how much the server may send.
type sendWindows struct {
	connection int64
	initial    int64      // initial window of a stream
	maxFrame   int        // payload bytes
	blocked    []*pending // replies that wait for a window
}

// requestHeaders decodes one connection's header blocks. Decoding allocates, so
// blocks are remembered whose bytes all refer to table entries (RFC 7541, section
// 6.1). Their meaning is constant until the table changes, and clients send such
// blocks from the second request of each kind.
type requestHeaders struct {
	decoder *hpack.Decoder
	found   call
	memo    []remembered
	turn    int // index in memo that is replaced next
}

type remembered struct {
	block []byte
	call  call
}

// keeper executes the operations. A request is valid only during the call; header
// structs that it returns contain only the revision.
type keeper interface {
	appendRange(b []byte, id *identity, r *pb.RangeRequest, wrong null.Kind) ([]byte, error)
	appendPut(b []byte, id *identity, p *pb.PutRequest, wrong null.Kind) ([]byte, error)
	delete(d *pb.DeleteRangeRequest) (*pb.DeleteRangeResponse, error)
	txn(t *pb.TxnRequest, wrong null.Kind) (*pb.TxnResponse, error)
	Revision() int64
}

// methodOf returns the method with a path, or nil.
func methodOf(path string) *method {
	for _, m := range [...]method{
		{path: pb.KV_Range_FullMethodName, scripted: true},
		{path: pb.KV_RangeStream_FullMethodName, scripted: true}, // answered with a stream of one message
		{path: pb.KV_Put_FullMethodName, scripted: true},
		{path: pb.KV_DeleteRange_FullMethodName, scripted: true, request: &pb.DeleteRangeRequest{}},
		{path: pb.KV_Txn_FullMethodName, scripted: true, request: &pb.TxnRequest{}},
		{path: pb.KV_Compact_FullMethodName, request: &pb.CompactionRequest{}},
		{path: pb.Watch_Watch_FullMethodName, long: true, request: &pb.WatchRequest{}},
		{path: pb.Lease_LeaseKeepAlive_FullMethodName, long: true, request: &pb.LeaseKeepAliveRequest{}},
		{path: pb.Lease_LeaseGrant_FullMethodName, request: &pb.LeaseGrantRequest{}},
		{path: pb.Lease_LeaseRevoke_FullMethodName, request: &pb.LeaseRevokeRequest{}},
		{path: pb.Maintenance_Status_FullMethodName, request: &pb.StatusRequest{}},
		{path: pb.Maintenance_Alarm_FullMethodName, request: &pb.AlarmRequest{}},
		{path: pb.Maintenance_Defragment_FullMethodName, request: &pb.DefragmentRequest{}},
		{path: pb.Cluster_MemberList_FullMethodName, request: &pb.MemberListRequest{}},
		{path: pb.Auth_Authenticate_FullMethodName, request: &pb.AuthenticateRequest{}},
	} {
		if m.path == path {
			return &m
		}
	}
	return nil
}

// token is the token that Authenticate returns to every user with the right
// password.
const token = "null.1"

// protocolError ends a connection with GOAWAY.
type protocolError struct {
	code uint32
	text string
}

func broken(code uint32, text string) error { return &protocolError{code, text} }

// keepBuffer limits the size of buffers that are kept for reuse.
const keepBuffer = 64 << 10
