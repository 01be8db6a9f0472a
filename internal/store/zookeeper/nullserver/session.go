package nullserver

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/quorumbench/quorumbench/internal/store/null"
	"github.com/quorumbench/quorumbench/internal/wire/jute"
)

// The server grants session timeouts in this range, in milliseconds. ZooKeeper uses the same range
// with its default tick time.
const (
	minTimeout = 4000
	maxTimeout = 40_000
)

// password is the password of every session. A client must send it back to continue its session.
const password = "null server 16 b"

// connect answers a ConnectRequest. If the session is unknown, the reply has the timeout 0 and the
// session ID 0. ok is false if the frame is not a ConnectRequest.
func (s *session) connect(frame, b []byte) (_ []byte, ok bool) {
	r := jute.NewReader(frame)
	r.Int()
	r.Long()
	timeout, id, secret := r.Int(), r.Long(), r.Buffer()
	if !r.OK() {
		return b, false
	}
	s.greeted = true
	timeout = min(max(timeout, minTimeout), maxTimeout)
	switch known := s.tree.sessions[id] != nil; {
	case id == 0:
		s.id = s.tree.beginSession()
	case known && string(secret) == password:
		s.id = id
	default:
		timeout = 0
	}
	b = binary.BigEndian.AppendUint32(b, 4+4+8+4+uint32(len(password))+1)
	b = binary.BigEndian.AppendUint32(b, 0)
	b = binary.BigEndian.AppendUint32(b, uint32(timeout))
	b = binary.BigEndian.AppendUint64(b, uint64(s.id))
	b = append(jute.AppendBuffer(b, password), 0)
	return b, true
}

// begin appends a reply header. The header's length and code are 0 until finish fills them in.
func (s *session) begin(b []byte, xid int32) []byte {
	b = binary.BigEndian.AppendUint32(b, 0)
	b = binary.BigEndian.AppendUint32(b, uint32(xid))
	b = binary.BigEndian.AppendUint64(b, uint64(cmp.Or(s.answeredZxid, s.tree.Revision())))
	return binary.BigEndian.AppendUint32(b, 0)
}

// finish fills in the length and code of a reply. If the code is an error, finish also removes the
// record from the reply.
func finish(b []byte, start int, code jute.Code) []byte {
	if code != jute.OK {
		b = b[:start+replyLen]
		binary.BigEndian.PutUint32(b[start+16:], uint32(code))
	}
	binary.BigEndian.PutUint32(b[start:], uint32(len(b)-start-4))
	return b
}

// reply executes a request and appends its reply. ok is false if the request is malformed.
func (s *session) reply(xid int32, op jute.Op, r *jute.Reader, b []byte) (_ []byte, ok bool) {
	start := len(b)
	code := jute.OK
	b = append(b, make([]byte, replyLen)...)
	if s.lie == null.LieLease {
		s.removeOneEphemeral()
	}
	switch op {
	case jute.OpGetData, jute.OpExists:
		b, code = s.read(op, r, b)
	case jute.OpSetData:
		var m jute.MultiOp
		if jute.ReadChange(op, r, &m); !r.OK() {
			return b, false
		}
		var e *entry
		if e, code = s.set(m.Path.Rest, m.Data, m.Version); code == jute.OK {
			b = appendStat(b, e)
		}
	case jute.OpCreate, jute.OpCreate2, jute.OpCreateContainer, jute.OpCreateTTL:
		b, code = s.createNode(op, r, b)
	case jute.OpDelete:
		var m jute.MultiOp
		if jute.ReadChange(op, r, &m); r.OK() {
			s.tree.NextRevision()
			if s.lie == null.LieLost {
				_, code = s.tree.nodeWithVersion(m.Path.Rest, m.Version)
			} else {
				code = s.tree.remove(string(m.Path.Rest), m.Version)
			}
		}
	case jute.OpGetChildren, jute.OpGetChildren2:
		b, code = s.list(op, r, b)
	case jute.OpSync:
		b = jute.AppendBuffer(b, r.Buffer())
	case jute.OpMulti:
		if b, ok = s.multi(r.Rest(), b); !ok {
			return b, false
		}
	case jute.OpCloseSession:
		s.tree.endSession(s.id)
	case jute.OpAddWatch:
		code = s.addWatch(r)
	default:
		code = jute.Unimplemented
	}
	s.tree.publish(code == jute.OK, s.tree.Revision())
	s.begin(b[:start], xid)
	return finish(b, start, code), r.OK()
}

