package etcdv2

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
)

func answer(status, body string) string {
	return fmt.Sprintf("HTTP/1.1 %s\r\nX-Etcd-Index: 77\r\nX-Raft-Term: 3\r\nContent-Length: %d\r\n\r\n%s", status, len(body), body)
}

// scripted is a codec whose server is the test.
type scripted struct {
	*testing.T
	c *codec
}

func newScripted(t *testing.T) scripted {
	return scripted{t, newCodec(store.Dialed{Endpoint: "127.0.0.1:2379"}, "u", "p")}
}

// asks submits an operation and returns the request's first line and body.
func (s scripted) asks(op store.Op) string {
	s.Helper()
	if s.c.Room() != 1 {
		s.Fatal("no room")
	}
	s.c.Submit(&op)
	return s.wrote()
}

func (s scripted) wrote() string {
	s.Helper()
	head, body, ok := strings.Cut(string(s.c.Out()), "\r\n\r\n")
	if !ok || !strings.Contains(head, "\r\nAuthorization: Basic dTpw") || s.c.Room() != 0 {
		s.Fatalf("wrote %q", head)
	}
	s.c.Wrote(len(s.c.Out()))
	line, _, _ := strings.Cut(head, " HTTP/1.1\r\n")
	return strings.TrimRight(line+" "+body, " ")
}

func (s scripted) feed(in string) []store.Event {
	s.Helper()
	events, err := s.c.Feed([]byte(in), nil)
	if err != nil {
		s.Fatal(err)
	}
	return events
}

