package jute

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// framed encodes the parts as one frame with a length prefix.
func framed(parts ...any) []byte {
	var b []byte
	for _, p := range parts {
		switch p := p.(type) {
		case int32:
			b = binary.BigEndian.AppendUint32(b, uint32(p))
		case Code:
			b = binary.BigEndian.AppendUint32(b, uint32(p))
		case Op:
			b = binary.BigEndian.AppendUint32(b, uint32(p))
		case int64:
			b = binary.BigEndian.AppendUint64(b, uint64(p))
		case bool:
			b = append(b, 0)
			if p {
				b[len(b)-1] = 1
			}
		case string:
			b = AppendBuffer(b, p)
		case []byte:
			b = append(b, p...)
		default:
			panic(fmt.Sprintf("%T", p))
		}
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...)
}

const secret = "0123456789abcdef"

// grant returns the frame of a ConnectResponse.
func grant(timeout int32, id int64) []byte { return framed(int32(0), timeout, id, secret, false) }

// reply returns the frame of a reply.
func reply(xid int32, zxid int64, code Code, record ...byte) []byte {
	return framed(xid, zxid, code, record)
}

// ready returns a connection with a granted session and without pending output.
func ready(t testing.TB, cfg Config) *Conn {
	t.Helper()
	c := NewConn(cfg)
	c.Wrote(len(c.Out()))
	if _, err := c.Feed(grant(30_000, 77)); err != nil {
		t.Fatal(err)
	}
	return c
}

// sent returns the connection's output and marks it as written.
func sent(c *Conn) []byte {
	b := bytes.Clone(c.Out())
	c.Wrote(len(b))
	return b
}

func TestConnect(t *testing.T) {
	c := NewConn(Config{Timeout: 30_000})
	want := framed(int32(0), int64(0), int32(30_000), int64(0), noPassword, false)
	if got := sent(c); !bytes.Equal(got, want) {
		t.Fatalf("the client connects with %x, want %x", got, want)
	}
	if c.Ready() {
		t.Error("the connection is ready before the session was granted")
	}
	if _, err := c.Feed(grant(12_000, 99)); err != nil || !c.Ready() || c.Timeout() != 12_000 {
		t.Fatalf("ready %v, timeout %d, %v", c.Ready(), c.Timeout(), err)
	}
	c.Exists(Call{}, Path{Prefix: "/"}, false)
	if _, err := c.Feed(reply(1, 5, OK)); err != nil {
		t.Fatal(err)
	}

	again := NewConn(Config{Timeout: 30_000, Session: c.Session(), LastZxid: c.LastZxid()})
	want = framed(int32(0), int64(5), int32(30_000), int64(99), secret, false)
	if got := sent(again); !bytes.Equal(got, want) {
		t.Fatalf("the client resumes the session with %x, want %x", got, want)
	}
	_, err := again.Feed(framed(int32(0), int32(0), int64(0), strings.Repeat("\x00", 16), false))
	if !errors.Is(err, ErrExpired) || !strings.Contains(err.Error(), "0x63") || again.Session().ID != 0 || again.LastZxid() != 0 {
		t.Errorf("after the end of its session: %+v, %v", again.Session(), err)
	}
}

func TestConnectOfOldServers(t *testing.T) {
	c := NewConn(Config{})
	if _, err := c.Feed(framed(int32(0), int32(1), int64(2), "pw")); err != nil || string(c.Session().Password) != "pw" {
		t.Errorf("session %+v, error %v", c.Session(), err)
	}
}

func TestAuth(t *testing.T) {
	c := ready(t, Config{Auth: "alice:secret"})
	want := framed(XidAuth, OpAuth, int32(0), "digest", "alice:secret")
	if got := sent(c); !bytes.Equal(got, want) || c.Ready() {
		t.Fatalf("sent %x, want %x", got, want)
	}
	if _, err := c.Feed(reply(XidAuth, 0, OK)); err != nil || !c.Ready() {
		t.Fatalf("not ready: %v", err)
	}
	c = ready(t, Config{Auth: "alice:no"})
	if _, err := c.Feed(reply(XidAuth, 0, AuthFailed)); !errors.Is(err, ErrAuth) || strings.Contains(err.Error(), "alice") {
		t.Errorf("got %v", err)
	}
}

