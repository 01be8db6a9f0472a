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

// pending is a reply that cannot be sent at once, because it is due later or must wait for the
// client's windows. It can also be a fault that the script demands instead of a reply.
type pending struct {
	conn      *conn
	stream    uint32
	kind      null.Kind
	err       error  // if not nil, the reply consists of this error
	code      uint32 // error code, if kind is Reset
	body      []byte // the message, with its prefix
	sent      int    // number of bytes in body that were sent
	window    int64  // the stream's window minus the initial window
	place     int    // index in session.waiting, as long as the reply is in that slice
	cancelled bool   // the client has cancelled the request
	long      bool   // set for a long-lived stream; body then contains either one message without prefix that is due later, or messages with prefixes that wait for the window
}

// call holds the fields in a request's headers that the server uses.
type call struct {
	method *method // nil if the method is unknown
	token  tokenState
}

// tokenState describes whether a request's token is valid.
type tokenState uint8

const (
	tokenNone tokenState = iota
	tokenRight
	tokenWrong
)

// memory is the storage backend that actually keeps data: a read returns what was put. It keeps
// only the newest version of each key, as if a compaction followed every write.
type memory struct {
	*null.Space[entryData]
	hub  *hub        // is notified of every write; may be nil
	past *lagTracker // nil if no member lags
}

type entry = null.Entry[entryData]

// entryData holds the properties of an entry that null.Space does not store itself.
type entryData struct {
	earlier *earlierState // the state that lagging members return; nil if they return the present state
	lease   int64         // the lease that the key is bound to; 0 if there is none
}

// lagTracker determines which state of a key a lagging member returns. If a key is written again
// before a lagging member has received the key's previous write, the member keeps the state before
// the previous write. So a member may lag for longer than the given time, but it receives the
// writes to each key in order.
type lagTracker struct {
	now func() int64
	lag int64 // in nanoseconds
}

// earlierState is the state of an entry before it was written.
type earlierState struct {
	entry *entry
	until int64 // time of the latest write to the entry
}

// leases holds the granted leases. A lease never expires by itself.
type leases struct {
	mu     sync.Mutex
	ttl    map[int64]int64    // maps a lease's ID to its time to live in seconds
	keys   map[int64][]string // maps a lease's ID to the keys that are bound to it
	lastID int64
}

// stream is a stream whose request is not complete yet, or a long-lived stream.
type stream struct {
	id           uint32
	call         call
	body         []byte
	windowGrowth int64       // number of bytes by which the client has enlarged the stream's window before the reply
	received     int         // number of received bytes that no window update has returned to the client yet
	longState    *longStream // nil unless the stream is long-lived
}

// Server implements store.NullServer. It runs all members of one null cluster.
type Server struct {
	*null.Server[*conn, *pending]
	options store.NullOptions
	members []*member
	touched []*conn // reused by sendDue
}

// conn is a session on a network connection. One goroutine reads from the connection. Delayed
// replies are sent by the server's scheduler.
type conn struct {
	null.Writer // writes the session's output; its lock guards the session
	server      *Server
	session     *session
	touched     bool // used only by sendDue
}

// identity identifies a member. Its fields encodedIDs and encodedTerm are encoded in advance,
// because every reply header contains them.
type identity struct {
	member      uint64
	encodedIDs  []byte // the encoded cluster_id and member_id
	encodedTerm []byte // the encoded raft_term
}

// method is a gRPC method that the server implements.
type method struct {
	path     string
	scripted bool          // set if the method is an operation that the script counts and affects; other methods are answered at once
	long     bool          // set if the method's streams are long-lived
	request  proto.Message // an empty request; nil if the request has a hand-written parser
}

// requestScratch is memory that is reused to parse frequent requests without allocation.
type requestScratch struct {
	get pb.RangeRequest
	put pb.PutRequest
}

// member is one member of the null cluster.
type member struct {
	identity *identity
	backend  backend
	hub      *hub             // nil if the server supports no watches and leases
	members  []string         // the URLs of all members
	noLocal  bool             // set if local reads are refused
	user     string           // NAME:PASSWORD; empty for no authentication
	errors   map[string]error // maps a name in a script to an error
}

// Limits for the memory that one connection can make the server use.
const (
	maxHeaders = 64 << 10 // maximum size of a header block in bytes
	maxRequest = 64 << 20 // maximum size of a request in bytes, far above etcd's limit of 1.5 MiB
)

