package consul

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
	return fmt.Sprintf("HTTP/1.1 %s\r\nX-Consul-Index: 77\r\nContent-Length: %d\r\n\r\n%s", status, len(body), body)
}

// scripted is a codec whose server is the test.
type scripted = storetest.Script[*codec]

func newScripted(t *testing.T) scripted {
	c := newCodec(store.ConnectionInfo{Endpoint: "127.0.0.1:8500"}, "secret", New().dialect())
	return scripted{TB: t, Codec: c, Field: "\r\nX-Consul-Token: secret"}
}

func TestRequests(t *testing.T) {
	key, value := []byte("/a b/k"), []byte("v&=%\x00")
	for want, op := range map[string]store.Op{
		"PUT /v1/kv/a%20b/k v&=%\x00":                                          {Kind: kv.Put, Key: key, Value: value},
		"GET /v1/kv/a%20b/k?raw&consistent":                                    {Kind: kv.Get, Key: key, Consistency: kv.Linearizable},
		"GET /v1/kv/a%20b/k?raw&stale":                                         {Kind: kv.Get, Key: key, Consistency: kv.Local},
		"GET /v1/kv/a%20b/k?raw":                                               {Kind: kv.Get, Key: key, Consistency: kv.LeaderLease},
		"GET /v1/kv/a%20b/?recurse&stale":                                      {Kind: kv.Range, Key: []byte("a b/c"), Consistency: kv.Local, Range: &store.RangeOp{End: []byte("a b/d")}},
		"GET /v1/kv/?recurse":                                                  {Kind: kv.Range, Key: []byte("a"), Range: &store.RangeOp{End: []byte{0}}},
		"GET /v1/kv/k1?recurse":                                                {Kind: kv.Range, Key: []byte("k10"), Range: &store.RangeOp{End: []byte("k19\x00")}},
		"DELETE /v1/kv/a%20b/k":                                                {Kind: kv.Delete, Key: key},
		"PUT /v1/kv/a%20b/k?cas=5 v&=%\x00":                                    {Kind: kv.CAS, Key: key, Value: value, Revision: 5},
		"PUT /v1/kv/a%20b/k?cas=0 v&=%\x00":                                    {Kind: kv.CAS, Key: key, Value: value},
		`PUT /v1/txn [{"KV":{"Verb":"set","Key":"a\"\u0001","Value":"dg=="}}]`: {Kind: kv.Txn, Pairs: []store.Pair{{Key: []byte("a\"\x01"), Value: []byte("v")}}},
	} {
		if got := newScripted(t).Ask(op); got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
}

const two = `[{"LockIndex":0,"Key":"b","Flags":0,"Value":"dg==","CreateIndex":1,"ModifyIndex":5},` +
	`{"LockIndex":0,"Key":"c","Flags":0,"Value":null,"CreateIndex":1,"ModifyIndex":6}]`

func TestReplies(t *testing.T) {
	list := store.Op{Kind: kv.Range, Key: []byte("a"), Range: &store.RangeOp{End: []byte("z")}}
	for _, tc := range []struct {
		op     store.Op
		answer string
		want   store.Event
	}{
		{store.Op{Kind: kv.Get}, answer("200 OK", "v"), store.Event{Value: []byte("v"), Revision: 77, Count: 1}},
		// An empty value is accepted, because the codec cannot know whether the value should be
		// empty.
		{store.Op{Kind: kv.Get}, answer("200 OK", ""), store.Event{Revision: 77, Count: 1}},
		{store.Op{Kind: kv.Get}, answer("404 Not Found", ""), store.Event{Outcome: kv.Miss}},
		{store.Op{Kind: kv.Put}, answer("200 OK", "true\n"), store.Event{Revision: -1}},
		{store.Op{Kind: kv.Put}, strings.Replace(answer("200 OK", "true"), "X-Consul-Index: 77\r\n", "", 1), store.Event{Revision: -1}}, // Consul sends no index
		{store.Op{Kind: kv.CAS, Revision: 3}, answer("200 OK", "false"), store.Event{Outcome: kv.Conflict, Revision: -1}},
		{store.Op{Kind: kv.Delete}, answer("200 OK", "true"), store.Event{Revision: -1, Count: -1}},
		{store.Op{Kind: kv.Get}, strings.Replace(answer("200 OK", "v"), ": 77", ": 0", 1), store.Event{Outcome: kv.WrongResponse, Text: []byte("the response has no index above 0, but every key in Consul has one")}},
		{store.Op{Kind: kv.Get}, strings.Replace(answer("200 OK", "v"), "X-Consul-Index", "X-Other", 1), store.Event{Outcome: kv.WrongResponse, Text: []byte("the response has no index above 0, but every key in Consul has one")}},
		{store.Op{Kind: kv.Range, Key: []byte("c1"), Range: &store.RangeOp{End: []byte("c2")}}, answer("200 OK", `[{"Key":"b","Value":"dg==","ModifyIndex":4}]`), store.Event{Outcome: kv.WrongResponse, Text: []byte("Consul listed a key without the requested prefix")}},
		{list, answer("200 OK", `[{"Key":"b","Value":"dg=="}]`), store.Event{Outcome: kv.WrongResponse, Text: []byte("the response has no index above 0, but every key in Consul has one")}},
		{store.Op{Kind: kv.Put}, answer("200 OK", "<html>"), store.Event{Outcome: kv.StoreError, Revision: -1, Text: []byte("the server sent a response that Consul does not send")}},
		{list, answer("404 Not Found", ""), store.Event{}},
		{list, answer("200 OK", two), store.Event{Key: []byte("b"), Value: []byte("v"), Revision: 5, Count: 2}},
		{list, answer("200 OK", two[:50]), store.Event{Outcome: kv.StoreError, Text: []byte("the server sent a response that Consul does not send")}},
		{list, answer("200 OK", `[{"Key":"b","Value":"!","ModifyIndex":4}]`), store.Event{Outcome: kv.StoreError, Text: []byte("the server sent a response that Consul does not send")}},
		{store.Op{Kind: kv.Txn}, answer("200 OK", `{"Results":[{"KV":{"Key":"b","Value":null,"ModifyIndex":9}}],"Errors":null}`), store.Event{Revision: 9, Count: 1}},
		{store.Op{Kind: kv.Txn}, answer("409 Conflict", `{"Results":null,"Errors":[{"OpIndex":0,"What":"Permission denied"}]}`),
			store.Event{Outcome: kv.Denied, Text: []byte(`{"Results":null,"Errors":[{"OpIndex":0,"What":"Permission denied"}]}`)}},
		{store.Op{Kind: kv.Txn}, answer("200 OK", `{"Results":7}`), store.Event{Outcome: kv.StoreError, Text: []byte("the server sent a response that Consul does not send")}},
	} {
		s := newScripted(t)
		s.Ask(tc.op)
		events := s.Feed(tc.answer)
		if diff := cmp.Diff([]store.Event{tc.want}, events); diff != "" {
			t.Errorf("%v %q: %s", tc.op.Kind, tc.answer, diff)
		}
	}
}

func TestOutcomes(t *testing.T) {
	newScripted(t).Outcomes(answer, map[string]kv.Outcome{
		"500 rpc error making call: leadership lost while committing log":                                     kv.LeaderChanged,
		"500 rpc error making call: rpc error making call: No cluster leader":                                 kv.NoLeader,
		"500 Raft leader not found in server lookup mapping":                                                  kv.NoLeader,
		"500 node is not the leader":                                                                          kv.Refused,
		"500 rpc error getting client: failed to get conn: dial tcp 127.0.0.1:1: connect: connection refused": kv.Refused,
		"500 rpc error making call: EOF":                                                                      kv.StoreError,
		"500 rpc error making call: i/o deadline reached":                                                     kv.StoreTimeout,
		"500 raft is already shutdown":                                                                        kv.StoreError,
		"500 something new":                                                                                   kv.StoreError,
		"403 Permission denied: anonymous token lacks permission 'key:write'":                                 kv.Denied,
		"403 ": kv.Denied,
		"429 ": kv.Refused,
		"503 rate limit exceeded, try again later": kv.Refused,
		"503 ":          kv.StoreError,
		"413 too large": kv.BadRequest,
		"301 ":          kv.BadRequest,
		"504 ":          kv.StoreTimeout,
	})
}

func TestCompareAndSetReadsFirst(t *testing.T) {
	op := store.Op{Tag: 4, Kind: kv.CAS, Key: []byte("k"), Value: []byte("v"), Revision: -1}
	for first, index := range map[string]string{
		answer("200 OK", "old"): "77", answer("404 Not Found", ""): "0",
	} {
		s := newScripted(t)
		if got := s.Ask(op); got != "GET /v1/kv/k?raw" {
			t.Errorf("the codec requested %q", got)
		}
		if e := s.Feed(first); len(e) != 0 || s.Sent() != "PUT /v1/kv/k?cas="+index+" v" {
			t.Errorf("%v", e)
		}
		if e := s.Feed(answer("200 OK", "true")); len(e) != 1 || e[0].Tag != 4 || e[0].ExtraRequests != 1 || e[0].Outcome != kv.OK {
			t.Errorf("%v", e)
		}
	}
}

func TestExplainsOtherServers(t *testing.T) {
	s := newScripted(t)
	s.Ask(store.Op{Kind: kv.Get})
	want := "the server answered with HTTP/2, not HTTP/1.1: is this Consul's HTTP port, and not its gRPC port?"
	if _, err := s.Codec.Feed([]byte("HTTP/2 200\r\n"), nil); err == nil || err.Error() != want {
		t.Error(err)
	}
}

// FuzzReply checks that any response to any operation leads to exactly one event.
func FuzzReply(f *testing.F) {
	f.Add(byte(kv.Get), answer("200 OK", "v"))
	f.Add(byte(kv.Range), answer("200 OK", two))
	f.Add(byte(kv.Txn), answer("200 OK", `{"Results":[{"KV":{"Key":"b","Value":null,"ModifyIndex":9}}],"Errors":null}`))
	f.Add(byte(kv.CAS), answer("200 OK", two))
	f.Add(byte(kv.Put), answer("500 X", "No cluster leader"))
	f.Add(byte(kv.Watch), answer("200 OK", "v"))
	f.Add(byte(kv.STM), answer("200 OK", `{"Results":[{"KV":{"Key":"b","Value":"dg==","ModifyIndex":9}}],"Errors":null}`))
	f.Add(byte(kv.KeepAlive), answer("200 OK", `[{"ID":"","TTL":"15s"}]`))
	ofService := byte(kv.Watch)
	for ofService < 128 {
		ofService += byte(kv.NumKinds)
	}
	f.Add(ofService, indexed(7, "200 OK", service))
	f.Add(byte(kv.Watch+kv.NumKinds), answer("200 OK", two))
	const ofHolder = byte(kv.Watch + 8*kv.NumKinds) // watchedReply then watches a holder
	f.Add(ofHolder, indexed(99, "200 OK", `[{"LockIndex":2,"Key":"b","Value":"dg==","Session":"\u0073","ModifyIndex":99}]`))
	f.Fuzz(func(t *testing.T, kind byte, in string) {
		if kv.Kind(kind)%kv.NumKinds == kv.Watch {
			watchedReply(t, kind, in)
			return
		}
		storetest.CheckEndsOnce(t, newCodec(store.ConnectionInfo{Endpoint: "h:1"}, "", New().dialect()), store.Op{
			Kind: kv.Kind(kind) % kv.NumKinds, Key: []byte("b"), Revision: -1, Range: &store.RangeOp{End: []byte("d")},
			STM: &store.STMOp{Pairs: []store.Pair{{Key: []byte("b"), Value: []byte("v")}}, Isolation: kv.Serializable},
		}, in)
	})
}

func benchmark(b *testing.B, op store.Op, in string) {
	storetest.BenchmarkExchange(b, newCodec(store.ConnectionInfo{Endpoint: "127.0.0.1:8500"}, "", New().dialect()), op, in)
}

var benchKey = []byte("bench/00012345")

func BenchmarkGet(b *testing.B) {
	benchmark(b, store.Op{Kind: kv.Get, Consistency: kv.Local, Key: benchKey}, answer("200 OK", strings.Repeat("v", 256)))
}

func BenchmarkPut(b *testing.B) {
	benchmark(b, store.Op{Kind: kv.Put, Key: benchKey, Value: []byte(strings.Repeat("v", 256))}, answer("200 OK", "true"))
}

func BenchmarkCAS(b *testing.B) {
	benchmark(b, store.Op{Kind: kv.CAS, Key: benchKey, Value: []byte(strings.Repeat("v", 256)), Revision: 123456}, answer("200 OK", "true"))
}

func BenchmarkRange(b *testing.B) {
	benchmark(b, store.Op{Kind: kv.Range, Key: []byte("a"), Range: &store.RangeOp{End: []byte("z")}}, answer("200 OK", two))
}
