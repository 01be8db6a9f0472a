package cetcd

import (
	"fmt"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testing/storetest"
)

// answer returns an HTTP response with the given status and body.
func answer(status int, body string) string {
	return fmt.Sprintf("HTTP/1.1 %d X\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\n\r\n%s", status, len(body), body)
}

const one = `[{"CreateIndex":2,"ModifyIndex":7,"LockIndex":0,"Key":"k","Flags":0,"Value":"aGVsbG8=","Session":""}]`

func newCodec() store.Codec {
	return New().Codecs(store.Access{})(store.ConnectionInfo{Endpoint: "h:1"})
}

func newScripted(t testing.TB) storetest.Script[store.Codec] {
	return storetest.Script[store.Codec]{TB: t, Codec: newCodec()}
}

func TestOperations(t *testing.T) {
	for name, test := range map[string]struct {
		op     store.Op
		sent   string
		status int
		body   string
		want   store.Event
	}{
		"get":                 {store.Op{Kind: kv.Get, Key: []byte("k")}, "GET /v1/kv/k", 200, one, store.Event{Key: []byte("k"), Value: []byte("hello"), Revision: 7, Count: 1}},
		"get, linearizable":   {store.Op{Kind: kv.Get, Key: []byte("k"), Consistency: kv.Linearizable}, "GET /v1/kv/k?consistent=true", 200, one, store.Event{Key: []byte("k"), Value: []byte("hello"), Revision: 7, Count: 1}},
		"range, linearizable": {store.Op{Kind: kv.Range, Key: []byte("k"), Consistency: kv.Linearizable, Range: &store.RangeOp{End: []byte("l")}}, "GET /v1/kv/?recurse=true&consistent=true", 200, one, store.Event{Key: []byte("k"), Value: []byte("hello"), Revision: 7, Count: 1}},
		"get, local":          {store.Op{Kind: kv.Get, Key: []byte("k"), Consistency: kv.Local}, "GET /v1/kv/k", 200, one, store.Event{Key: []byte("k"), Value: []byte("hello"), Revision: 7, Count: 1}},
		"slash":               {store.Op{Kind: kv.Get, Key: []byte("/k")}, "GET /v1/kv/k", 200, one, store.Event{Key: []byte("/k"), Value: []byte("hello"), Revision: 7, Count: 1}},
		"miss":                {store.Op{Kind: kv.Get, Key: []byte("k?")}, "GET /v1/kv/k%3F", 200, "[]", store.Event{Outcome: kv.Miss}},
		"empty":               {store.Op{Kind: kv.Get, Key: []byte("k")}, "GET /v1/kv/k", 200, `[{"ModifyIndex":4,"Key":"k","Value":null}]`, store.Event{Key: []byte("k"), Revision: 4, Count: 1}},
		"put":                 {store.Op{Kind: kv.Put, Key: []byte("k"), Value: []byte("v")}, "PUT /v1/kv/k v", 200, "true", store.Event{Revision: -1}},
		"not put":             {store.Op{Kind: kv.Put, Key: []byte("k")}, "PUT /v1/kv/k", 200, "false", store.Event{Outcome: kv.StoreError, Revision: -1, Text: []byte("cetcd did not execute the write, and gave no reason")}},
		"cas":                 {store.Op{Kind: kv.CAS, Key: []byte("k"), Value: []byte("v"), Revision: 7}, "PUT /v1/kv/k?cas=7 v", 200, "true", store.Event{Revision: -1}},
		"conflict":            {store.Op{Kind: kv.CAS, Key: []byte("k"), Value: []byte("v")}, "PUT /v1/kv/k?cas=0 v", 200, "false", store.Event{Outcome: kv.Conflict, Revision: -1}},
		"delete":              {store.Op{Kind: kv.Delete, Key: []byte("k")}, "GET /v1/kv/quorumbench/refused", 200, "[]", store.Event{Outcome: kv.BadRequest, Text: []byte("cetcd does not support operations of this kind")}},
		"txn":                 {store.Op{Kind: kv.Txn}, "GET /v1/kv/quorumbench/refused", 200, "[]", store.Event{Outcome: kv.BadRequest, Text: []byte("cetcd does not support operations of this kind")}},
		"range": {store.Op{Kind: kv.Range, Key: []byte("k"), Range: &store.RangeOp{End: []byte("l"), Limit: 2}}, "GET /v1/kv/?recurse=true", 200,
			`[{"Key":"a","ModifyIndex":1,"Value":"YQ=="},{"Key":"k","ModifyIndex":2,"Value":"Yg=="},{"Key":"k1","ModifyIndex":3,"Value":"Yw=="},{"Key":"k2","ModifyIndex":3,"Value":"Yw=="},{"Key":"l","ModifyIndex":3,"Value":"Yw=="}]`,
			store.Event{Key: []byte("k"), Value: []byte("b"), Revision: 2, Count: 2}},
		"none in range":  {store.Op{Kind: kv.Range, Key: []byte("ka"), Range: &store.RangeOp{End: []byte("kb")}}, "GET /v1/kv/k?recurse=true", 200, "[]", store.Event{}},
		"all":            {store.Op{Kind: kv.Range, Key: []byte("k"), Range: &store.RangeOp{End: []byte{0}}}, "GET /v1/kv/?recurse=true", 200, one, store.Event{Key: []byte("k"), Value: []byte("hello"), Revision: 7, Count: 1}},
		"error":          {store.Op{Kind: kv.Put, Key: []byte("k")}, "PUT /v1/kv/k", 400, "bad body\n", store.Event{Outcome: kv.StoreError, Text: []byte("bad body")}},
		"no text":        {store.Op{Kind: kv.Put, Key: []byte("k")}, "PUT /v1/kv/k", 500, "", store.Event{Outcome: kv.StoreError, Text: []byte("HTTP status 500")}},
		"no key":         {store.Op{Kind: kv.Put}, "PUT /v1/kv/", 400, "Missing key name\n", store.Event{Outcome: kv.BadRequest, Text: []byte("Missing key name")}},
		"another server": {store.Op{Kind: kv.Get, Key: []byte("k")}, "GET /v1/kv/k", 404, "404 page not found", store.Event{Outcome: kv.BadRequest, Text: []byte("the server has no /v1/kv: is this cetcd's port?")}},
		"no index":       {store.Op{Kind: kv.Get, Key: []byte("k")}, "GET /v1/kv/k", 200, `[{"Key":"k","Value":"dg=="}]`, store.Event{Outcome: kv.WrongResponse, Text: []byte("the response has no index above 0, but every key in cetcd has one")}},
		"stray":          {store.Op{Kind: kv.Range, Key: []byte("ka"), Range: &store.RangeOp{End: []byte("kb")}}, "GET /v1/kv/k?recurse=true", 200, `[{"Key":"l","ModifyIndex":3,"Value":"dg=="}]`, store.Event{Outcome: kv.WrongResponse, Text: []byte("cetcd listed a key without the requested prefix")}},
		"no JSON":        {store.Op{Kind: kv.Get, Key: []byte("k")}, "GET /v1/kv/k", 200, `[{"Key":"k"`, store.Event{Outcome: kv.StoreError, Text: []byte("the server sent a response that cetcd does not send")}},
		"no base64":      {store.Op{Kind: kv.Get, Key: []byte("k")}, "GET /v1/kv/k", 200, `[{"Key":"k","ModifyIndex":3,"Value":"!"}]`, store.Event{Outcome: kv.StoreError, Text: []byte("the server sent a response that cetcd does not send")}},
		"two":            {store.Op{Kind: kv.Get, Key: []byte("k")}, "GET /v1/kv/k", 200, `[{},{}]`, store.Event{Outcome: kv.StoreError, Text: []byte("the server sent a response that cetcd does not send")}},
		"list no JSON":   {store.Op{Kind: kv.Range, Key: []byte("k"), Range: &store.RangeOp{End: []byte("l")}}, "GET /v1/kv/?recurse=true", 200, `[{"Key":1}]`, store.Event{Outcome: kv.StoreError, Text: []byte("the server sent a response that cetcd does not send")}},
		"neither":        {store.Op{Kind: kv.CAS, Key: []byte("k")}, "PUT /v1/kv/k?cas=0", 200, "maybe", store.Event{Outcome: kv.StoreError, Revision: -1, Text: []byte("the server sent a response that cetcd does not send")}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScripted(t)
			test.op.Tag, test.want.Tag = 3, 3
			if got := s.Ask(test.op); got != test.sent {
				t.Errorf("sent %q, not %q", got, test.sent)
			}
			events := s.Feed(answer(test.status, test.body))
			if len(events) != 1 {
				t.Fatalf("%+v", events)
			}
			if got, want := fmt.Sprintf("%+v", events[0]), fmt.Sprintf("%+v", test.want); got != want {
				t.Errorf("got %s\nnot %s", got, want)
			}
			if s.Codec.Room() != 1 || s.Codec.Draining() {
				t.Error("the codec has no room for the next operation")
			}
		})
	}
}

