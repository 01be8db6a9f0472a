package etcdv2

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testing/storetest"
)

func answer(status, body string) string {
	return fmt.Sprintf("HTTP/1.1 %s\r\nX-Etcd-Index: 77\r\nX-Raft-Term: 3\r\nContent-Length: %d\r\n\r\n%s", status, len(body), body)
}

// scripted is a codec for which the test plays the server.
type scripted = storetest.Script[*codec]

func newScripted(t *testing.T) scripted {
	c := newCodec(store.ConnectionInfo{Endpoint: "127.0.0.1:2379"}, "u", "p")
	return scripted{TB: t, Codec: c, Field: "\r\nAuthorization: Basic dTpw"}
}

func TestRequests(t *testing.T) {
	key, value := []byte("/a b/k"), []byte("v&=% +\x00")
	const path, form = "/v2/keys/a%20b/k", " value=v%26%3D%25%20%2B%00"
	for want, op := range map[string]store.Op{
		"PUT " + path + "?noValueOnSuccess=true" + form:                 {Kind: kv.Put, Key: key, Value: value},
		"GET " + path + "?quorum=true":                                  {Kind: kv.Get, Key: key, Consistency: kv.Linearizable},
		"GET " + path:                                                   {Kind: kv.Get, Key: key, Consistency: kv.Local},
		"GET /v2/keys/a%20b/?recursive=true":                            {Kind: kv.Range, Key: []byte("a b/c"), Consistency: kv.Local, Range: &store.RangeOp{End: []byte("a b/d")}},
		"GET /v2/keys/a/b/?recursive=true":                              {Kind: kv.Range, Key: []byte("a/b/"), Consistency: kv.Local, Range: &store.RangeOp{End: []byte("a/b0")}},
		"GET /v2/keys/?recursive=true&quorum=true":                      {Kind: kv.Range, Key: []byte("a"), Consistency: kv.Linearizable, Range: &store.RangeOp{End: []byte{0}}},
		"DELETE " + path:                                                {Kind: kv.Delete, Key: key},
		"PUT " + path + "?noValueOnSuccess=true&prevIndex=5" + form:     {Kind: kv.CAS, Key: key, Value: value, Revision: 5},
		"PUT " + path + "?noValueOnSuccess=true&prevExist=false" + form: {Kind: kv.CAS, Key: key, Value: value},
	} {
		if got := newScripted(t).Ask(op); got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
}

func TestCommonFolder(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{"quorumbench/", "quorumbench0", "quorumbench/"},
		{"quorumbench/7", "quorumbench0", "quorumbench/"},
		{"a/b/c", "a/b0", "a/b/"},
		{"/a/", "/a0", "/a/"},
		{"a/b/", "a/b/c", "a/b/"},
		{"a/b", "a/b0", "a/"},
		{"a/b/", "a/b00", "a/"}, // the interval contains a/b0
		{"a/b/", "a/c", "a/"},
		{"a/", "b", ""},
		{"a", "\x00", ""},
		{"", "a", ""},
	} {
		if got := commonFolder([]byte(c.from), []byte(c.to)); string(got) != c.want {
			t.Errorf("commonFolder(%q, %q) returned %q, want %q", c.from, c.to, got, c.want)
		}
	}
}

const (
	one = `{"action":"get","node":{"key":"/b","value":"v\u003c","modifiedIndex":5,"createdIndex":1}}`
	two = `{"action":"get","node":{"key":"/","dir":true,"nodes":[{"key":"/f","dir":true,"nodes":[{"key":"/f/x","value":"2",` +
		`"modifiedIndex":6,"createdIndex":1}],"modifiedIndex":6,"createdIndex":6},{"key":"/b","value":"v","modifiedIndex":5,"createdIndex":1}]}}`
)

