package nullserver

import (
	"github.com/quorumbench/quorumbench/internal/store/null"
	"github.com/quorumbench/quorumbench/internal/wire/jute"
)

// Limits of one connection's buffers, in bytes.
const (
	maxRequest = 16 << 20 // maximum size of one request; far above jute.maxbuffer
	flushAt    = 256 << 10
)

// conn is a connection. One goroutine reads from it. The server's schedule sends its delayed
// replies.
type conn struct {
	null.Writer // writes `out` to the connection; its lock guards the fields down to `silent`
	server      *Server
	session     session
	out         []byte // pending output
	closing     bool   // close the connection after `out` is written
	later       []byte // delayed replies, in order
	marks       []mark // due times of the parts of `later`
	scheduled   bool   // the connection is in the server's schedule
	received    uint64 // how many operations the connection has received
	silent      bool   // send no further replies

	// The tree's lock guards the fields below.
	watching      bool
	pendingEvents []byte      // watch events to write before the next reply
	heldEvent     []byte      // the event that Reorder holds back until the next event is written
	postponed     []postponed // delayed watch events
}

// mark stores the due time of the bytes in conn.later before the offset `end`.
type mark struct {
	due   int64
	end   int
	close bool // close the connection at that time
}

// Server is a store.NullServer that acts as all members of one null cluster. Its schedule holds
// connections instead of replies, because the replies on a connection must stay in order.
type Server struct {
	*null.Server[*conn, *conn]
	user    string // required NAME:PASSWORD (scheme digest), or empty
	tree    *tree
	members []string // addresses
}

// session is the session of one connection.
type session struct {
	server  *Server
	tree    *tree
	conn    *conn
	member  int // index of the member, from 0
	id      int64
	greeted bool
	trusted bool // the client sent the correct name and password

	lie          null.Kind // the lie that the script demands for the current request
	answeredZxid int64     // zxid for the reply to the current request; 0 selects the newest zxid
}

// replyLen is the size in bytes of a reply's length field and header (xid, zxid, err).
const replyLen = 4 + 4 + 8 + 4

// tree holds the nodes and sessions of a null cluster, which all members share. Its keys are paths
// and its revisions are zxids. A connection holds the tree's lock while it processes a batch of
// requests.
type tree struct {
	*null.Space[node]        // its lock guards the fields below
	canned            *entry // if not nil, every node is this entry, and the server stores nothing
	writtenEntry      entry  // the entry for the reply to a write, if canned is set

	sessions map[int64]map[string]struct{} // ephemeral nodes by session
	lastID   int64
	watches  watches
}

type entry = null.Entry[node]

// node holds the data of a node other than its value.
type node struct {
	cversion        int32
	owner           int64 // the session that owns the node if it is ephemeral, otherwise 0
	children        int32
	createdChildren int32 // how many children were ever created, for the names of sequential nodes
}

// watches maps watched paths to the connections that watch them. The tree's lock guards it.
type watches struct {
	data       paths // one-shot, set by getData and exists
	children   paths // one-shot, set by getChildren
	persistent paths // persistent
	recursive  paths // persistent, including descendants
	n          int   // total number of watches

	changed []changed // changes by the current request
	touched []*conn   // connections with events that are not yet written
	events  uint64    // number of events so far
}

// paths maps a path to the connections that watch the path.
type paths map[string]map[*conn]struct{}

// changed is a change that a request made.
type changed struct {
	kind jute.WatchEvent
	path string
}

// postponed is an event that the script delays.
type postponed struct {
	due   int64
	event []byte
}
