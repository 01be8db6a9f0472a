package nullserver

import (
	"github.com/quorumbench/quorumbench/internal/store/null"
	"github.com/quorumbench/quorumbench/internal/wire/jute"
)

// Sizes of one connection's buffers, in bytes.
const (
	maxRequest = 16 << 20 // of one request; far above jute.maxbuffer
	flushAt    = 256 << 10
)

// conn is a connection. One goroutine reads from it; the server's schedule releases delayed
// replies.
type conn struct {
	null.Writer // writes out; its lock guards the fields below
	server      *Server
	session     session
	out         []byte // pending output
	closing     bool   // close the connection after writing out
	later       []byte // delayed replies, in order
	marks       []mark // when the parts of later are due
	scheduled   bool   // the connection is in the schedule
	taken       uint64 // number of operations
	silent      bool   // no further replies are sent

	// The tree's lock guards the fields below.
	watching  bool
	news      []byte      // watch events to write before the next reply
	behind    []byte      // an event to write after the next one
	postponed []postponed // delayed events
}

// mark is the time at which the bytes of later up to end are due.
type mark struct {
	due   int64
	end   int
	close bool // close the connection then
}

// Server is a store.NullServer: the members of one null cluster. Its schedule holds connections
// instead of replies, because the replies of a connection keep their order.
type Server struct {
	*null.Server[*conn, *conn]
	user    string // NAME:PASSWORD that a client must send with the scheme digest first; empty: none
	tree    *tree
	members []string // addresses
}

// session is the session of one connection.
type session struct {
	server  *Server
	tree    *tree
	conn    *conn
	member  int // from 0
	id      int64
	greeted bool
	trusted bool // the client sent the correct name and password

	lie          null.Kind // how the reply to the current request lies
	answeredZxid int64     // zxid of that reply; 0: the newest
}

// replyLen is the size of a reply's length and header: xid, zxid, err.
const replyLen = 4 + 4 + 8 + 4

// tree holds the nodes and sessions of a null cluster, which its members share. Its keys are
// paths and its revisions are zxids. A connection holds the lock for a whole batch of requests.
type tree struct {
	*null.Space[node]        // its lock guards the fields below
	canned            *entry // if not nil, every node is this one and nothing is stored
	wrote             entry  // the node that a write reports if canned

	sessions map[int64]map[string]struct{} // ephemeral nodes by session
	lastID   int64
	watches  watches
}

type entry = null.Entry[node]

// node holds the fields of a node other than its data.
type node struct {
	cversion int32
	owner    int64 // the session of an ephemeral node; 0: none
	children int32
	made     int32 // number of children ever created, for sequential names
}

// watches maps watched paths to connections. The tree's lock guards it.
type watches struct {
	data      paths // one-shot, set by getData and exists
	children  paths // one-shot, set by getChildren
	stay      paths // persistent
	recursive paths // persistent, including descendants
	n         int   // total

	changed []changed // changes of the current request
	touched []*conn   // connections with unwritten events
	events  uint64    // number of events so far
}

// paths maps a path to the connections that watch it.
type paths map[string]map[*conn]struct{}

// changed is a change that a request made.
type changed struct {
	what jute.WatchEvent
	path string
}

// postponed is an event that the script delays.
type postponed struct {
	due   int64
	event []byte
}
