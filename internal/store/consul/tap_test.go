package consul

import (
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
	"github.com/quorumbench/quorumbench/internal/testing/storetest"
)

// FuzzTap checks that the result of decoding arbitrary traffic does not depend on how the traffic
// is split into pieces.
func FuzzTap(f *testing.F) {
	f.Add([]byte("GET /v1/kv/a?stale HTTP/1.1\r\n\r\n"), []byte("HTTP/1.1 200 OK\r\nX-Consul-Index: 7\r\nContent-Length: 43\r\n\r\n[{\"Key\":\"a\",\"Value\":\"dg==\",\"ModifyIndex\":7}]"), uint8(3))
	f.Fuzz(func(t *testing.T, client, server []byte, piece uint8) {
		storetest.CheckTap(t, New(), client, server, piece)
	})
}

// TestTapReportsMissingBodies checks that the decoder reports a gap for each message whose body is
// needed but was not kept. It must not decode such a message as if its body were empty.
func TestTapReportsMissingBodies(t *testing.T) {
	const (
		packed = "Content-Encoding: gzip\r\nContent-Length: 4\r\n\r\nabcd"
		plain  = "Content-Length: 4\r\n\r\ntrue"
	)
	for _, c := range []struct{ request, response, gap string }{
		{"GET /v1/kv/a HTTP/1.1\r\n\r\n", packed, "responses to GET kv are compressed or too large"},
		{"GET /v1/kv/a?raw HTTP/1.1\r\n\r\n", packed, "responses to GET kv are compressed or too large"},
		{"GET /v1/kv/a?index=3 HTTP/1.1\r\n\r\n", packed, "responses to GET kv?index are compressed or too large"},
		{"PUT /v1/kv/a HTTP/1.1\r\nContent-Length: 1\r\n\r\nv", packed, "responses to PUT kv are compressed or too large"},
		{"PUT /v1/kv/a HTTP/1.1\r\n" + packed, plain, ""}, // the value's size is sufficient
		{"GET /v1/agent/self HTTP/1.1\r\n\r\n", packed, ""},
		{"PUT /v1/txn HTTP/1.1\r\n" + packed, plain, "requests of PUT txn are compressed or too large"},
		{"PUT /v1/session/create HTTP/1.1\r\n" + packed, plain, "requests of PUT session/create are compressed or too large"},
	} {
		var calls []call.Call
		var gaps []string
		tap := New().Tap(store.TapConfig{
			Conn: 1, Redactor: &call.Redactor{},
			Call: func(c *call.Call) { calls = append(calls, *c) },
			Gap:  func(g call.Gap) { gaps = append(gaps, g.Reason) },
		})
		if err := tap.Feed(true, 1, []byte(c.request)); err != nil {
			t.Fatal(err)
		}
		if err := tap.Feed(false, 2, []byte("HTTP/1.1 200 OK\r\nX-Consul-Index: 7\r\n"+c.response)); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(gaps, "; "); !strings.HasPrefix(got, c.gap) || c.gap == "" && got != "" {
			t.Errorf("%q: the gaps are %q, want %q", c.request, got, c.gap)
		}
		if len(calls) != 1 || calls[0].Code != 0 || c.response == packed && calls[0].KeyCount != 0 || len(calls[0].Parts) != 1 || calls[0].Parts[0].Version != 0 {
			t.Errorf("%q: the calls are %+v, want one successful call without a result", c.request, calls)
		}
	}
}