func (s *session) read(op jute.Op, r *jute.Reader, b []byte) ([]byte, jute.Code) {
	path := r.Buffer()
	watch := r.Bool() && r.OK()
	n := s.tree.get(path)
	if watch && (n != nil || op == jute.OpExists) {
		s.tree.watch(s.tree.watches.data, string(path), s.conn)
	}
	if n == nil || !r.OK() || s.lie == null.LieAbsent {
		return b, jute.NoNode
	}
	if op == jute.OpGetData {
		b = jute.AppendBuffer(b, n.Value)
	}
	return appendStat(b, n), jute.OK
}

func (s *session) createNode(op jute.Op, r *jute.Reader, b []byte) ([]byte, jute.Code) {
	var m jute.MultiOp
	if jute.ReadChange(op, r, &m); !r.OK() {
		return b, jute.BadArguments
	}
	path, n, code := s.create(string(m.Path.Rest), m.Data, m.Mode)
	if code != jute.OK {
		return b, code
	}
	b = jute.AppendBuffer(b, path)
	if op != jute.OpCreate {
		b = appendStat(b, n)
	}
	return b, jute.OK
}

func (s *session) list(op jute.Op, r *jute.Reader, b []byte) ([]byte, jute.Code) {
	path := r.Buffer()
	watch := r.Bool()
	n := s.tree.get(path)
	if n == nil || !r.OK() {
		return b, jute.NoNode
	}
	if watch {
		s.tree.watch(s.tree.watches.children, string(path), s.conn)
	}
	b = binary.BigEndian.AppendUint32(b, uint32(n.Data.children))
	s.tree.children(path, func(name string) { b = jute.AppendBuffer(b, name) })
	if op == jute.OpGetChildren2 {
		b = appendStat(b, n)
	}
	return b, jute.OK
}

// appendStat appends a node's Stat. The times in the Stat are 0, because the server does not store
// times.
func appendStat(b []byte, e *entry) []byte {
	b = binary.BigEndian.AppendUint64(b, uint64(e.Created))
	b = binary.BigEndian.AppendUint64(b, uint64(e.Changed))
	b = append(b, make([]byte, 16)...) // ctime, mtime
	b = binary.BigEndian.AppendUint32(b, uint32(versionOf(e)))
	b = binary.BigEndian.AppendUint32(b, uint32(e.Data.cversion))
	b = binary.BigEndian.AppendUint32(b, 0) // aversion
	b = binary.BigEndian.AppendUint64(b, uint64(e.Data.owner))
	b = binary.BigEndian.AppendUint32(b, uint32(len(e.Value)))
	b = binary.BigEndian.AppendUint32(b, uint32(e.Data.children))
	return binary.BigEndian.AppendUint64(b, uint64(e.Changed)) // pzxid
}

// version is the server version in the responses to srvr and mntr.
const version = "3.9.5-null"

// word returns the response to a four-letter word. ok is false if the word is unknown.
func (s *session) word(word string) (text string, ok bool) {
	mode := "follower"
	switch {
	case len(s.server.members) == 1:
		mode = "standalone"
	case s.member == 0:
		mode = "leader"
	}
	switch word {
	case "ruok":
		return "imok", true
	case "srvr":
		return fmt.Sprintf("Zookeeper version: %s, built on null\nLatency min/avg/max: 0/0.0/0\nReceived: 0\nSent: 0\n"+
			"Connections: 1\nOutstanding: 0\nZxid: 0x%x\nMode: %s\nNode count: %d\n",
			version, s.tree.Revision(), mode, len(s.tree.Interval(nil, nil))), true
	case "conf":
		return s.conf(), true
	case "dirs":
		return "datadir_size: 0\nlogdir_size: 0\n", true
	case "mntr":
		return fmt.Sprintf("zk_version\t%s\nzk_server_state\t%s\nzk_znode_count\t%d\n", version, mode, len(s.tree.Interval(nil, nil))), true
	}
	return "", false
}

func (s *session) conf() string {
	own := s.server.members[s.member]
	var b strings.Builder
	fmt.Fprintf(&b, "clientPort=%s\nserverId=%d\nmembership: \n", own[strings.LastIndexByte(own, ':')+1:], s.member+1)
	for i, address := range s.server.members {
		fmt.Fprintf(&b, "server.%d=%s:1:2:participant;%s\n", i+1, address[:strings.LastIndexByte(address, ':')], address)
	}
	return b.String()
}