// writeResponse returns the response to a write of the key b.
func writeResponse(action string, index int) string {
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
			Text: []byte("the server does not offer etcd's v2 API: etcd up to 3.5 offers it only with --enable-v2, and later versions do not offer it")}},
		{store.Op{Kind: kv.Put}, answer("201 Created", `{"action":"set"}`), store.Event{Revision: 77}},
		{store.Op{Kind: kv.Put}, answer("200 OK", `{"action":"get"}`+"\n"), store.Event{Outcome: kv.WrongResponse, Text: wrongAction}},
		{store.Op{Kind: kv.Put}, answer("200 OK", "{}"), store.Event{Outcome: kv.WrongResponse, Text: wrongAction}},
		{store.Op{Kind: kv.Put, Key: []byte("b")}, answer("201 Created", writeResponse("set", 77)), store.Event{Key: []byte("b"), Revision: 77}},
		{store.Op{Kind: kv.Put, Key: []byte("/b")}, answer("200 OK", `{"node":{"key":"/\u0062","modifiedIndex":77},"action":"set"}`), store.Event{Key: []byte("/b"), Revision: 77}},
		{store.Op{Kind: kv.CAS, Key: []byte("b"), Revision: 3}, answer("200 OK", writeResponse("compareAndSwap", 77)), store.Event{Key: []byte("b"), Revision: 77}},
		{store.Op{Kind: kv.CAS, Key: []byte("b")}, answer("201 Created", writeResponse("create", 77)), store.Event{Key: []byte("b"), Revision: 77}},
		{store.Op{Kind: kv.Put}, answer("200 OK", writeResponse("get", 77)), store.Event{Outcome: kv.WrongResponse, Text: wrongAction}},
		{store.Op{Kind: kv.Delete}, answer("200 OK", writeResponse("set", 77)), store.Event{Outcome: kv.WrongResponse, Text: wrongAction}},
		{store.Op{Kind: kv.Put}, answer("200 OK", writeResponse("set", 0)), store.Event{Outcome: kv.WrongResponse, Text: noIndex}},
		{store.Op{Kind: kv.Put}, strings.Replace(answer("200 OK", writeResponse("set", 7)), ": 77", ": 0", 1), store.Event{Outcome: kv.WrongResponse, Text: noIndex}},
		{store.Op{Kind: kv.Put}, answer("200 OK", ""), store.Event{Outcome: kv.StoreError, Text: malformed}},
		{store.Op{Kind: kv.Get}, answer("200 OK", strings.Replace(one, `:5,`, `:0,`, 1)), store.Event{Outcome: kv.WrongResponse, Text: noIndex}},
		{store.Op{Kind: kv.Range, Key: []byte("f/a"), Range: &store.RangeOp{End: []byte("f/z")}}, answer("200 OK", two), store.Event{Outcome: kv.WrongResponse, Text: strayKey}},
		{store.Op{Kind: kv.CAS, Revision: 3}, answer("412 X", apiErrorText(101, "[3 != 44]")), store.Event{Outcome: kv.Conflict, Revision: 44}},
		{store.Op{Kind: kv.CAS, Revision: 3}, answer("412 X", apiErrorText(101, "what")), store.Event{Outcome: kv.Conflict, Revision: -1}},
		{store.Op{Kind: kv.CAS, Revision: 3}, answer("404 X", apiErrorText(100, "/b")), store.Event{Outcome: kv.Conflict}},
		{store.Op{Kind: kv.CAS}, answer("412 X", apiErrorText(105, "/b")), store.Event{Outcome: kv.Conflict, Revision: -1}},
		{store.Op{Kind: kv.Delete}, answer("200 OK", writeResponse("delete", 77)), store.Event{Key: []byte("b"), Revision: 77, Count: 1}},
		{store.Op{Kind: kv.Delete}, answer("404 X", apiErrorText(100, "/b")), store.Event{}},
		{list, answer("404 X", apiErrorText(100, "/b")), store.Event{}},
		{list, answer("200 OK", two), store.Event{Key: []byte("b"), Value: []byte("v"), Revision: 5, Count: 2}},
		{store.Op{Kind: kv.Range, Key: []byte("b/"), Range: &store.RangeOp{End: []byte("b0")}}, answer("200 OK", one), store.Event{}},
		{store.Op{Kind: kv.Range, Key: []byte("b/"), Range: &store.RangeOp{End: []byte("b0")}}, answer("200 OK", strings.Replace(one, "/b", "/b/", 1)), store.Event{}},
		{list, answer("200 OK", two[:50]), store.Event{Outcome: kv.StoreError, Text: malformed}},
		{store.Op{Kind: kv.Get}, answer("200 OK", "{}"), store.Event{Outcome: kv.StoreError, Text: malformed}},
	} {
		s := newScripted(t)
		s.Ask(tc.op)
		events := s.Feed(tc.answer)
		if tc.want.Outcome != kv.StoreError {
			tc.want.Term = 3
		}
		if !tc.want.Outcome.Failed() {
			tc.want.StoreRevision = 77
		}
		if diff := cmp.Diff([]store.Event{tc.want}, events); diff != "" {
			t.Errorf("%v %q: %s", tc.op.Kind, tc.answer, diff)
		}
	}
}

