package zookeeper

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/wire/jute"
)

func TestRoomComesWithTheSession(t *testing.T) {
	s := newScripted(t, store.Access{User: "u", Password: "p"}, store.ConnectionInfo{})
	if s.c.Room() != 0 || s.c.Tick(5) != 5+tickInterval {
		t.Error("the codec has room before the session is granted")
	}
	s.grant(9000, 5)
	s.feed()
	if s.c.Room() != 0 || !bytes.Contains(s.written(), []byte("u:p")) {
		t.Error("the codec has room before the user is authenticated")
	}
	s.xid = jute.XidAuth
	s.answer(jute.OK)
	s.feed()
	if s.c.Room() != maxUnanswered/2 || s.c.Draining() {
		t.Errorf("the codec has room for %d operations", s.c.Room())
	}
}

func TestRoomEnds(t *testing.T) {
	s := granted(t)
	n := 0
	for ; s.c.Room() > 0; n++ {
		s.c.Submit(&store.Op{Kind: kv.Get, Key: key("k")})
	}
	if n != maxUnanswered/2 {
		t.Errorf("%d operations fit into the codec", n)
	}
	s = granted(t)
	for n = 0; s.c.Room() > 0; n++ {
		s.c.Submit(&store.Op{Kind: kv.Put, Key: key("k"), Value: make([]byte, 1<<20)})
	}
	if n != maxBufferedBytes>>20 {
		t.Errorf("%d operations of 1 MiB fit into the buffer", n)
	}
}

// ticks advances the time in the steps that Tick returns, and returns the times at which the
// codec wrote. If `answered` is set, it responds to each ping.
func (s *scripted) ticks(now, until int64, answered bool) (wrote []int64) {
	s.t.Helper()
	for now <= until {
		next := s.c.Tick(now)
		if len(s.written()) > 0 {
			wrote = append(wrote, now)
			if answered {
				s.xid = jute.XidPing
				s.answer(jute.OK)
				s.want("")
			}
		}
		if next <= now {
			s.t.Fatalf("at %d, Tick returned %d as the next time, which is not later", now, next)
		}
		now = next
	}
	return wrote
}

const second = int64(time.Second)

func TestPings(t *testing.T) {
	s := granted(t)
	if got, want := s.ticks(second, 14*second, true), []int64{4 * second, 7 * second, 10 * second, 13 * second}; !slices.Equal(got, want) {
		t.Errorf("pings at %d, want %d", got, want)
	}
	if next := s.c.Tick(20 * second); next > 20*second+3*second/checksPerThird {
		t.Errorf("Tick returned %d as the next time, which is too late", next)
	}
	s.expect("11")
	if got := s.ticks(20*second+1, 23*second, false); len(got) != 1 || got[0] != 23*second {
		t.Errorf("after a late ping, the codec sent pings at %d", got)
	}
}

// TestMuteConnectionIsAbandoned checks that a codec gives up a connection if a reply is due and
// nothing has arrived for two thirds of the session timeout, but not earlier. In a load that must
// renew its session itself but sends nothing, no reply is due, so the codec must keep the
// connection.
func TestMuteConnectionIsAbandoned(t *testing.T) {
	const look = 3 * second / checksPerThird
	s := granted(t)
	s.ticks(second, 10*second, true)
	heard := 10 * second // time of the reply to the latest ping
	s.ticks(10*second+1, heard+6*second-1, false)
	if s.c.CheckAlive() != nil {
		t.Error("the codec gave up the connection before two thirds of the timeout were over")
	}
	s.ticks(heard+6*second, heard+6*second+2*look, false)
	if why := s.c.CheckAlive(); why == nil || s.c.CheckAlive().Error() != "the server has sent nothing for two thirds of the session's timeout" {
		t.Errorf("CheckAlive returned the error %v", why)
	}

	// A reply to an operation counts in the same way as a reply to a ping.
	s = granted(t)
	for now := second; now < 30*second; {
		s.submit(store.Op{Kind: kv.Put, Key: key("a")})
		s.ticks(now, now+2*second, false)
		s.xid = 1 + int32(now/(2*second)) //#nosec G115 -- small
		s.set(1, 0)
		s.feed()
		now += 2 * second
	}
	if s.c.CheckAlive() != nil {
		t.Error("the codec gave up the connection although the server answers operations")
	}

	// The load renews the session, so only replies to the load's requests are due.
	s = newScripted(t, store.Access{SessionTimeout: 9 * time.Second}, store.ConnectionInfo{})
	s.grant(9000, 5)
	s.feed()
	if s.ticks(second, 60*second, false); s.c.CheckAlive() != nil {
		t.Error("the codec gave up the connection although no request was sent")
	}
	s.submit(store.Op{Kind: kv.KeepAlive})
	if s.ticks(60*second+1, 63*second-look-1, false); s.c.CheckAlive() != nil {
		t.Error("the codec gave up the connection immediately after a request was sent")
	}
	if s.ticks(63*second-look, 63*second+look, false); s.c.CheckAlive() == nil {
		t.Error("the codec did not give up the connection")
	}
}

