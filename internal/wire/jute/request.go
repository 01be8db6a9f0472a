package jute

// This file encodes requests. zookeeper.jute defines their records.

// ACL is an encoded list of access rights: vector<ACL{perms int, id Id{scheme string, id string}}>.
type ACL []byte

// permAll grants read, write, create, delete and admin (ZooDefs.Perms).
const permAll = 31

// OpenACL returns an ACL that grants every right to everyone.
func OpenACL() ACL { return newACL("world", "anyone") }

// CreatorACL returns an ACL that grants every right to the authenticated user that creates the
// node.
func CreatorACL() ACL { return newACL("auth", "") }

func newACL(scheme, id string) ACL {
	b := make([]byte, 8)
	PutInt(PutInt(b, 1), permAll)
	return AppendBuffer(AppendBuffer(b, scheme), id)
}

// NewNode describes a node to create. If Mode is a sequential mode, the server appends ten digits
// to the path.
type NewNode struct {
	Path Path
	Data []byte
	ACL  ACL
	Mode Mode
	TTL  int64 // in milliseconds; used only if Mode has a time to live
	// WithStat selects OpCreate2 (since 3.5), whose reply contains the path and the Stat. The reply
	// to OpCreate contains only the path. For a container node or a node with a time to live, the
	// reply always contains both.
	WithStat bool
}

// Create sends a request to create a node.
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
	b = PutBuffer(p.appendTo(b), data)
	b = b[copy(b, acl):]
	return PutInt(b, int32(mode))
}

// Delete sends a request to delete a node. The request fails if the node does not have the given
// version.
func (c *Conn) Delete(call Call, p Path, version int32) {
	PutInt(p.appendTo(c.call(OpDelete, call, p.size()+4)), version)
}

// SetData sends a request to change a node's data. The request fails if the node does not have the
// given version. The reply contains the node's Stat.
func (c *Conn) SetData(call Call, p Path, data []byte, version int32) {
	putSetData(c.call(OpSetData, call, p.size()+SizeBuffer(data)+4), p, data, version)
}

// putSetData writes SetDataRequest{path, data, version}.
func putSetData(b []byte, p Path, data []byte, version int32) []byte {
	return PutInt(PutBuffer(p.appendTo(b), data), version)
}

// Exists sends a request for a node's Stat. If watch is set, the request sets a watch, which fires
// once when the node is created, changed or deleted.
func (c *Conn) Exists(call Call, p Path, watch bool) { c.pathWatch(OpExists, call, p, watch) }

// GetData sends a request for a node's data and Stat. If watch is set, the request sets a watch,
// which fires once when the node is changed or deleted.
func (c *Conn) GetData(call Call, p Path, watch bool) { c.pathWatch(OpGetData, call, p, watch) }

// GetChildren sends a request for the names of a node's children and the node's Stat. If watch is
// set, the request sets a watch, which fires once when a child is created or deleted.
func (c *Conn) GetChildren(call Call, p Path, watch bool) {
	c.pathWatch(OpGetChildren2, call, p, watch)
}

func (c *Conn) pathWatch(op Op, call Call, p Path, watch bool) {
	c.watchRequested = c.watchRequested || watch
	PutBool(p.appendTo(c.call(op, call, p.size()+1)), watch)
}

// Sync asks the contacted member to catch up with all transactions that the leader had committed
// when the leader received the request. The reply contains the path.
func (c *Conn) Sync(call Call, p Path) { p.appendTo(c.call(OpSync, call, p.size())) }

// AddWatch sends a request to set a watch that stays set after it has fired (since 3.6).
func (c *Conn) AddWatch(call Call, p Path, mode WatchMode) {
	c.watchRequested = true
	PutInt(p.appendTo(c.call(OpAddWatch, call, p.size()+4)), int32(mode))
}

// CloseSession asks the server to end the session and to delete the session's ephemeral nodes. The
// server closes the connection after its reply.
func (c *Conn) CloseSession(call Call) { c.call(OpCloseSession, call, 0) }

// Ping renews the session. Feed returns no Reply for this ping.
func (c *Conn) Ping() { c.ping(ping{}) }

// PingWithReply renews the session. Feed returns a Reply for this ping.
func (c *Conn) PingWithReply(call Call) { c.ping(ping{call: call, wantsReply: true}) }

func (c *Conn) ping(p ping) {
	PutInt(PutInt(c.frame(RequestHeaderLen), XidPing), int32(OpPing))
	p.end = c.origin + uint64(len(c.out))
	c.pings = append(c.pings, p)
}

// authenticate sends AuthPacket{type int, scheme string, auth buffer}.
func (c *Conn) authenticate() {
	b := c.frame(RequestHeaderLen + 4 + SizeBuffer("digest") + SizeBuffer(c.auth))
	b = PutInt(PutInt(PutInt(b, XidAuth), int32(OpAuth)), 0)
	PutBuffer(PutBuffer(b, "digest"), c.auth)
	c.awaitAuth = true
}