// TestUnknownVersion checks that a compare-and-set whose version is unknown first reads the key.
func TestUnknownVersion(t *testing.T) {
	for body, write := range map[string]string{one: "PUT /v1/kv/k?cas=7 v", "[]": "PUT /v1/kv/k?cas=0 v"} {
		s := newScripted(t)
		if got := s.Ask(store.Op{Tag: 1, Kind: kv.CAS, Key: []byte("/k"), Value: []byte("v"), Revision: -1}); got != "GET /v1/kv/k" {
			t.Errorf("the codec sent %q", got)
		}
		if events := s.Feed(answer(200, body)); len(events) > 0 {
			t.Fatalf("%+v", events)
		}
		if got := s.Sent(); got != write {
			t.Errorf("sent %q, not %q", got, write)
		}
		if events := s.Feed(answer(200, "true")); len(events) != 1 || events[0].Outcome != kv.OK || events[0].ExtraRequests != 1 {
			t.Errorf("%+v", events)
		}
	}
	for answered, want := range map[string]kv.Outcome{
		answer(200, "{}"): kv.NotSent,
		"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n[]": kv.NotSent,
	} {
		s := newScripted(t)
		s.Ask(store.Op{Kind: kv.CAS, Key: []byte("k"), Revision: -1})
		if events := s.Feed(answered); len(events) != 1 || events[0].Outcome != want {
			t.Errorf("%q: %+v", answered, events)
		}
	}
}