func TestRequests(t *testing.T) {
	key, value := []byte("/a b/k"), []byte("v&=% +\x00")
	const path, form = "/v2/keys/a%20b/k", " value=v%26%3D%25%20%2B%00"
	for want, op := range map[string]store.Op{
		"PUT " + path + "?noValueOnSuccess=true" + form:                 {Kind: kv.Put, Key: key, Value: value},
		"GET " + path + "?quorum=true":                                  {Kind: kv.Get, Key: key, Consistency: kv.Linearizable},
		"GET " + path:                                                   {Kind: kv.Get, Key: key, Consistency: kv.Local},
		"GET /v2/keys/a%20b/?recursive=true":                            {Kind: kv.Range, Key: []byte("a b/c"), Consistency: kv.Local, Range: &store.RangeOp{End: []byte("a b/d")}},
		"GET /v2/keys/?recursive=true&quorum=true":                      {Kind: kv.Range, Key: []byte("a"), Consistency: kv.Linearizable, Range: &store.RangeOp{End: []byte{0}}},
		"DELETE " + path:                                                {Kind: kv.Delete, Key: key},
		"PUT " + path + "?noValueOnSuccess=true&prevIndex=5" + form:     {Kind: kv.CAS, Key: key, Value: value, Revision: 5},
		"PUT " + path + "?noValueOnSuccess=true&prevExist=false" + form: {Kind: kv.CAS, Key: key, Value: value},
	} {
		if got := newScripted(t).asks(op); got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
}

const (
	one = `{"action":"get","node":{"key":"/b","value":"v\u003c","modifiedIndex":5,"createdIndex":1}}`
	two = `{"action":"get","node":{"key":"/","dir":true,"nodes":[{"key":"/f","dir":true,"nodes":[{"key":"/f/x","value":"2",` +
		`"modifiedIndex":6,"createdIndex":1}],"modifiedIndex":6,"createdIndex":6},{"key":"/b","value":"v","modifiedIndex":5,"createdIndex":1}]}}`
)

// done is the answer to a write of the key b.
func done(action string, index int) string {
	return fmt.Sprintf(`{"action":%q,"node":{"key":"/b","modifiedIndex":%d,"createdIndex":1}}`+"\n", action, index)
}

func apiErrorText(code int, cause string) string {
	return fmt.Sprintf(`{"errorCode":%d,"message":"M","cause":%q,"index":9}`, code, cause)
}

func TestReplies(t *testing.T) {
	list := store.Op{Kind: kv.Range, Key: []byte("a"), Range: &store.RangeOp{End: []byte("z")}}
	for _, tc := range []struct {
		op     store.Op
		answer string
		want   store.Event
	}{
		{store.Op{Kind: kv.Get, Key: []byte("b")}, answer("200 OK", one), store.Event{Key: []byte("b"), Value: []byte("v<"), Revision: 5, Count: 1}},
		{store.Op{Kind: kv.Get, Key: []byte("/b")}, answer("200 OK", one), store.Event{Key: []byte("/b"), Value: []byte("v<"), Revision: 5, Count: 1}},
		{store.Op{Kind: kv.Get}, answer("404 X", apiErrorText(100, "/b")), store.Event{Outcome: kv.Miss}},
		{store.Op{Kind: kv.Get}, answer("200 OK", two), store.Event{Outcome: kv.BadRequest, Text: []byte("the key is a folder")}},
		{store.Op{Kind: kv.Get}, answer("404 X", "404 page not found"), store.Event{Outcome: kv.BadRequest,
			Text: []byte("there is no v2 API: etcd needs --enable-v2, and has none from 3.6 on")}},
		{store.Op{Kind: kv.Put}, answer("201 Created", `{"action":"set"}`), store.Event{Revision: 77}},
		{store.Op{Kind: kv.Put}, answer("200 OK", `{"action":"get"}`+"\n"), store.Event{Outcome: kv.WrongAnswer, Text: otherAction}},
		{store.Op{Kind: kv.Put}, answer("200 OK", "{}"), store.Event{Outcome: kv.WrongAnswer, Text: otherAction}},
		{store.Op{Kind: kv.Put, Key: []byte("b")}, answer("201 Created", done("set", 77)), store.Event{Key: []byte("b"), Revision: 77}},
		{store.Op{Kind: kv.Put, Key: []byte("/b")}, answer("200 OK", `{"node":{"key":"/\u0062","modifiedIndex":77},"action":"set"}`), store.Event{Key: []byte("/b"), Revision: 77}},
		{store.Op{Kind: kv.CAS, Key: []byte("b"), Revision: 3}, answer("200 OK", done("compareAndSwap", 77)), store.Event{Key: []byte("b"), Revision: 77}},
		{store.Op{Kind: kv.CAS, Key: []byte("b")}, answer("201 Created", done("create", 77)), store.Event{Key: []byte("b"), Revision: 77}},
		{store.Op{Kind: kv.Put}, answer("200 OK", done("get", 77)), store.Event{Outcome: kv.WrongAnswer, Text: otherAction}},
		{store.Op{Kind: kv.Delete}, answer("200 OK", done("set", 77)), store.Event{Outcome: kv.WrongAnswer, Text: otherAction}},
		{store.Op{Kind: kv.Put}, answer("200 OK", done("set", 0)), store.Event{Outcome: kv.WrongAnswer, Text: noIndex}},
		{store.Op{Kind: kv.Put}, strings.Replace(answer("200 OK", done("set", 7)), ": 77", ": 0", 1), store.Event{Outcome: kv.WrongAnswer, Text: noIndex}},
		{store.Op{Kind: kv.Put}, answer("200 OK", ""), store.Event{Outcome: kv.StoreError, Text: malformed}},
		{store.Op{Kind: kv.Get}, answer("200 OK", strings.Replace(one, `:5,`, `:0,`, 1)), store.Event{Outcome: kv.WrongAnswer, Text: noIndex}},
		{store.Op{Kind: kv.Range, Key: []byte("f/a"), Range: &store.RangeOp{End: []byte("f/z")}}, answer("200 OK", two), store.Event{Outcome: kv.WrongAnswer, Text: stray}},
		{store.Op{Kind: kv.CAS, Revision: 3}, answer("412 X", apiErrorText(101, "[3 != 44]")), store.Event{Outcome: kv.Conflict, Revision: 44}},
		{store.Op{Kind: kv.CAS, Revision: 3}, answer("412 X", apiErrorText(101, "what")), store.Event{Outcome: kv.Conflict, Revision: -1}},
		{store.Op{Kind: kv.CAS, Revision: 3}, answer("404 X", apiErrorText(100, "/b")), store.Event{Outcome: kv.Conflict}},
		{store.Op{Kind: kv.CAS}, answer("412 X", apiErrorText(105, "/b")), store.Event{Outcome: kv.Conflict, Revision: -1}},
		{store.Op{Kind: kv.Delete}, answer("200 OK", done("delete", 77)), store.Event{Key: []byte("b"), Revision: 77, Count: 1}},
		{store.Op{Kind: kv.Delete}, answer("404 X", apiErrorText(100, "/b")), store.Event{}},
		{list, answer("404 X", apiErrorText(100, "/b")), store.Event{}},
		{list, answer("200 OK", two), store.Event{Key: []byte("b"), Value: []byte("v"), Revision: 5, Count: 2}},
		{list, answer("200 OK", two[:50]), store.Event{Outcome: kv.StoreError, Text: malformed}},
		{store.Op{Kind: kv.Get}, answer("200 OK", "{}"), store.Event{Outcome: kv.StoreError, Text: malformed}},
	} {
		s := newScripted(t)
		s.asks(tc.op)
		events := s.feed(tc.answer)
		if tc.want.Outcome != kv.StoreError {
			tc.want.Term = 3
		}
		if !tc.want.Outcome.Failed() {
			tc.want.At = 77
		}
		if diff := cmp.Diff([]store.Event{tc.want}, events); diff != "" {
			t.Errorf("%v %q: %s", tc.op.Kind, tc.answer, diff)
		}
	}
}

func TestOutcomes(t *testing.T) {
	for in, want := range map[string]kv.Outcome{
		"500 " + apiErrorText(300, "etcdserver: request timed out"):                                          kv.StoreTimeout,
		"500 " + apiErrorText(300, "etcdserver: request timed out, possibly due to previous leader failure"): kv.StoreTimeout,
		"500 " + apiErrorText(300, "etcdserver: leader changed"):                                             kv.LeaderChanged,
		"500 " + apiErrorText(300, "etcdserver: no leader"):                                                  kv.NoLeader,
		"500 " + apiErrorText(300, "etcdserver: server stopped"):                                             kv.StoreError,
		"500 " + apiErrorText(300, "etcdserver: too many requests"):                                          kv.Refused,
		"500 " + apiErrorText(300, "etcdserver: request is too large"):                                       kv.BadRequest,
		"500 " + apiErrorText(300, "etcdserver: no space"):                                                   kv.NoSpace,
		"500 " + apiErrorText(300, "something new"):                                                          kv.StoreError,
		"500 " + apiErrorText(301, ""):                                                                       kv.LeaderChanged,
		"401 " + apiErrorText(110, "x"):                                                                      kv.Denied,
		"403 " + apiErrorText(102, "/b"):                                                                     kv.BadRequest,
		"400 " + apiErrorText(209, "x"):                                                                      kv.BadRequest,
		"400 " + apiErrorText(401, "x"):                                                                      kv.BadRequest,
		"500 " + apiErrorText(999, "x"):                                                                      kv.StoreError,
		"500 what":                                                                                           kv.StoreError,
		"401 ":                                                                                               kv.Denied,
		"429 ":                                                                                               kv.Refused,
		"504 ":                                                                                               kv.StoreTimeout,
		"400 Client sent an HTTP request to an HTTPS server.":                                                kv.BadRequest,
	} {
		s := newScripted(t)
		s.asks(store.Op{Kind: kv.Put, Key: []byte("k")})
		events := s.feed(answer(in[:3]+" X", in[4:]))
		if len(events) != 1 || events[0].Outcome != want || len(events[0].Text) == 0 {
			t.Errorf("%s: %+v, want %v", in, events, want)
		}
	}
}

func TestRedirects(t *testing.T) {
	moved := func(to string) string {
		return "HTTP/1.1 307 Temporary Redirect\r\nContent-Length: 0\r\nLocation: " + to + "\r\n\r\n"
	}
	op := store.Op{Tag: 3, Kind: kv.Put, Key: []byte("k"), Value: []byte("v")}
	s := newScripted(t)
	s.asks(op)
	if e := s.feed(moved("http://127.0.0.1:2379/v2/keys/other")); len(e) != 0 || s.wrote() != "PUT /v2/keys/other value=v" {
		t.Errorf("%v", e)
	}
	if e := s.feed(answer("200 OK", `{"action":"set"}`)); len(e) != 1 || e[0].Outcome != kv.OK || e[0].Extra != 1 {
		t.Errorf("%v", e)
	}
	s.asks(op)
	s.feed(moved("/once"))
	s.wrote()
	if e := s.feed(moved("/twice")); len(e) != 1 || e[0].Outcome != kv.Refused || !strings.Contains(string(e[0].Text), "again") {
		t.Errorf("%v", e)
	}
	s.asks(op)
	if e := s.feed(moved("http://10.0.0.1:2379/v2/keys/k")); len(e) != 1 || e[0].Outcome != kv.Refused || !strings.Contains(string(e[0].Text), "10.0.0.1:2379") {
		t.Errorf("%v", e)
	}
}

func TestCompareAndSetReadsFirst(t *testing.T) {
	op := store.Op{Tag: 4, Kind: kv.CAS, Key: []byte("k"), Value: []byte("v"), Revision: -1}
	for first, index := range map[string]string{
		answer("200 OK", strings.Replace(one, "5", "12", 1)): "prevIndex=12", answer("404 X", apiErrorText(100, "/k")): "prevExist=false",
	} {
		s := newScripted(t)
		s.asks(op)
		if e := s.feed(first); len(e) != 0 || s.wrote() != "PUT /v2/keys/k?noValueOnSuccess=true&"+index+" value=v" {
			t.Errorf("%v", e)
		}
		if e := s.feed(answer("200 OK", `{"action":"compareAndSwap"}`)); len(e) != 1 || e[0].Tag != 4 || e[0].Extra != 1 || e[0].Outcome != kv.OK {
			t.Errorf("%v", e)
		}
	}
	s := newScripted(t)
	s.asks(op)
	if e := s.feed(answer("500 X", apiErrorText(300, "etcdserver: no leader"))); len(e) != 1 || e[0].Outcome != kv.NoLeader || s.c.Room() != 1 {
		t.Errorf("%v", e)
	}
	s.asks(op)
	if e := s.c.Lost(nil); len(e) != 1 || e[0].Outcome != kv.NotSent {
		t.Errorf("lost before the write: %v", e)
	}
	s = newScripted(t)
	s.asks(op)
	s.feed(answer("404 X", apiErrorText(100, "/k")))
	s.wrote()
	if e := s.c.Lost(nil); len(e) != 1 || e[0].Outcome != kv.ConnectionLost || e[0].Extra != 1 {
		t.Errorf("lost with the write: %v", e)
	}
}

func TestCancelAndLost(t *testing.T) {
	op := store.Op{Tag: 7, Kind: kv.Get, Key: []byte("k")}
	s := newScripted(t)
	s.c.Submit(&op)
	if !s.c.Cancel(7) || s.c.Room() != 1 {
		t.Error("what was never written keeps its place")
	}
	s.asks(op)
	if s.c.Cancel(7) || s.c.Room() != 0 {
		t.Error("what was written gives up its place")
	}
	if e := s.feed(answer("200 OK", one)); len(e) != 1 || e[0].What != store.Late || e[0].Tag != 7 || s.c.Room() != 1 {
		t.Errorf("late: %v", e)
	}
	s.asks(op)
	s.c.Cancel(7)
	if e := s.c.Lost(nil); len(e) != 0 {
		t.Errorf("a cancelled operation is told twice: %v", e)
	}

	s = newScripted(t)
	s.c.Submit(&op)
	s.c.Wrote(5)
	if e := s.c.Lost(nil); len(e) != 1 || e[0].Outcome != kv.NotSent || !s.c.Draining() {
		t.Errorf("%v", e)
	}
	s = newScripted(t)
	s.asks(op)
	s.feed("HTTP/1.1 200 OK\r\n\r\n" + one)
	if e := s.c.Lost(nil); len(e) != 1 || e[0].Outcome != kv.OK || string(e[0].Value) != "v<" {
		t.Errorf("an answer until the end: %v", e)
	}
	if e := newScripted(t).c.Lost(nil); len(e) != 0 {
		t.Errorf("%v", e)
	}
}

func TestServersThatAreNotEtcd(t *testing.T) {
	for in, want := range map[string]string{
		"HTTP/2 200\r\n":               "the server answered with HTTP/2, not HTTP/1.1: does this etcd serve HTTP there, and not gRPC alone?",
		"\x15\x03\x01\x00\x02\x02\x46": "the server answered with a TLS alert: it wants TLS, or other certificates: were --cacert, --cert and --key meant?",
		"220 mail ESMTP\r\n":           `the server does not speak HTTP/1.1: its first bytes are "220 mail "`,
	} {
		s := newScripted(t)
		s.asks(store.Op{Kind: kv.Get})
		if _, err := s.c.Feed([]byte(in), nil); err == nil || err.Error() != want {
			t.Errorf("%q: %v", in, err)
		}
	}
}

// FuzzReply: whatever a server answers to whatever operation, there is one
// event for it, or none and an end.
func FuzzReply(f *testing.F) {
	f.Add(byte(kv.Get), answer("200 OK", one))
	f.Add(byte(kv.Range), answer("200 OK", two))
	f.Add(byte(kv.CAS), answer("200 OK", two))
	f.Add(byte(kv.Put), answer("500 X", apiErrorText(300, "etcdserver: no leader")))
	f.Fuzz(func(t *testing.T, kind byte, in string) {
		c := newCodec(store.Dialed{Endpoint: "h:1"}, "", "")
		c.Submit(&store.Op{Tag: 9, Kind: kv.Kind(kind) % kv.NumKinds, Key: []byte("b"), Revision: -1, Range: &store.RangeOp{End: []byte("d")}})
		c.Wrote(len(c.Out()))
		events, err := c.Feed([]byte(in), nil)
		if err == nil && len(events) == 0 {
			events = c.Lost(nil)
		} else if err != nil {
			events = c.Lost(events)
		}
		if len(events) != 1 || events[0].Tag != 9 || events[0].What != store.Done {
			t.Fatalf("%d events %+v, %v", len(events), events, err)
		}
	})
}

func benchmark(b *testing.B, op store.Op, in string) {
	c := newCodec(store.Dialed{Endpoint: "127.0.0.1:2379"}, "", "")
	events := make([]store.Event, 0, 1)
	reply := []byte(in)
	b.ReportAllocs()
	for b.Loop() {
		c.Submit(&op)
		c.Wrote(len(c.Out()))
		var err error
		if events, err = c.Feed(reply, events[:0]); err != nil || len(events) != 1 || events[0].Outcome.Failed() {
			b.Fatal(events, err)
		}
	}
}

var benchKey = []byte("bench/00012345")

func BenchmarkGet(b *testing.B) {
	benchmark(b, store.Op{Kind: kv.Get, Consistency: kv.Local, Key: benchKey}, answer("200 OK", strings.Replace(one, `v\u003c`, strings.Repeat("v", 256), 1)))
}

func BenchmarkPut(b *testing.B) {
	benchmark(b, store.Op{Kind: kv.Put, Key: benchKey, Value: []byte(strings.Repeat("v", 256))}, answer("200 OK", `{"action":"set"}`))
}

func BenchmarkCAS(b *testing.B) {
	benchmark(b, store.Op{Kind: kv.CAS, Key: benchKey, Value: []byte(strings.Repeat("v", 256)), Revision: 123456}, answer("200 OK", `{"action":"set"}`))
}

func BenchmarkRange(b *testing.B) {
	benchmark(b, store.Op{Kind: kv.Range, Key: []byte("a"), Range: &store.RangeOp{End: []byte("z")}}, answer("200 OK", two))
}