func TestLost(t *testing.T) {
	c := ready(t, Config{})
	for tag := range uint32(4) {
		c.Sync(Call{Tag: tag, Sub: 3, Extra: 1}, Path{Prefix: "/k"})
	}
	c.Cancel(1)
	size := len(c.Out()) / 4
	c.Wrote(2*size + 5) // a part of the third request is written
	if _, err := c.Feed(reply(1, 1, OK)); err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint()
	for _, r := range c.Lost() {
		got += fmt.Sprint(r.Tag, r.End == NotSent, r.Canceled, len(r.Request), " ")
	}
	if want := "1 false true 6 2 true false 6 3 true false 6 "; got != want || c.Open() != 0 || len(c.Lost()) != 0 {
		t.Errorf("lost %q, want %q", got, want)
	}
}

// A connection that always has open requests must work for a long time. Each reply must contain the
// bytes of its request, the caller must be able to build another request from these bytes, and the
// output buffer must not keep growing.
func TestRequestsAreKeptUntilAnswered(t *testing.T) {
	c := ready(t, Config{})
	random := rand.New(rand.NewPCG(1, 2))
	asked, answered := int32(0), int32(0)
	ask := func() {
		asked++
		data := []byte(strings.Repeat("x", int(asked)%100))
		c.SetData(Call{Tag: uint32(asked)}, Path{Rest: fmt.Appendf(nil, "/%d", asked)}, data, asked)
	}
	for answered < 20_000 {
		for range 1 + random.IntN(40) {
			ask()
		}
		c.Wrote(random.IntN(len(c.Out()) + 1))
		var in []byte
		for range random.IntN(int(asked - answered)) { // at least one request stays open
			answered++
			in = append(in, reply(answered, int64(answered), OK)...)
		}
		c.Wrote(len(c.Out()))
		replies, err := c.Feed(in)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range replies {
			b := NewReader(r.Request)
			path, data, n := b.Buffer(), b.Buffer(), b.Int()
			if string(path) != fmt.Sprintf("/%d", n) || len(data) != int(n)%100 || r.Tag != uint32(n) {
				t.Fatalf("request %d was %q with %d bytes", r.Tag, path, len(data))
			}
			if random.IntN(10) == 0 {
				asked++ // built from the reply's bytes, which may move
				c.SetData(Call{Tag: r.Tag}, Path{Rest: path}, data, n)
			}
		}
		if c.Open() != int(asked-answered) || c.BufferedBytes() > 1<<20 || cap(c.out) > 1<<20 {
			t.Fatalf("%d open requests, want %d; %d bytes in a buffer of %d", c.Open(), asked-answered, c.BufferedBytes(), cap(c.out))
		}
	}
}

// Xids must stay positive: after the highest xid, they start again at 1.
func TestXidsStayPositive(t *testing.T) {
	c := ready(t, Config{})
	c.lastXid = 1<<31 - 2
	for range 3 {
		c.Sync(Call{}, Path{Prefix: "/"})
	}
	in := append(reply(1<<31-1, 1, OK), reply(1, 1, OK)...)
	if replies, err := c.Feed(append(in, reply(2, 1, OK)...)); err != nil || len(replies) != 3 {
		t.Errorf("%d replies, error %v; want 3 replies", len(replies), err)
	}
}

func TestCodesHaveNames(t *testing.T) {
	for code, want := range map[Code]string{OK: "OK", NoNode: "NoNode", ThrottledOp: "ThrottledOp", -99: "error -99"} {
		if got := code.String(); got != want {
			t.Errorf("%d is %q, want %q", int32(code), got, want)
		}
	}
}
