package zookeeper

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/wire/jute"
)

// TestCancelled checks that the codec sends no further request for a canceled operation, and that
// the operation's slot becomes free when the reply arrives.
func TestCancelled(t *testing.T) {
	s := granted(t)
	s.submit(store.Op{Kind: kv.Put, Key: key("k")}, store.Op{Kind: kv.Get, Key: key("k")}, store.Op{Kind: kv.Range, Key: key("k/"), Range: &store.RangeOp{End: key("k0")}},
		store.Op{Kind: kv.Delete, Key: key("a//b")}, store.Op{Kind: kv.Delete, Key: key("k")})
	for tag := uint32(1); tag <= 4; tag++ {
		if s.c.Cancel(tag) {
			t.Error("Cancel freed the slot of an operation although its response is outstanding")
		}
	}
	s.requests()
	s.answer(jute.NoNode)
	s.answer(jute.OK)
	s.answer(jute.NoNode)
	s.answer(jute.OK)
	s.answer(jute.OK)
	s.answer(jute.OK)
	s.answer(jute.OK)
	s.want("1:late ok r0 n0 +0, 2:late ok r0 n0 +1, 3:late ok r0 n0 +1, 4:late ok r0 n0 +0, 5:ok r0 n1 +0")
	if s.requests() != "" || len(s.c.reasons)+len(s.c.limits) != 0 {
		t.Error("the codec continues a cancelled operation")
	}
}

func TestLostOperations(t *testing.T) {
	s := granted(t)
	s.submit(store.Op{Kind: kv.Put, Key: key("a")}, store.Op{Kind: kv.Get, Key: key("b")}, store.Op{Kind: kv.Put, Key: key("c")})
	s.c.Cancel(3)
	s.c.Wrote(len(s.c.Out()) / 2) // in the middle of the second operation's requests
	if got := eventText(s.c.Lost(nil)); got != "1:connection_lost r0 n0 +0, 2:not_sent r0 n0 +0" {
		t.Errorf("the lost connection ended the operations %s", got)
	}
}

// TestLostLargeRequest checks that the event for a lost request mentions jute.maxbuffer if the
// request, with its header, is larger than the default limit.
func TestLostLargeRequest(t *testing.T) {
	const largest = jute.DefaultMaxBuffer - setDataLen - len("/a")
	for size, want := range map[int]bool{largest: false, largest + 1: true} {
		s := granted(t)
		s.submit(store.Op{Kind: kv.Put, Key: key("a"), Value: make([]byte, size)})
		s.c.Wrote(len(s.c.Out()))
		events := s.c.Lost(nil)
		if len(events) != 1 || strings.Contains(string(events[0].Text), "has 1048576 bytes") != want {
			t.Errorf("a lost write of %d bytes ended with %+v; the text must mention the limit: %v", size, events, want)
		}
	}
}

func TestMalformedAnswers(t *testing.T) {
	for _, op := range []store.Op{
		{Kind: kv.Put}, {Kind: kv.Get, Consistency: kv.Local}, {Kind: kv.Range, Consistency: kv.Local, Range: &store.RangeOp{End: key("z")}},
		{Kind: kv.CAS, Revision: 1}, {Kind: kv.CAS, Revision: -1}, {Kind: kv.Txn, Pairs: []store.Pair{{Key: key("k")}}},
	} {
		s := granted(t)
		op.Key = key("k")
		s.submit(op)
		s.answer(jute.OK, 0, 0, 0, 9)
		events, err := s.tryFeed()
		if err == nil || len(events) != 1 || events[0].Outcome != kv.StoreError || !strings.Contains(err.Error(), "truncated") {
			t.Errorf("%v: %+v, %v", op.Kind, events, err)
		}
	}
}

func TestSessionPassesToTheNextConnection(t *testing.T) {
	s := granted(t)
	s.submit(store.Op{Kind: kv.Put, Key: key("a")})
	s.set(1, 0)
	s.feed()
	s.c.Lost(nil)
	next := newCodecs(store.Access{}, Dialect{})(store.ConnectionInfo{Previous: s.c}).(*codec)
	// A connection may end before the server has granted it the session. The next connection must
	// still continue the session.
	last := newCodecs(store.Access{}, Dialect{})(store.ConnectionInfo{Previous: next}).(*codec)
	if got := last.conn.Session(); got.ID != 5 || last.conn.LastZxid() != 3<<32|9 || string(got.Password) != "0123456789abcdef" {
		t.Errorf("the session of the last connection is %+v", got)
	}
}

