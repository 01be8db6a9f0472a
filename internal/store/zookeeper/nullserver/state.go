package nullserver

import (
	"github.com/quorumbench/quorumbench/internal/store/null"
	"github.com/quorumbench/quorumbench/internal/wire/jute"
)

// Sizes of one connection's buffers, in bytes.
const (
	maxRequest = 16 << 20 // of one request, far above jute.maxbuffer
	flushAt    = 256 << 10
)

// conn is a connection. One goroutine reads; answers that are due later are
// released by the server's schedule.
type conn struct {
	null.Writer // of out; its lock guards what follows
	server      *Server
	session     session
	out         []byte // to be written
	closing     bool   // close the connection when out is written
	later       []byte // answers that wait for their time, in order
	marks       []mark // of later
	scheduled   bool   // the schedule has this connection
	taken       uint64 // operations
	silent      bool   // nothing is answered any more

	// The tree's lock guards what follows.
	watching  bool
	news      []byte      // watch events to be written before any answer
	behind    []byte      // an event that comes behind the next
	postponed []postponed // events that come late
}

// mark says when the bytes of later up to end are due.
type mark struct {
	due   int64
	end   int
	close bool // the connection is closed then
}

// Server is a store.NullServer: the members of one null cluster. What is due
// later is a connection, once, because its answers keep their order.
type Server struct {
	*null.Server[*conn, *conn]
	user    string // NAME:PASSWORD that must be given with the scheme digest before anything else is answered
	tree    *tree
	members []string // addresses
}

// session is what one connection is to the cluster.
type session struct {
	server  *Server
	tree    *tree
	conn    *conn
	member  int // from 0
	id      int64
	greeted bool
	trusted bool // the right name and password were given

	lie  null.Kind // that the request under way is answered with
	told int64     // the transaction that its answer is of; 0: the newest
}

// replyLen is the size of a reply's length and header: xid, zxid, err.
const replyLen = 4 + 4 + 8 + 4

// tree is the nodes of a null cluster, which its members share, and its
// sessions: the keys are the paths, and the revisions the transactions. A
// connection holds the lock for a whole batch of requests.
type tree struct {
	*null.Space[node]        // its lock guards what follows
	canned            *entry // not nil: every node is this one, and nothing is remembered
	wrote             entry  // what it is said to be after a write

	sessions map[int64]map[string]struct{} // with the ephemeral nodes that end with them
	lastID   int64
	watches  watches
}

type entry = null.Entry[node]

// node is what is kept with a path besides its data.
type node struct {
	cversion int32
	owner    int64 // the session that it ends with
	children int32
	made     int32 // children ever made, for sequential names
}

// watches are those of a cluster: which connections are to be told of which paths.
// The tree's lock guards them.
type watches struct {
	data      paths // of getData and exists: once
	children  paths // of getChildren: once
	stay      paths // persistent
	recursive paths // persistent, of all below too
	n         int   // in all

	changed []changed // by the request under way
	touched []*conn   // that have news to be written
	events  uint64    // all that there ever were
}

// paths maps a path to the connections that watch it.
type paths map[string]map[*conn]struct{}

// changed is what a request did.
type changed struct {
	what jute.WatchEvent
	path string
}

// postponed is an event that a script has come late.
type postponed struct {
	due   int64
	event []byte
}
