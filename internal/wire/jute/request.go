package jute

// Requests, as zookeeper.jute defines their records.

// ACL is a list of access rights as it is sent: vector<ACL{perms int, id
// Id{scheme string, id string}}>.
type ACL []byte

// permAll is read, write, create, delete and admin (ZooDefs.Perms).
const permAll = 31

// OpenACL gives every right to everybody.
func OpenACL() ACL { return oneACL("world", "anyone") }

// CreatorACL gives every right to who creates the node, as Auth named him.
func CreatorACL() ACL { return oneACL("auth", "") }

func oneACL(scheme, id string) ACL {
	b := make([]byte, 8)
	PutInt(PutInt(b, 1), permAll)
	return AppendBuffer(AppendBuffer(b, scheme), id)
}

// NewNode is a node to be created. In a sequential Mode the server appends ten digits to
// the path.
type NewNode struct {
	Path Path
	Data []byte
	ACL  ACL
	Mode Mode
	TTL  int64 // in milliseconds, of the modes with a time to live alone
	// WithStat asks for OpCreate2 (since 3.5), whose answer is the path and the Stat; the
	// answer to OpCreate is the path. The answers for containers and nodes with a time to
	// live have both in any case.
	WithStat bool
}

// Create asks for a new node.
func (c *Conn) Create(call Call, n NewNode) {
	op, size := OpCreate, n.Path.size()+SizeBuffer(n.Data)+len(n.ACL)+4
	switch {
	case n.Mode == Container:
		op = OpCreateContainer
	case n.Mode == PersistentTTL || n.Mode == PersistentSequentialTTL:
		op = OpCreateTTL
		size += 8
	case n.WithStat:
		op = OpCreate2
	}
	b := putCreate(c.call(op, call, size), n.Path, n.Data, n.ACL, n.Mode)
	if op == OpCreateTTL {
		PutLong(b, n.TTL)
	}
}

// putCreate writes CreateRequest{path, data, acl, flags}.
func putCreate(b []byte, p Path, data []byte, acl ACL, mode Mode) []byte {
	b = PutBuffer(p.put(b), data)
	b = b[copy(b, acl):]
	return PutInt(b, int32(mode))
}

// Delete removes a node that has the version.
func (c *Conn) Delete(call Call, p Path, version int32) {
	PutInt(p.put(c.call(OpDelete, call, p.size()+4)), version)
}

// SetData changes a node's data if it has the version. The answer is its Stat.
func (c *Conn) SetData(call Call, p Path, data []byte, version int32) {
	putSetData(c.call(OpSetData, call, p.size()+SizeBuffer(data)+4), p, data, version)
}

// putSetData writes SetDataRequest{path, data, version}.
func putSetData(b []byte, p Path, data []byte, version int32) []byte {
	return PutInt(PutBuffer(p.put(b), data), version)
}

// Exists asks for a node's Stat; a watch fires once, when the node is created,
// changed or deleted.
func (c *Conn) Exists(call Call, p Path, watch bool) { c.pathWatch(OpExists, call, p, watch) }

// GetData asks for a node's data and Stat; a watch fires once, when the node
// is changed or deleted.
func (c *Conn) GetData(call Call, p Path, watch bool) { c.pathWatch(OpGetData, call, p, watch) }

// GetChildren asks for the names of a node's children and its Stat; a watch
// fires once, when children come or go.
func (c *Conn) GetChildren(call Call, p Path, watch bool) {
	c.pathWatch(OpGetChildren2, call, p, watch)
}

func (c *Conn) pathWatch(op Op, call Call, p Path, watch bool) {
	c.watching = c.watching || watch
	PutBool(p.put(c.call(op, call, p.size()+1)), watch)
}

// Sync is answered when the contacted member has all that the leader had
// committed when it got the request. The answer is the path.
func (c *Conn) Sync(call Call, p Path) { p.put(c.call(OpSync, call, p.size())) }

// AddWatch sets a watch that stays (since 3.6).
func (c *Conn) AddWatch(call Call, p Path, mode WatchMode) {
	c.watching = true
	PutInt(p.put(c.call(OpAddWatch, call, p.size()+4)), int32(mode))
}

// CloseSession ends the session and its ephemeral nodes. The server closes the
// connection after the answer.
func (c *Conn) CloseSession(call Call) { c.call(OpCloseSession, call, 0) }

// Ping keeps the session alive. Nobody is told of its answer.
func (c *Conn) Ping() { c.ping(ping{}) }

// AskPing is Ping, whose answer is a Reply to the call.
func (c *Conn) AskPing(call Call) { c.ping(ping{call: call, asked: true}) }

func (c *Conn) ping(p ping) {
	PutInt(PutInt(c.frame(requestLen), XidPing), int32(OpPing))
	p.end = c.origin + uint64(len(c.out))
	c.pings = append(c.pings, p)
}

// authenticate sends AuthPacket{type int, scheme string, auth buffer}.
func (c *Conn) authenticate() {
	b := c.frame(requestLen + 4 + SizeBuffer("digest") + SizeBuffer(c.auth))
	b = PutInt(PutInt(PutInt(b, XidAuth), int32(OpAuth)), 0)
	PutBuffer(PutBuffer(b, "digest"), c.auth)
	c.awaitAuth = true
}
