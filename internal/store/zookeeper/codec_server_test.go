package zookeeper

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/wire/jute"
)

// scripted is the server's side of a codec's connection: it reads the codec's output and responds
// as the test specifies.
type scripted struct {
	t    testing.TB
	c    *codec
	xid  int32 // of the next response
	zxid int64 // of the next response
	in   []byte
}

func newScripted(t testing.TB, a store.Access, d store.ConnectionInfo) *scripted {
	t.Helper()
	s := &scripted{t: t, c: newCodecs(a, Dialect{})(d).(*codec), xid: 1, zxid: 3<<32 | 9}
	s.written()
	return s
}

// granted returns the server's side for a codec that has been granted a session with a timeout of 9
// s.
func granted(t testing.TB) *scripted {
	t.Helper()
	s := newScripted(t, store.Access{}, store.ConnectionInfo{})
	s.grant(9000, 5)
	s.feed()
	return s
}

// written returns the codec's output and marks it as written.
func (s *scripted) written() []byte {
	b := bytes.Clone(s.c.Out())
	s.c.Wrote(len(b))
	return b
}

// requests removes the codec's output and returns the opcodes and paths of its requests.
func (s *scripted) requests() string {
	var out []string
	for b := s.written(); len(b) > 0; {
		size := int(binary.BigEndian.Uint32(b))
		r := jute.NewReader(b[4 : 4+size])
		_, op := r.Int(), jute.Op(r.Int())
		text := fmt.Sprint(op)
		if op != jute.OpMulti && size > 8 {
			text += " " + string(r.Buffer())
		}
		if op == jute.OpMulti {
			ops, _ := jute.ReadMulti(r.Rest(), nil)
			for _, o := range ops {
				text += fmt.Sprintf(" %d %s=%s", o.Op, o.Path.Rest, o.Data)
			}
		}
		out = append(out, text)
		b = b[4+size:]
	}
	return strings.Join(out, ", ")
}

func (s *scripted) expect(want string) {
	s.t.Helper()
	if got := s.requests(); got != want {
		s.t.Fatalf("the codec wrote %q, want %q", got, want)
	}
}

func (s *scripted) frame(b []byte) {
	s.in = binary.BigEndian.AppendUint32(s.in, uint32(len(b)))
	s.in = append(s.in, b...)
}

func (s *scripted) grant(timeout, id int) {
	b := binary.BigEndian.AppendUint32(nil, 0)
	b = binary.BigEndian.AppendUint32(b, uint32(timeout))
	b = binary.BigEndian.AppendUint64(b, uint64(id))
	s.frame(append(jute.AppendBuffer(b, "0123456789abcdef"), 0))
}

// answer responds to the next request. The zxid has term 3 and increases by one per response.
func (s *scripted) answer(code jute.Code, record ...byte) {
	b := binary.BigEndian.AppendUint32(nil, uint32(s.xid))
	b = binary.BigEndian.AppendUint64(b, uint64(s.zxid))
	b = binary.BigEndian.AppendUint32(b, uint32(code))
	s.xid++
	s.zxid++
	s.frame(append(b, record...))
}

func (s *scripted) tryFeed() ([]store.Event, error) {
	in := s.in
	s.in = nil
	return s.c.Feed(in, nil)
}

// feed passes the responses to the codec and returns the events as text.
func (s *scripted) feed() string {
	s.t.Helper()
	events, err := s.tryFeed()
	if err != nil {
		s.t.Fatal(err)
	}
	return eventText(events)
}

func eventText(events []store.Event) string {
	var out []string
	for _, e := range events {
		if e.Type == store.OperationDone && !e.Outcome.Failed() && e.Term != 3 {
			return fmt.Sprintf("no term in %+v", e)
		}
		out = append(out, strings.TrimSpace(fmt.Sprintf("%d:%s%v r%d n%d +%d %s",
			e.Tag, [...]string{"", "late ", "notify "}[e.Type], e.Outcome, e.Revision, e.Count, e.ExtraRequests, e.Value)))
	}
	return strings.Join(out, ", ")
}

func (s *scripted) want(want string) {
	s.t.Helper()
	if got := s.feed(); got != want {
		s.t.Fatalf("events %q, want %q", got, want)
	}
}

// set responds to a setData. The node then has the given version and size bytes of data.
func (s *scripted) set(version int32, size int) {
	s.answer(jute.OK, nodeStat(version, size, s.zxid)...)
}

// nodeStat returns the Stat of a node whose last change was the transaction `mzxid`, which wrote
// `size` bytes.
func nodeStat(version int32, size int, mzxid int64) []byte {
	b := make([]byte, jute.StatLen)
	binary.BigEndian.PutUint64(b[8:], uint64(mzxid))
	binary.BigEndian.PutUint32(b[32:], uint32(version))
	binary.BigEndian.PutUint32(b[52:], uint32(size))
	return b
}

// stat returns the record in the reply to a read of a node: the node's data and Stat. Transaction 5
// was the last to change the node.
func stat(version int32, data []byte) []byte {
	return append(jute.AppendBuffer(nil, data), nodeStat(version, len(data), 5)...)
}

// children returns the record in the reply to a getChildren2: the names, and the Stat of a node
// with `count` children.
func children(count int, names ...string) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(names)))
	for _, name := range names {
		b = jute.AppendBuffer(b, name)
	}
	end := nodeStat(3, 0, 5)
	binary.BigEndian.PutUint32(end[56:], uint32(count))
	return append(b, end...)
}

// multiHeader returns the header of one result in the reply to a multi.
func multiHeader(op jute.Op, done byte, code jute.Code) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(op))
	return binary.BigEndian.AppendUint32(append(b, done), uint32(code))
}

// results returns the record in the reply to a multi.
func results(parts ...[]byte) (b []byte) {
	for _, p := range parts {
		b = append(b, p...)
	}
	return append(b, multiHeader(jute.OpError, 1, -1)...)
}

func resultOf(op jute.Op, record []byte) []byte { return append(multiHeader(op, 0, 0), record...) }

// failure returns the result for an operation that failed, or that was not executed because another
// operation failed.
func failure(code jute.Code) []byte {
	return binary.BigEndian.AppendUint32(multiHeader(jute.OpError, 0, code), uint32(code))
}

func (s *scripted) submit(ops ...store.Op) {
	s.t.Helper()
	for i := range ops {
		if ops[i].Tag = uint32(i + 1); s.c.Room() <= 0 {
			s.t.Fatal("no room")
		}
		s.c.Submit(&ops[i])
		for _, b := range [][]byte{ops[i].Key, ops[i].Value} { // the codec must not keep them
			for k := range b {
				b[k] = '?'
			}
		}
	}
}

func key(k string) []byte { return []byte(k) }
