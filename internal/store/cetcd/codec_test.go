package cetcd

import (
	"fmt"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
)

// answer is an HTTP answer.
func answer(status int, body string) []byte {
	return fmt.Appendf(nil, "HTTP/1.1 %d X\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\n\r\n%s", status, len(body), body)
}

const one = `[{"CreateIndex":2,"ModifyIndex":7,"LockIndex":0,"Key":"k","Flags":0,"Value":"aGVsbG8=","Session":""}]`

func newCodec() store.Codec { return New().Codecs(store.Access{})(store.Dialed{Endpoint: "h:1"}) }

// sent is the request line and the body of what the codec wants to write.
func sent(c store.Codec) string {
	head, body, _ := strings.Cut(string(c.Out()), "\r\n\r\n")
	line, _, _ := strings.Cut(head, " HTTP/1.1\r\n")
	c.Wrote(len(c.Out()))
	return line + "|" + body
}

func TestOperations(t *testing.T) {
	for name, test := range map[string]struct {
		op     store.Op
		sent   string
		status int
		body   string
		want   store.Event
	}{
		"get":                 {store.Op{Kind: kv.Get, Key: []byte("k")}, "GET /v1/kv/k|", 200, one, store.Event{Key: []byte("k"), Value: []byte("hello"), Revision: 7, Count: 1}},
		"get, linearizable":   {store.Op{Kind: kv.Get, Key: []byte("k"), Consistency: kv.Linearizable}, "GET /v1/kv/k?consistent=true|", 200, one, store.Event{Key: []byte("k"), Value: []byte("hello"), Revision: 7, Count: 1}},
		"range, linearizable": {store.Op{Kind: kv.Range, Key: []byte("k"), Consistency: kv.Linearizable, Range: &store.RangeOp{End: []byte("l")}}, "GET /v1/kv/?recurse=true&consistent=true|", 200, one, store.Event{Key: []byte("k"), Value: []byte("hello"), Revision: 7, Count: 1}},
		"get, local":          {store.Op{Kind: kv.Get, Key: []byte("k"), Consistency: kv.Local}, "GET /v1/kv/k|", 200, one, store.Event{Key: []byte("k"), Value: []byte("hello"), Revision: 7, Count: 1}},
		"slash":               {store.Op{Kind: kv.Get, Key: []byte("/k")}, "GET /v1/kv/k|", 200, one, store.Event{Key: []byte("/k"), Value: []byte("hello"), Revision: 7, Count: 1}},
		"miss":                {store.Op{Kind: kv.Get, Key: []byte("k?")}, "GET /v1/kv/k%3F|", 200, "[]", store.Event{Outcome: kv.Miss}},
		"empty":               {store.Op{Kind: kv.Get, Key: []byte("k")}, "GET /v1/kv/k|", 200, `[{"ModifyIndex":4,"Key":"k","Value":null}]`, store.Event{Key: []byte("k"), Revision: 4, Count: 1}},
		"put":                 {store.Op{Kind: kv.Put, Key: []byte("k"), Value: []byte("v")}, "PUT /v1/kv/k|v", 200, "true", store.Event{Revision: -1}},
		"not put":             {store.Op{Kind: kv.Put, Key: []byte("k")}, "PUT /v1/kv/k|", 200, "false", store.Event{Outcome: kv.StoreError, Revision: -1, Text: []byte("cetcd did not do it and does not say why")}},
		"cas":                 {store.Op{Kind: kv.CAS, Key: []byte("k"), Value: []byte("v"), Revision: 7}, "PUT /v1/kv/k?cas=7|v", 200, "true", store.Event{Revision: -1}},
		"conflict":            {store.Op{Kind: kv.CAS, Key: []byte("k"), Value: []byte("v")}, "PUT /v1/kv/k?cas=0|v", 200, "false", store.Event{Outcome: kv.Conflict, Revision: -1}},
		"delete":              {store.Op{Kind: kv.Delete, Key: []byte("k")}, "GET /v1/kv/quorumbench/refused|", 200, "[]", store.Event{Outcome: kv.BadRequest, Text: []byte("cetcd has no such operation that works")}},
		"txn":                 {store.Op{Kind: kv.Txn}, "GET /v1/kv/quorumbench/refused|", 200, "[]", store.Event{Outcome: kv.BadRequest, Text: []byte("cetcd has no such operation that works")}},
		"range": {store.Op{Kind: kv.Range, Key: []byte("k"), Range: &store.RangeOp{End: []byte("l"), Limit: 2}}, "GET /v1/kv/?recurse=true|", 200,
			`[{"Key":"a","ModifyIndex":1,"Value":"YQ=="},{"Key":"k","ModifyIndex":2,"Value":"Yg=="},{"Key":"k1","ModifyIndex":3,"Value":"Yw=="},{"Key":"k2","ModifyIndex":3,"Value":"Yw=="},{"Key":"l","ModifyIndex":3,"Value":"Yw=="}]`,
			store.Event{Key: []byte("k"), Value: []byte("b"), Revision: 2, Count: 2}},
		"none in range":  {store.Op{Kind: kv.Range, Key: []byte("ka"), Range: &store.RangeOp{End: []byte("kb")}}, "GET /v1/kv/k?recurse=true|", 200, "[]", store.Event{}},
		"all":            {store.Op{Kind: kv.Range, Key: []byte("k"), Range: &store.RangeOp{End: []byte{0}}}, "GET /v1/kv/?recurse=true|", 200, one, store.Event{Key: []byte("k"), Value: []byte("hello"), Revision: 7, Count: 1}},
		"error":          {store.Op{Kind: kv.Put, Key: []byte("k")}, "PUT /v1/kv/k|", 400, "bad body\n", store.Event{Outcome: kv.StoreError, Text: []byte("bad body")}},
		"no text":        {store.Op{Kind: kv.Put, Key: []byte("k")}, "PUT /v1/kv/k|", 500, "", store.Event{Outcome: kv.StoreError, Text: []byte("HTTP status 500")}},
		"no key":         {store.Op{Kind: kv.Put}, "PUT /v1/kv/|", 400, "Missing key name\n", store.Event{Outcome: kv.BadRequest, Text: []byte("Missing key name")}},
		"another server": {store.Op{Kind: kv.Get, Key: []byte("k")}, "GET /v1/kv/k|", 404, "404 page not found", store.Event{Outcome: kv.BadRequest, Text: []byte("the server knows no /v1/kv: is this cetcd's port?")}},
		"no index":       {store.Op{Kind: kv.Get, Key: []byte("k")}, "GET /v1/kv/k|", 200, `[{"Key":"k","Value":"dg=="}]`, store.Event{Outcome: kv.WrongAnswer, Text: []byte("the answer has no index above 0: cetcd gives every key one")}},
		"stray":          {store.Op{Kind: kv.Range, Key: []byte("ka"), Range: &store.RangeOp{End: []byte("kb")}}, "GET /v1/kv/k?recurse=true|", 200, `[{"Key":"l","ModifyIndex":3,"Value":"dg=="}]`, store.Event{Outcome: kv.WrongAnswer, Text: []byte("cetcd lists a key that does not begin with the prefix that was asked for")}},
		"no JSON":        {store.Op{Kind: kv.Get, Key: []byte("k")}, "GET /v1/kv/k|", 200, `[{"Key":"k"`, store.Event{Outcome: kv.StoreError, Text: []byte("the server sent an answer that is none of cetcd's")}},
		"no base64":      {store.Op{Kind: kv.Get, Key: []byte("k")}, "GET /v1/kv/k|", 200, `[{"Key":"k","ModifyIndex":3,"Value":"!"}]`, store.Event{Outcome: kv.StoreError, Text: []byte("the server sent an answer that is none of cetcd's")}},
		"two":            {store.Op{Kind: kv.Get, Key: []byte("k")}, "GET /v1/kv/k|", 200, `[{},{}]`, store.Event{Outcome: kv.StoreError, Text: []byte("the server sent an answer that is none of cetcd's")}},
		"list no JSON":   {store.Op{Kind: kv.Range, Key: []byte("k"), Range: &store.RangeOp{End: []byte("l")}}, "GET /v1/kv/?recurse=true|", 200, `[{"Key":1}]`, store.Event{Outcome: kv.StoreError, Text: []byte("the server sent an answer that is none of cetcd's")}},
		"neither":        {store.Op{Kind: kv.CAS, Key: []byte("k")}, "PUT /v1/kv/k?cas=0|", 200, "maybe", store.Event{Outcome: kv.StoreError, Revision: -1, Text: []byte("the server sent an answer that is none of cetcd's")}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCodec()
			test.op.Tag, test.want.Tag = 3, 3
			c.Submit(&test.op)
			if got := sent(c); got != test.sent {
				t.Errorf("sent %q, not %q", got, test.sent)
			}
			if c.Room() != 0 {
				t.Error("there is room beside an operation")
			}
			events, err := c.Feed(answer(test.status, test.body), nil)
			if err != nil || len(events) != 1 {
				t.Fatalf("%+v, %v", events, err)
			}
			if got, want := fmt.Sprintf("%+v", events[0]), fmt.Sprintf("%+v", test.want); got != want {
				t.Errorf("got %s\nnot %s", got, want)
			}
			if c.Room() != 1 || c.Draining() {
				t.Error("there is no room for the next one")
			}
		})
	}
}