func TestPutOfMissingKey(t *testing.T) {
	s := granted(t)
	s.submit(store.Op{Kind: kv.Put, Key: key("a/b/c"), Value: []byte("v")})
	s.expect("5 /a/b/c")
	s.answer(jute.NoNode)
	s.want("")
	s.expect("1 /a/b/c")
	s.answer(jute.NoNode)
	s.want("")
	s.expect("1 /a, 1 /a/b, 1 /a/b/c")
	s.answer(jute.NodeExists)
	s.answer(jute.OK)
	s.answer(jute.NodeExists)
	s.want("")
	s.expect("5 /a/b/c")
	s.set(4, 1)
	s.want("1:ok r5 n0 +5")
}

// TestPutEnds checks that a put ends with a definite error if another client keeps creating and
// deleting the key.
func TestPutEnds(t *testing.T) {
	s := granted(t)
	s.submit(store.Op{Kind: kv.Put, Key: key("k")})
	for range 1000 {
		s.answer(jute.NoNode)
		if got := s.feed(); got != "" {
			if !strings.HasPrefix(got, "1:refused") {
				t.Error(got)
			}
			return
		}
		s.answer(jute.NodeExists)
		if got := s.feed(); got != "" {
			if !strings.HasPrefix(got, "1:refused") {
				t.Error(got)
			}
			return
		}
	}
	t.Error("the put did not end after 1000 attempts")
}

func TestLinearizableGet(t *testing.T) {
	s := granted(t)
	get := func() store.Op { return store.Op{Kind: kv.Get, Key: key("/k")} }
	s.submit(get(), get(), get())
	s.expect("9 /k, 4 /k, 9 /k, 4 /k, 9 /k, 4 /k")
	value := stat(8, []byte("vv"))
	s.answer(jute.OK, []byte("\x00\x00\x00\x02/k")...)
	s.answer(jute.OK, value...)
	s.answer(jute.RequestTimeout)
	s.answer(jute.OK, value...)
	s.answer(jute.OK, []byte("\x00\x00\x00\x02/k")...)
	s.answer(jute.NoNode)
	s.want("1:ok r9 n1 +1 vv, 2:store_timeout r0 n0 +1, 3:miss r0 n0 +1")
}

func TestUnknownVersion(t *testing.T) {
	s := granted(t)
	cas := func(value string) store.Op {
		return store.Op{Kind: kv.CAS, Key: key("k"), Value: []byte(value), Revision: -1}
	}
	s.submit(cas("one"), cas("two"), cas("three"), cas("four"))
	s.expect("3 /k, 3 /k, 3 /k, 3 /k")
	s.answer(jute.OK, nodeStat(6, 2, 5)...)
	s.answer(jute.NoNode)
	s.c.Cancel(3)
	s.answer(jute.OK, nodeStat(6, 2, 5)...)
	s.answer(jute.NoAuth)
	s.want("3:late ok r0 n0 +1, 4:denied r0 n0 +1")
	out := string(s.c.Out())
	if !strings.Contains(out, "one\x00\x00\x00\x06") || !strings.Contains(out, "two") || strings.Contains(out, "three") {
		t.Errorf("the codec sent %q", out)
	}
	s.expect("5 /k, 1 /k")
	s.answer(jute.BadVersion)
	s.answer(jute.NodeExists)
	s.want("1:conflict r-1 n0 +1, 2:conflict r-1 n0 +1")
}

func TestTransactionFindsWhatIsMissing(t *testing.T) {
	s := granted(t)
	s.submit(store.Op{Kind: kv.Txn, Pairs: []store.Pair{{Key: key("a"), Value: []byte("1")}, {Key: key("p/b"), Value: []byte("2")}}})
	s.expect("14 5 /a=1 5 /p/b=2")
	fails := func(at int, code jute.Code) []byte {
		parts := [][]byte{failure(jute.RuntimeInconsistency), failure(jute.RuntimeInconsistency)}
		for i := range at {
			parts[i] = failure(jute.OK)
		}
		parts[at] = failure(code)
		return results(parts...)
	}
	s.answer(jute.OK, fails(1, jute.NoNode)...)
	s.want("")
	s.expect("14 5 /a=1 1 /p/b=2")
	s.answer(jute.OK, fails(1, jute.NoNode)...)
	s.want("")
	s.expect("1 /p, 14 5 /a=1 1 /p/b=2")
	s.answer(jute.OK)
	s.answer(jute.OK, fails(1, jute.NodeExists)...)
	s.want("")
	s.expect("14 5 /a=1 5 /p/b=2")
	s.answer(jute.OK, fails(0, jute.QuotaExceeded)...)
	s.want("1:no_space r0 n0 +4")

	s.submit(store.Op{Kind: kv.Txn, Pairs: []store.Pair{{Key: key("a")}}})
	s.requests()
	s.answer(jute.APIError) // an error without a record, as zetcd sends it
	s.want("1:store_error r0 n0 +0")
}
