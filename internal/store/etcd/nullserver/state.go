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

// pending is an answer that cannot be given in one go: it is due later, or
// waits for the client's windows, or is not an answer at all.
type pending struct {
	conn      *conn
	stream    uint32
	kind      null.Kind
	err       error  // not nil: the answer is this error
	code      uint32 // of Reset
	body      []byte // the message with its prefix
	sent      int    // how much of body has been
	window    int64  // the stream's, less the initial one
	place     int    // in session.waiting, while it waits there
	cancelled bool   // the client wants no answer any more
	long      bool   // of a stream that stays open: body, without a prefix, is a message that is due, or with it messages that wait
}

// call is what a request's headers say.
type call struct {
	method *method // nil: there is none of this name
	token  tokenState
}

// tokenState is what the request says about who sends it.
type tokenState uint8

const (
	tokenNone tokenState = iota
	tokenRight
	tokenWrong
)

// memory is the keeper that remembers: what was put is read back. Older
// versions are forgotten, as if every write were followed by a compaction.
type memory struct {
	*null.Space[kept]
	hub  *hub  // is given every write; may be nil
	past *past // nil: no member lags
}

type entry = null.Entry[kept]

// kept is what is kept with a key besides its value.
type kept struct {
	old   *before // what members that lag have; nil: the key as it is
	lease int64   // with which the key ends; 0: none
}

// past is what members that lag have. A key that is written again while they
// have not seen the write before it stays as it was before that one, so that
// they never have a write and lack an earlier one: they may be further behind
// than they are said to be, and never less.
type past struct {
	now func() int64
	lag int64 // nanoseconds
}

// before is an entry as it was before a write.
type before struct {
	entry *entry
	until int64 // when the entry was written last
}

// leases are granted, kept alive and revoked, and never end by themselves.
type leases struct {
	mu   sync.Mutex
	ttl  map[int64]int64    // in seconds, by id
	keys map[int64][]string // that were written with it, by id
	last int64
}

// stream is a request that is not complete yet.
type stream struct {
	id       uint32
	call     call
	body     []byte
	extra    int64 // what the client added to its window for the answer
	received int   // bytes not given back to the client's window yet
	long     *long // not nil: it stays open
}

// Server is a store.NullServer: the members of one null cluster.
type Server struct {
	*null.Server[*conn, *pending]
	options store.NullOptions
	members []*member
	touched []*conn // kept for due
}

// conn is a session on a network connection. One goroutine reads; answers that
// are due later come from the server's schedule.
type conn struct {
	null.Writer // of the session's output; its lock guards the session
	server      *Server
	session     *session
	touched     bool // the schedule's own mark
}

// identity is what every answer of one member says about it.
type identity struct {
	member uint64
	before []byte // a header's cluster_id and member_id, encoded
	after  []byte // its raft_term
}

// method is a gRPC method that the server knows.
type method struct {
	path     string
	scripted bool          // an operation, which the script counts and decides about; others are answered at once
	long     bool          // its calls stay open
	request  proto.Message // an empty one; nil for what is read by hand
}

// room is where hot requests are parsed to, so that none is allocated.
type room struct {
	get pb.RangeRequest
	put pb.PutRequest
}

// member is one member of the null cluster.
type member struct {
	identity *identity
	keeper   keeper
	hub      *hub             // nil: there are no watches and leases
	members  []string         // the URLs of all
	noLocal  bool             // refuses local reads
	user     string           // NAME:PASSWORD; empty: no authentication
	errors   map[string]error // by their names in a script
}

// Limits of what one connection may make the server hold.
const (
	maxHeaders = 64 << 10 // bytes of a header block
	maxRequest = 64 << 20 // bytes of a request, far above etcd's 1.5 MiB
)

// session is the server's side of one connection, without I/O, clock, goroutine
// or lock: bytes in, bytes out, and answers to be sent later.
//
// A request comes as HEADERS and DATA, nearly always one after the other, so
// that the newest stream is kept apart from the map of the others.
type session struct {
	member  *member
	owner   *conn // nil without a network: there are no watches
	script  *null.Script
	arrive  func(now int64) (a null.Action, due int64) // nil: every operation is answered at once
	now     int64                                      // when what is being read arrived
	out     []byte                                     // to be written
	later   []null.Item[*pending]
	closing bool // close the connection when out is written

	greeted  bool
	requests *requestHeaders
	replies  replyHeaders
	block    []byte // of HEADERS that a CONTINUATION goes on with
	blockFor uint32 // the stream of block; 0 for none
	blockEnd bool   // the HEADERS carried END_STREAM
	newest   *stream
	streams  map[uint32]*stream // all open ones but newest, until their request is complete
	spare    []*stream
	last     uint32 // highest stream seen

	open     int    // requests accepted and not ended
	accepted uint64 // requests accepted in all
	goneAway bool   // GOAWAY was sent: no new requests

	received int // bytes not given back to the connection's window yet
	send     sendWindows
	waiting  []*pending          // answers that are due later
	held     map[uint32]struct{} // requests that are never ended
	free     []*pending
	room     room

	maxStreams int // 0 for no limit
}

// long is what a stream has that stays open: Watch and LeaseKeepAlive. Its
// messages are taken as they come, and answered on it.
type long struct {
	out      *pending // what waits for a window
	watchers int64    // created on it
}

// hub knows the watchers of a null cluster and notifies them of what is written. A
// write notifies it under the locks of its keys, so that a key's events keep their
// order, and under all where somebody watches several, so that all do; they go out
// through the schedule, because the writer holds the lock of its own connection and
// must not wait for another's.
type hub struct {
	server *Server
	script *null.Script
	events atomic.Uint64 // sent, over all watchers
	count  atomic.Int64  // of watchers
	before atomic.Bool   // one wants to know what was there before
	wide   atomic.Bool   // one watches several keys

	mu     sync.Mutex // guards what follows
	keys   map[string][]*watcher
	ranges []*watcher
	batch  []null.Item[*pending] // kept for notify
	reply  *pb.WatchResponse     // with one event, likewise
	lease  leases
}

// watcher is one watcher of one stream.
type watcher struct {
	conn     *conn
	stream   uint32
	id       int64
	key, end string
	from     int64 // the first revision that it wants
	prevKV   bool
	behind   []byte // an event that is to come behind the next
}

// window is what clients may send on a connection and on each stream, in bytes
// (RFC 9113, section 5.2): so much that they never wait for it.
const window = 1 << 30

// sendWindows is how much the server may send.
type sendWindows struct {
	connection int64
	initial    int64      // of a stream
	maxFrame   int        // payload bytes
	blocked    []*pending // answers begun, that wait for a window
}

// requestHeaders decodes one connection's header blocks. Decoding allocates, so
// that blocks are remembered in which each byte refers to an entry of a table
// (RFC 7541, section 6.1): they mean the same until the table changes, and are
// what a client sends of each kind of request from the second one on.
type requestHeaders struct {
	decoder *hpack.Decoder
	found   call
	memo    []remembered
	turn    int // which of memo is replaced next
}

type remembered struct {
	block []byte
	call  call
}

// keeper answers the operations. The request is valid until the call returns;
// the headers of answers that are not encoded carry the revision alone.
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

// token is what Authenticate gives to everybody who knows the password.
const token = "null.1"

// protocolError ends a connection with GOAWAY.
type protocolError struct {
	code uint32
	text string
}

func broken(code uint32, text string) error { return &protocolError{code, text} }

// keepBuffer is the largest buffer that is kept for the next use.
const keepBuffer = 64 << 10