// A compare-and-set whose version is not known is read first.
func TestUnknownVersion(t *testing.T) {
	for body, write := range map[string]string{one: "PUT /v1/kv/k?cas=7|v", "[]": "PUT /v1/kv/k?cas=0|v"} {
		c := newCodec()
		c.Submit(&store.Op{Tag: 1, Kind: kv.CAS, Key: []byte("/k"), Value: []byte("v"), Revision: -1})
		if got := sent(c); got != "GET /v1/kv/k|" {
			t.Errorf("sent %q", got)
		}
		if events, err := c.Feed(answer(200, body), nil); len(events) > 0 || err != nil {
			t.Fatalf("%+v, %v", events, err)
		}
		if got := sent(c); got != write {
			t.Errorf("sent %q, not %q", got, write)
		}
		events, err := c.Feed(answer(200, "true"), nil)
		if err != nil || len(events) != 1 || events[0].Outcome != kv.OK || events[0].Extra != 1 {
			t.Errorf("%+v, %v", events, err)
		}
	}
	for answered, want := range map[string]kv.Outcome{
		string(answer(200, "{}")):                        kv.NotSent,
		string(answer(500, "x")):                         kv.NotSent,
		"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n[]": kv.NotSent,
	} {
		c := newCodec()
		c.Submit(&store.Op{Kind: kv.CAS, Key: []byte("k"), Revision: -1})
		sent(c)
		if events, err := c.Feed([]byte(answered), nil); err != nil || len(events) != 1 || events[0].Outcome != want {
			t.Errorf("%q: %+v, %v", answered, events, err)
		}
	}
}