// TestNotifications checks that the codec skips a watch event for a path that it does not watch.
func TestNotifications(t *testing.T) {
	s := granted(t)
	s.xid = jute.XidNotification
	s.answer(jute.OK, []byte("\x00\x00\x00\x03\x00\x00\x00\x03\x00\x00\x00\x02/k")...)
	events, err := s.tryFeed()
	if err != nil || len(events) != 0 {
		t.Errorf("%+v, %v", events, err)
	}
}

// TestOutcomes checks that every code has an outcome, and that the outcome is a definite error only
// if the code excludes a change.
func TestOutcomes(t *testing.T) {
	definite := []jute.Code{
		jute.BadArguments, jute.Unimplemented, jute.InvalidACL, jute.InvalidCallback, jute.NoChildrenForEphemerals,
		jute.EphemeralOnLocalSession, jute.NoWatcher, jute.ReconfigDisabled, jute.NoNode, jute.NodeExists, jute.BadVersion,
		jute.NotEmpty, jute.NoAuth, jute.AuthFailed, jute.SessionClosedRequireSASLAuth, jute.SessionExpired,
		jute.SessionMoved, jute.ThrottledOp, jute.ReconfigInProgress, jute.NotReadOnly, jute.NewConfigNoQuorum,
	}
	for code := jute.Code(0); code > -130; code-- {
		o := outcomeOf(code)
		if o.Failed() != (code != jute.OK) {
			t.Errorf("the outcome of code %v is %v", code, o)
		}
		if want := slices.Contains(definite, code); o.Definite() != want {
			t.Errorf("%v is %v: definite %v, want %v", code, o, o.Definite(), want)
		}
	}
	if outcomeOf(jute.ConnectionLoss) != kv.ConnectionLost || outcomeOf(jute.OperationTimeout) != kv.StoreTimeout {
		t.Error("the code of a lost connection or of a timeout has a wrong outcome")
	}
}

// TestSilentSessionIsNotResumed checks which sessions a codec continues on a new connection. It
// must not continue a session for which the load has sent nothing for too long, even if the
// connection was lost before the session expired. If the load sends pings, the codec must
// continue the session.
func TestSilentSessionIsNotResumed(t *testing.T) {
	for _, alive := range []bool{true, false} {
		s := newScripted(t, store.Access{SessionTimeout: 9 * time.Second}, store.ConnectionInfo{})
		s.grant(9000, 5)
		s.feed()
		for now := second; now < 10*second; {
			if alive {
				s.submit(store.Op{Kind: kv.KeepAlive})
			}
			if now = s.c.Tick(now); now == 0 {
				t.Fatal("Tick did not schedule another check of the session")
			}
		}
		s.c.Lost(nil)
		next := newCodecs(store.Access{}, Dialect{})(store.ConnectionInfo{Previous: s.c}).(*codec)
		if got := next.conn.Session().ID; (got == 5) != alive {
			t.Errorf("load sends pings: %v; the next connection continues session %d", alive, got)
		}
	}
}

// TestSessionEndContainsTheZxid checks that the event for a session's end contains the zxid, unless
// the session was known to only one member.
func TestSessionEndContainsTheZxid(t *testing.T) {
	for name, c := range map[string]struct {
		code jute.Code
		step int64
		want store.Event
	}{
		"done":           {want: store.Event{Type: store.SessionClosed, StoreRevision: 3<<32 | 10}},
		"no transaction": {step: -1, want: store.Event{Type: store.SessionClosed}},
		"refused":        {code: jute.SystemError, want: store.Event{Type: store.SessionClosed, Outcome: kv.StoreError}},
	} {
		s := granted(t)
		s.submit(store.Op{Kind: kv.Put, Key: key("a")})
		s.set(1, 0)
		s.feed()
		s.c.Close()
		s.requests()
		s.zxid += c.step
		s.answer(c.code)
		got, err := s.tryFeed()
		if err != nil || len(got) != 1 || s.c.Session() != 5 {
			t.Fatalf("%s: %+v, %v of session %d", name, got, err, s.c.Session())
		}
		if got[0].Text = nil; got[0].Type != c.want.Type || got[0].StoreRevision != c.want.StoreRevision || got[0].Outcome != c.want.Outcome {
			t.Errorf("%s: %+v", name, got[0])
		}
	}
	s := granted(t)
	s.c.Close()
	if got := s.c.Lost(nil); len(got) > 0 {
		t.Errorf("the unanswered close of a session produced the events %+v", got)
	}
}