func TestAnotherProtocol(t *testing.T) {
	for in, want := range map[string]string{
		"\x00\x00\x06\x04\x00\x00\x00\x00\x00": "not of its etcd member",
		"\x15\x03\x01\x00\x02\x02\x46":         "which cetcd does not",
	} {
		s := newScripted(t)
		s.Ask(store.Op{Kind: kv.Get, Key: []byte("k")})
		if _, err := s.Codec.Feed([]byte(in), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", in, err)
		}
	}
}

func TestNothingIsAllocated(t *testing.T) {
	c := newCodec()
	put := store.Op{Kind: kv.Put, Key: []byte("some/key"), Value: make([]byte, 256)}
	get := store.Op{Kind: kv.Get, Key: []byte("some/key")}
	yes, value := []byte(answer(200, "true")), []byte(answer(200, one))
	events := make([]store.Event, 0, 1)
	turn := func(op *store.Op, in []byte) {
		c.Submit(op)
		c.Wrote(len(c.Out()))
		got, err := c.Feed(in, events[:0])
		if err != nil || len(got) != 1 || got[0].Outcome != kv.OK {
			t.Fatalf("%+v, %v", got, err)
		}
	}
	if n := testing.AllocsPerRun(100, func() { turn(&put, yes); turn(&get, value) }); n > 0 {
		t.Errorf("%.0f allocations for a put and a get", n)
	}
}