func TestLost(t *testing.T) {
	for name, test := range map[string]struct {
		op   store.Op
		all  bool // written
		want kv.Outcome
	}{
		"half a put":     {store.Op{Kind: kv.Put, Key: []byte("k")}, false, kv.NotSent},
		"a put":          {store.Op{Kind: kv.Put, Key: []byte("k")}, true, kv.ConnectionLost},
		"before a write": {store.Op{Kind: kv.CAS, Key: []byte("k"), Revision: -1}, true, kv.NotSent},
		"a refusal":      {store.Op{Kind: kv.Delete}, true, kv.NotSent},
	} {
		c := newCodec()
		c.Submit(&test.op)
		n := len(c.Out())
		if !test.all {
			n--
		}
		c.Wrote(n)
		if events := c.Lost(nil); len(events) != 1 || events[0].Outcome != test.want {
			t.Errorf("%s: %+v", name, events)
		}
	}
	if events := newCodec().Lost(nil); len(events) > 0 {
		t.Errorf("nothing in flight: %+v", events)
	}
	c := newCodec() // the end of the connection is the end of the answer
	c.Submit(&store.Op{Kind: kv.Put, Key: []byte("k")})
	sent(c)
	if events, err := c.Feed([]byte("HTTP/1.0 200 OK\r\n\r\ntrue"), nil); len(events) > 0 || err != nil {
		t.Fatalf("%+v, %v", events, err)
	}
	if events := c.Lost(nil); len(events) != 1 || events[0].Outcome != kv.OK {
		t.Errorf("%+v", events)
	}
}

func TestLate(t *testing.T) {
	c := newCodec()
	c.Submit(&store.Op{Tag: 5, Kind: kv.Put, Key: []byte("k")})
	sent(c)
	if c.Cancel(5) {
		t.Error("the place of what was written is free")
	}
	events, err := c.Feed(answer(200, "true"), nil)
	if err != nil || len(events) != 1 || events[0].What != store.Late || events[0].Tag != 5 {
		t.Errorf("%+v, %v", events, err)
	}
}

func TestAnotherProtocol(t *testing.T) {
	for in, want := range map[string]string{
		"\x00\x00\x06\x04\x00\x00\x00\x00\x00": "that of the etcd behind it",
		"\x15\x03\x01\x00\x02\x02\x46":         "which cetcd does not",
	} {
		c := newCodec()
		c.Submit(&store.Op{Kind: kv.Get, Key: []byte("k")})
		sent(c)
		if _, err := c.Feed([]byte(in), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", in, err)
		}
	}
}

func TestNothingIsAllocated(t *testing.T) {
	c := newCodec()
	put := store.Op{Kind: kv.Put, Key: []byte("some/key"), Value: make([]byte, 256)}
	get := store.Op{Kind: kv.Get, Key: []byte("some/key")}
	yes, value := answer(200, "true"), answer(200, one)
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
		t.Errorf("%.0f allocations", n)
	}
}