func TestOutcomes(t *testing.T) {
	newScripted(t).Outcomes(answer, map[string]kv.Outcome{
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
	})
}

func TestRedirects(t *testing.T) {
	moved := func(to string) string {
		return "HTTP/1.1 307 Temporary Redirect\r\nContent-Length: 0\r\nLocation: " + to + "\r\n\r\n"
	}
	op := store.Op{Tag: 3, Kind: kv.Put, Key: []byte("k"), Value: []byte("v")}
	s := newScripted(t)
	s.Ask(op)
	if e := s.Feed(moved("http://127.0.0.1:2379/v2/keys/other")); len(e) != 0 || s.Sent() != "PUT /v2/keys/other value=v" {
		t.Errorf("%v", e)
	}
	if e := s.Feed(answer("200 OK", `{"action":"set"}`)); len(e) != 1 || e[0].Outcome != kv.OK || e[0].ExtraRequests != 1 {
		t.Errorf("%v", e)
	}
	s.Ask(op)
	s.Feed(moved("/once"))
	s.Sent()
	if e := s.Feed(moved("/twice")); len(e) != 1 || e[0].Outcome != kv.Refused || !strings.Contains(string(e[0].Text), "repeatedly") {
		t.Errorf("%v", e)
	}
	s.Ask(op)
	if e := s.Feed(moved("http://10.0.0.1:2379/v2/keys/k")); len(e) != 1 || e[0].Outcome != kv.Refused || !strings.Contains(string(e[0].Text), "10.0.0.1:2379") {
		t.Errorf("%v", e)
	}
}

func TestCompareAndSetReadsFirst(t *testing.T) {
	op := store.Op{Tag: 4, Kind: kv.CAS, Key: []byte("k"), Value: []byte("v"), Revision: -1}
	for first, index := range map[string]string{
		answer("200 OK", strings.Replace(one, "5", "12", 1)): "prevIndex=12", answer("404 X", apiErrorText(100, "/k")): "prevExist=false",
	} {
		s := newScripted(t)
		s.Ask(op)
		if e := s.Feed(first); len(e) != 0 || s.Sent() != "PUT /v2/keys/k?noValueOnSuccess=true&"+index+" value=v" {
			t.Errorf("%v", e)
		}
		if e := s.Feed(answer("200 OK", `{"action":"compareAndSwap"}`)); len(e) != 1 || e[0].Tag != 4 || e[0].ExtraRequests != 1 || e[0].Outcome != kv.OK {
			t.Errorf("%v", e)
		}
	}
}

func TestServersThatAreNotEtcd(t *testing.T) {
	s := newScripted(t)
	s.Ask(store.Op{Kind: kv.Get})
	want := "the server answered with HTTP/2, not HTTP/1.1: does this etcd endpoint serve HTTP, or only gRPC?"
	if _, err := s.Codec.Feed([]byte("HTTP/2 200\r\n"), nil); err == nil || err.Error() != want {
		t.Error(err)
	}
}

// FuzzReply checks that any response to any operation results in exactly one event or an error.
func FuzzReply(f *testing.F) {
	f.Add(byte(kv.Get), answer("200 OK", one))
	f.Add(byte(kv.Range), answer("200 OK", two))
	f.Add(byte(kv.CAS), answer("200 OK", two))
	f.Add(byte(kv.Put), answer("500 X", apiErrorText(300, "etcdserver: no leader")))
	f.Fuzz(func(t *testing.T, kind byte, in string) {
		storetest.CheckEndsOnce(t, newCodec(store.ConnectionInfo{Endpoint: "h:1"}, "", ""),
			store.Op{Kind: kv.Kind(kind) % kv.NumKinds, Key: []byte("b"), Revision: -1, Range: &store.RangeOp{End: []byte("d")}}, in)
	})
}

func benchmark(b *testing.B, op store.Op, in string) {
	storetest.BenchmarkExchange(b, newCodec(store.ConnectionInfo{Endpoint: "127.0.0.1:2379"}, "", ""), op, in)
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