// session is the server's side of one connection. It contains no I/O, clock, goroutine or lock.
// It turns input into output and delayed replies.
//
// A request consists of a HEADERS and a DATA frame. These frames nearly always arrive together, so
// the newest stream is kept in the field `newest`, which is faster to access than the map in the
// field `streams`.
type session struct {
	member  *member
	owner   *conn // nil in tests without a network; there are then no watches
	script  *null.Script
	arrive  func(now int64) (a null.Action, due int64) // nil if every operation is answered at once
	now     int64                                      // time at which the current input arrived
	out     []byte                                     // output that has not been written yet
	later   []null.Item[*pending]
	closing bool // set if the connection must be closed once out is written

	greeted  bool
	requests *requestHeaders
	replies  replyHeaders
	block    []byte // contents of a HEADERS frame that CONTINUATION frames continue
	blockFor uint32 // number of the stream whose header block is incomplete; 0 if there is none
	blockEnd bool   // set if the HEADERS frame had the flag END_STREAM
	newest   *stream
	streams  map[uint32]*stream // all streams with an incomplete request, except newest
	spare    []*stream
	last     uint32 // the highest stream number that the client has used

	open     int    // number of requests that were accepted and have not ended
	accepted uint64 // number of all accepted requests
	goneAway bool   // set if GOAWAY was sent; new requests are then not accepted

	received   int // number of received bytes that no window update has returned for the connection yet
	send       sendWindows
	waiting    []*pending          // replies that are due later
	unanswered map[uint32]struct{} // streams whose requests are never answered
	free       []*pending
	room       requestScratch

	maxStreams int // 0 for no limit
}

// longStream is the state of a long-lived stream, which is a Watch or LeaseKeepAlive stream. Its
// messages are handled as they arrive.
type longStream struct {
	out      *pending // messages that wait for a window
	watchers int64    // number of watchers that were created on the stream
}

// hub holds the watchers of a null cluster and sends events to them. A write holds the locks for
// its keys while it calls the hub. Therefore the events for each key stay in order. If a client
// watches several keys, the write holds all locks, and all events stay in order. The hub sends
// events through the scheduler, because a writer already holds the lock of one connection and must
// not wait for the lock of another connection.
type hub struct {
	server        *Server
	script        *null.Script
	events        atomic.Uint64 // number of events sent to all watchers together
	count         atomic.Int64  // number of watchers
	wantsPrevious atomic.Bool   // set once a watcher has wanted previous values; stays set after that watcher has ended
	hasRanges     atomic.Bool   // set if a watcher watches several keys

	mu     sync.Mutex // guards the fields below
	keys   map[string][]*watcher
	ranges []*watcher
	batch  []null.Item[*pending] // reused by notify
	reply  *pb.WatchResponse     // contains one event; reused
	lease  leases
}

// watcher is one watcher on a Watch stream.
type watcher struct {
	conn      *conn
	stream    uint32
	id        int64
	key, end  string
	from      int64 // the first revision whose event the client wants
	prevKV    bool
	heldEvent []byte // an event that the script holds back until the next event has been sent
}

// window is the number of bytes that a client may send on a connection and on each stream (RFC
// 9113, section 5.2). It is so large that clients never wait for it.
const window = 1 << 30

// sendWindows holds the limits for the data that the server may send to the client.
type sendWindows struct {
	connection int64
	initial    int64      // the initial window of each stream
	maxFrame   int        // maximum number of bytes in a frame's payload
	blocked    []*pending // replies that wait for a window
}

// requestHeaders decodes the header blocks on one connection. Decoding allocates memory, so
// requestHeaders remembers the results for blocks that do not change the HPACK table (RFC 7541,
// section 6). The result for such a block stays valid until the table changes. A client typically
// sends the same block for all requests of one kind except the first.
type requestHeaders struct {
	decoder  *hpack.Decoder
	current  call
	memo     []remembered
	nextMemo int // index of the element of memo that is replaced next
}

type remembered struct {
	block []byte
	call  call
}

// backend is a storage backend, which executes operations. A method must not retain the request
// after it has returned. The header structs that it returns contain only the revision.
type backend interface {
	appendRange(b []byte, id *identity, r *pb.RangeRequest, wrong null.Kind) ([]byte, error)
	appendPut(b []byte, id *identity, p *pb.PutRequest, wrong null.Kind) ([]byte, error)
	delete(d *pb.DeleteRangeRequest) (*pb.DeleteRangeResponse, error)
	txn(t *pb.TxnRequest, wrong null.Kind) (*pb.TxnResponse, error)
	Revision() int64
}

// methodOf returns the method with the given path, or nil if the server does not implement it.
func methodOf(path string) *method {
	for _, m := range [...]method{
		{path: pb.KV_Range_FullMethodName, scripted: true},
		{path: pb.KV_RangeStream_FullMethodName, scripted: true}, // answered with a stream that consists of one message
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

// token is the token that Authenticate returns to every user who gives the right password.
const token = "null.1"

// protocolError is a violation of the protocol, after which the server sends GOAWAY and closes the
// connection.
type protocolError struct {
	code uint32
	text string
}

func newProtocolError(code uint32, text string) error { return &protocolError{code, text} }

// keepBuffer is the maximum size of a buffer that is kept for reuse.
const keepBuffer = 64 << 10
