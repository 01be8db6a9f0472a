package etcdgateway

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
	"github.com/quorumbench/quorumbench/internal/testing/storetest"
)

const header = `"header":{"cluster_id":"7801232528081817440","member_id":"13458989633860879742","revision":"77","raft_term":"3"}`

func answer(status, body string) string {
	return fmt.Sprintf("HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", status, len(body), body)
}

func ok(members string) string { return answer("200 OK", "{"+header+members+"}") }

func b64(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

// submitted submits an operation to a new codec. It returns the codec and the request's body.
func submitted(t testing.TB, op store.Op) (*codec, string) {
	t.Helper()
	c := newCodec(store.ConnectionInfo{Endpoint: "h:1"})
	c.Submit(&op)
	_, body, _ := strings.Cut(string(c.Out()), "\r\n\r\n")
	c.Wrote(len(c.Out()))
	return c, body
}

// collector is a store.Keys that stores the keys that it receives.
type collector struct {
	values bool
	got    []string
}

func (c *collector) Begin(uint32) bool { return c.values }

func (c *collector) Add(_ uint32, key, value []byte, revision int64) {
	c.got = append(c.got, fmt.Sprintf("%s=%s@%d", key, value, revision))
}

func TestReplies(t *testing.T) {
	const member = 13458989633860879742
	one := `,"kvs":[{"key":"` + b64("k") + `","create_revision":"2","mod_revision":"5","version":"3","value":"` + b64("v") + `","lease":"9"}],"count":"1"`
	get := store.Op{Tag: 4, Kind: kv.Get, Key: []byte("k")}
	grant := store.Op{Tag: 4, Kind: kv.KeepAlive, Call: &call.Call{Parts: []call.Part{{Action: call.Grant, Number: 30}}}}
	race := store.Op{Tag: 4, Kind: kv.CAS, Call: &call.Call{Guarded: true, Parts: []call.Part{
		{Action: call.Compare, Target: call.Created, Key: []byte("k")},
		{Action: call.Write, Branch: call.Then, Key: []byte("k"), Value: call.Value{Text: []byte("v")}},
	}}}
	read := store.Op{Tag: 4, Kind: kv.Get, Call: &call.Call{Parts: []call.Part{{Action: call.Read, Key: []byte("k")}}}}
	uncounted := strings.Replace(one, `"version":"3",`, "", 1)
	for _, tc := range []struct {
		op     store.Op
		answer string
		want   store.Event
	}{
		{read, ok(one), store.Event{Key: []byte("k"), Value: []byte("v"), Revision: 5, Version: 3, Count: 1}},
		{read, ok(uncounted), store.Event{Key: []byte("k"), Value: []byte("v"), Revision: 5, Version: -1, Count: 1}},
		{read, ok(""), store.Event{}},
		{race, ok(`,"responses":[{"response_range":{"header":{"revision":"77"}` + one + `}}]`),
			store.Event{Outcome: kv.Conflict, Revision: 77, ModRevision: 5, Value: []byte("v")}},
		{get, ok(one), store.Event{Key: []byte("k"), Value: []byte("v"), Revision: 5, Count: 1}},
		{get, ok(""), store.Event{Outcome: kv.Miss}},
		{store.Op{Tag: 4, Kind: kv.Put, Key: []byte("k")}, ok(""), store.Event{Revision: 77}},
		{store.Op{Tag: 4, Kind: kv.Delete}, ok(`,"deleted":"1"`), store.Event{Revision: 77, Count: 1}},
		{store.Op{Tag: 4, Kind: kv.CAS, Revision: 3}, ok(`,"succeeded":true,"responses":[{"response_put":{"header":{"revision":"77"}}}]`), store.Event{Revision: 77}},
		{store.Op{Tag: 4, Kind: kv.CAS, Revision: 3}, ok(`,"responses":[{"response_range":{"header":{"revision":"77"}` + one + `}}]`), store.Event{Outcome: kv.Conflict, Revision: 5}},
		{store.Op{Tag: 4, Kind: kv.CAS, Revision: 3}, ok(`,"responses":[{"response_range":{"header":{"revision":"77"}}}]`), store.Event{Outcome: kv.Conflict}},
		{store.Op{Tag: 4, Kind: kv.KeepAlive, Lease: 6}, answer("200 OK", `{"result":{`+header+`,"ID":"6","TTL":"30"}}`+"\n"), store.Event{Revision: 77, Count: 30}},
		{store.Op{Tag: 4, Kind: kv.KeepAlive, Lease: 6}, answer("200 OK", `{"result":{`+header+`,"ID":"7","TTL":"30"}}`), store.Event{Revision: 77, Count: 30, Outcome: kv.WrongResponse, Text: wrongLease}},
		{store.Op{Tag: 4, Kind: kv.KeepAlive, Lease: 6}, answer("200 OK", `{"result":{`+header+`,"ID":"6"}}`), store.Event{Revision: 77, Outcome: kv.BadRequest, Text: noLease}},
		{grant, ok(`,"ID":"5007618042890476291","TTL":"30"`), store.Event{Revision: 77, Count: 5007618042890476291}},
		{race, ok(`,"succeeded":true,"responses":[{"response_put":{}}]`), store.Event{Revision: 77, Count: 1}},
		{race, ok(``), store.Event{Outcome: kv.Conflict, Revision: 77}},
	} {
		c, _ := submitted(t, tc.op)
		events, err := c.Feed([]byte(tc.answer), nil)
		tc.want.Tag, tc.want.Member, tc.want.Term, tc.want.StoreRevision = 4, member, 3, 77
		if diff := cmp.Diff([]store.Event{tc.want}, events); diff != "" || err != nil || c.Room() != 1 {
			t.Errorf("%v %q: %v %s", tc.op.Kind, tc.answer, err, diff)
		}
	}
	keys := &collector{values: true}
	c, _ := submitted(t, store.Op{Kind: kv.Range, Range: &store.RangeOp{End: []byte("z"), Keys: keys}})
	if e, err := c.Feed([]byte(ok(one)), nil); err != nil || len(e) != 1 || len(keys.got) != 1 || keys.got[0] != "k=v@5" {
		t.Errorf("%v %v: %q", e, err, keys.got)
	}
}

// TestReadsSortedByCreation checks the request for the newest of the keys that were created before
// a given revision.
func TestReadsSortedByCreation(t *testing.T) {
	_, got := submitted(t, store.Op{Call: &call.Call{Parts: []call.Part{{
		Action: call.Read, Scope: call.Prefix, Key: []byte("a/"), Limit: 1, Flags: call.Sorted | call.Descending, Target: call.Created, MaxCreateRevision: 7,
	}}}})
	checkSameJSON(t, got, `{"key": "YS8=", "range_end": "YTA=", "limit": "1", "sort_order": "DESCEND", "sort_target": "CREATE", "max_create_revision": "7"}`)
}

// TestOutcomes checks that an error response results in a definite error only if the server
// executed nothing. Some of the responses are from servers other than etcd.
func TestOutcomes(t *testing.T) {
	for in, want := range map[string]kv.Outcome{
		answer("503 X", `{"error":"etcdserver: request timed out","code":14,"message":"etcdserver: request timed out"}`):                     kv.StoreTimeout,
		answer("503 X", `{"code":14,"message":"etcdserver: leader changed"}`):                                                                kv.LeaderChanged,
		answer("503 X", `{"code":14,"message":"etcdserver: no leader"}`):                                                                     kv.NoLeader,
		answer("404 X", `{"error":"etcdserver: requested lease not found","code":5,"message":"etcdserver: requested lease not found"}`):      kv.BadRequest,
		answer("200 OK", `{"error":{"grpc_code":14,"http_code":503,"message":"etcdserver: request timed out","http_status":"Unavailable"}}`): kv.StoreTimeout,
		answer("200 OK", `{"error":{"code":5,"message":"","details":[]}}`):                                                                   kv.BadRequest,
		answer("502 X", "Bad Gateway"):                  kv.StoreError,
		answer("404 X", "404 page not found\n"):         kv.BadRequest,
		answer("200 OK", "{}"):                          kv.WrongResponse,
		answer("200 OK", "{"):                           kv.StoreError,
		answer("200 OK", `{"header":{"revision":"x"}}`): kv.StoreError,
	} {
		c, _ := submitted(t, store.Op{Kind: kv.Put, Key: []byte("k")})
		if e, err := c.Feed([]byte(in), nil); err != nil || len(e) != 1 || e[0].Outcome != want || len(e[0].Text) == 0 {
			t.Errorf("%q: %+v %v, want %v", in, e, err, want)
		}
	}
	for _, kind := range []kv.Kind{kv.STM, kv.TxnGet, kv.Exists} {
		c, _ := submitted(t, store.Op{Kind: kind, Range: &store.RangeOp{}, STM: &store.STMOp{}})
		if e, err := c.Feed([]byte(ok("")), nil); err != nil || len(e) != 1 || e[0].Outcome != kv.BadRequest {
			t.Errorf("%v: %+v %v", kind, e, err)
		}
	}
}

// TestRequestsOfPatroni compares the codec's requests with requests that Patroni 4.1 sent.
func TestRequestsOfPatroni(t *testing.T) {
	text := func(s string) call.Value { return call.Value{Size: len(s), Text: []byte(s)} }
	leader := []byte("/service/demo/leader")
	for _, tc := range []struct {
		parts []call.Part
		want  string
	}{
		{[]call.Part{{Action: call.Grant, Number: 30}}, `{"TTL": 30}`},
		{[]call.Part{{Action: call.KeepAlive, Lease: 5007618042890476291}}, `{"ID": "5007618042890476291"}`},
		{[]call.Part{{Action: call.Read, Scope: call.Prefix, Key: []byte("/service/demo/"), Flags: call.Local}},
			`{"key": "L3NlcnZpY2UvZGVtby8=", "range_end": "L3NlcnZpY2UvZGVtbzA=", "serializable": true}`},
		{[]call.Part{{Action: call.Write, Key: leader, Value: text("pg1"), Lease: 5007618042890476291}},
			`{"key": "L3NlcnZpY2UvZGVtby9sZWFkZXI=", "value": "cGcx", "lease": "5007618042890476291"}`},
		{[]call.Part{{Action: call.Compare, Target: call.Created, Key: leader},
			{Action: call.Write, Branch: call.Then, Key: leader, Value: text("pg1"), Lease: 7}},
			`{"compare": [{"target": "CREATE", "create_revision": "0", "key": "L3NlcnZpY2UvZGVtby9sZWFkZXI="}],` +
				`"success": [{"request_put": {"key": "L3NlcnZpY2UvZGVtby9sZWFkZXI=", "value": "cGcx", "lease": "7"}}]}`},
	} {
		request := &call.Call{Parts: tc.parts, Guarded: tc.parts[0].Action == call.Compare}
		_, got := submitted(t, store.Op{Call: request})
		checkSameJSON(t, got, tc.want)
	}
	c := newCodec(store.ConnectionInfo{Endpoint: "h:1"})
	c.Submit(&store.Op{Kind: kv.Watch, Key: []byte("/service/demo/"), Watch: &store.WatchOp{End: []byte("/service/demo0"), Start: 3}})
	_, body, _ := strings.Cut(string(c.Out()), "\r\n\r\n")
	checkSameJSON(t, body, `{"create_request": {"key": "L3NlcnZpY2UvZGVtby8=", "range_end": "L3NlcnZpY2UvZGVtbzA=", "start_revision": "3"}}`)
}

// checkSameJSON checks that two JSON texts are equal. The number 30 in want matches the string
// "30", because the codec encodes 64-bit numbers as strings.
func checkSameJSON(t *testing.T, got, want string) {
	t.Helper()
	var a, b any
	if err := json.Unmarshal([]byte(got), &a); err != nil {
		t.Fatalf("%s: %v", got, err)
	}
	_ = json.Unmarshal([]byte(strings.Replace(want, ": 30", `: "30"`, 1)), &b)
	if d := cmp.Diff(b, a); d != "" {
		t.Errorf("%s: %s", got, d)
	}
}

// TestRequestsAreMessages sends random calls. It checks that etcd's own JSON decoder decodes each
// request into the intended message.
func TestRequestsAreMessages(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	key := func() []byte {
		k := make([]byte, 1+r.IntN(9))
		for i := range k {
			k[i] = byte(r.IntN(4) * 85)
		}
		return k
	}
	for range 3000 {
		k, v, lease := key(), key(), r.Int64N(3)*r.Int64()
		value := call.Value{Size: len(v), Text: v}
		_, body := submitted(t, store.Op{Call: &call.Call{Parts: []call.Part{{Action: call.Write, Key: k, Value: value, Lease: lease}}}})
		reads(t, body, &pb.PutRequest{}, &pb.PutRequest{Key: k, Value: v, Lease: lease})
		_, body = submitted(t, store.Op{Call: &call.Call{Parts: []call.Part{{
			Action: call.Read, Scope: call.Prefix, Key: k, Limit: 5, Number: 7, Flags: call.KeysOnly}}}})
		reads(t, body, &pb.RangeRequest{}, &pb.RangeRequest{Key: k, RangeEnd: prefixEnd(k), Limit: 5, Revision: 7, KeysOnly: true})
		n := r.Int64N(2) * r.Int64N(1<<40)
		_, body = submitted(t, store.Op{Call: &call.Call{Guarded: true, Parts: []call.Part{
			{Action: call.Compare, Target: call.Modified, Relation: call.Greater, Key: k, Number: n},
			{Action: call.Write, Branch: call.Then, Key: k, Value: value},
			{Action: call.Remove, Branch: call.Then, Key: v},
			{Action: call.Read, Branch: call.Else, Key: k},
		}}})
		reads(t, body, &pb.TxnRequest{}, &pb.TxnRequest{
			Compare: []*pb.Compare{{Target: pb.Compare_MOD, Result: pb.Compare_GREATER, Key: k, TargetUnion: &pb.Compare_ModRevision{ModRevision: n}}},
			Success: []*pb.RequestOp{
				{Request: &pb.RequestOp_RequestPut{RequestPut: &pb.PutRequest{Key: k, Value: v}}},
				{Request: &pb.RequestOp_RequestDeleteRange{RequestDeleteRange: &pb.DeleteRangeRequest{Key: v}}},
			},
			Failure: []*pb.RequestOp{{Request: &pb.RequestOp_RequestRange{RequestRange: &pb.RangeRequest{Key: k}}}},
		})
	}
}

// prefixEnd returns the end of the interval for a prefix, as etcd's client computes it.
func prefixEnd(prefix []byte) []byte {
	end := []byte(string(prefix))
	for i := len(end) - 1; i >= 0; i-- {
		if end[i] < 0xff {
			end[i]++
			return end[:i+1]
		}
	}
	return []byte{0}
}

func reads(t *testing.T, body string, got, want proto.Message) {
	t.Helper()
	if err := protojson.Unmarshal([]byte(body), got); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	if !proto.Equal(got, want) {
		t.Fatalf("the request body %s decodes to %v, want %v", body, got, want)
	}
}

func stream(lines ...string) string {
	out := "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	for _, l := range lines {
		out += fmt.Sprintf("%x\r\n%s\n\r\n", len(l)+1, l)
	}
	return out
}

const created = `{"result":{` + header + `,"created":true}}`

func event(key, value string, version int) string {
	return fmt.Sprintf(`{"result":{%s,"events":[{"kv":{"key":%q,"create_revision":"2","mod_revision":"76","version":"%d","value":%q}},`+
		`{"type":"DELETE","kv":{"key":%q,"mod_revision":"77"}}]}}`, header, b64(key), version, b64(value), b64(key))
}

var whats = map[store.EventType]string{store.OperationDone: "done", store.WatchChange: "event", store.WatchProgress: "seen", store.WatchEnded: "ended"}

// TestWatcher checks that a watcher reports each event exactly once, however the response is
// cut into pieces.
func TestWatcher(t *testing.T) {
	in := stream(created, event("k", "v", 3), `{"result":{`+header+`}}`, event("k", strings.Repeat("w", 3000), 4), `{"result":{`+header+`,"canceled":true,"compact_revision":"5"}}`)
	for _, step := range []int{1, 7, 100, 10_000} {
		c := newCodec(store.ConnectionInfo{Endpoint: "h:1"})
		c.Submit(&store.Op{Tag: 9, Kind: kv.Watch, Key: []byte("k"), Watch: &store.WatchOp{Watcher: 5}})
		c.Wrote(len(c.Out()))
		var all []string
		for at := 0; at < len(in); at += step {
			events, err := c.Feed([]byte(in[at:min(at+step, len(in))]), nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range events {
				all = append(all, fmt.Sprintf("%s %d %d %s %.1s %d %d %d", whats[e.Type], e.Tag, e.Watcher, e.Key, e.Value, e.Revision, e.Version, e.Count))
			}
		}
		want := []string{"done 9 5   77 0 0", "event 0 5 k v 76 3 0", "event 0 5 k  77 0 1", "seen 0 5   77 0 0", "event 0 5 k w 76 4 0", "event 0 5 k  77 0 1", "ended 0 5   0 0 0"}
		if d := cmp.Diff(want, all); d != "" || c.Room() != 0 {
			t.Errorf("in steps of %d: %s", step, d)
		}
	}
	for in, want := range map[string]kv.Outcome{
		stream(`{"error":{"grpc_code":14,"http_code":503,"message":"etcdserver: no leader"}}`):                               kv.NoLeader,
		stream(`{"result":{` + header + `,"created":true,"canceled":true,"cancel_reason":"etcdserver: permission denied"}}`): kv.Denied,
		answer("503 X", `{"code":14,"message":"etcdserver: no leader"}`):                                                     kv.NoLeader,
	} {
		c := newCodec(store.ConnectionInfo{Endpoint: "h:1"})
		c.Submit(&store.Op{Tag: 9, Kind: kv.Watch, Key: []byte("k"), Watch: &store.WatchOp{Watcher: 5}})
		c.Wrote(len(c.Out()))
		if e, err := c.Feed([]byte(in), nil); err != nil || len(e) != 1 || e[0].Outcome != want || e[0].Tag != 9 || e[0].Type != store.OperationDone {
			t.Errorf("%q: %+v %v", in, e, err)
		}
	}
}

func TestLost(t *testing.T) {
	get, watch := store.Op{Tag: 6, Kind: kv.Get}, store.Op{Tag: 7, Kind: kv.Watch, Watch: &store.WatchOp{Watcher: 2}}
	for _, op := range []store.Op{get, watch} {
		c := newCodec(store.ConnectionInfo{Endpoint: "h:1"})
		c.Submit(&op)
		if e := c.Lost(nil); len(e) != 1 || e[0].Outcome != kv.NotSent || e[0].Tag != op.Tag {
			t.Errorf("%+v", e)
		}
		c, _ = submitted(t, op)
		if e := c.Lost(nil); len(e) != 1 || e[0].Outcome != kv.ConnectionLost {
			t.Errorf("%+v", e)
		}
		c, _ = submitted(t, op)
		if c.Cancel(op.Tag) || len(c.Lost(nil)) != 0 {
			t.Error("a cancelled operation is reported again")
		}
	}
	c, _ := submitted(t, watch)
	if e, err := c.Feed([]byte(stream(created)), nil); err != nil || len(e) != 1 || len(c.Lost(nil)) != 0 {
		t.Errorf("%+v %v", e, err)
	}
	c, _ = submitted(t, get)
	c.Cancel(6)
	if e, err := c.Feed([]byte(ok("")), nil); err != nil || len(e) != 1 || e[0].Type != store.LateResponse || c.Room() != 1 {
		t.Errorf("%+v %v", e, err)
	}
}

// TestNestedAnswers checks that the codec does not follow deep nesting in a response. Otherwise
// it would need a stack that is many times larger than the response.
func TestNestedAnswers(t *testing.T) {
	const deep = 20_000
	for _, of := range [][2]string{{`{"result":`, `}`}, {`{"responses":[{"response_range":`, `}]}`}} {
		c, _ := submitted(t, store.Op{Kind: kv.Txn})
		in := answer("200 OK", strings.Repeat(of[0], deep)+"{"+header+"}"+strings.Repeat(of[1], deep))
		if e, err := c.Feed([]byte(in), nil); err != nil || len(e) != 1 || e[0].Outcome != kv.StoreError {
			t.Errorf("%s: %+v, %v", of[0], e, err)
		}
	}
}

// TestTheServerIsEtcds checks that the store offers the optional parts of the store etcd:
// embedded members, sizes, metrics and guarantees.
func TestTheServerIsEtcds(t *testing.T) {
	var st store.Store = New()
	_, embedded := st.(store.Embedded)
	sizer, sizes := st.(store.Sizer)
	metered := len(st.Metrics(store.Access{}, "localhost:2379")) > 0
	guarantees := len(st.Guarantees().Sources) > 0
	if !embedded || !metered || !guarantees || !sizes {
		t.Fatal(embedded, metered, guarantees, sizes)
	}
	if fills, advice, err := sizer.Size(store.SizingInput{Keys: 1000, KeySize: 8, ValueSize: 64}); err != nil || len(fills) == 0 || len(advice) == 0 {
		t.Errorf("%v %v %v", fills, advice, err)
	}
}

// FuzzReply checks that every operation ends exactly once, whatever the server responds.
func FuzzReply(f *testing.F) {
	f.Add(byte(kv.Get), ok(`,"kvs":[{"key":"aw==","mod_revision":"5"}]`))
	f.Add(byte(kv.CAS), ok(`,"responses":[{"response_range":{"kvs":[{"key":"aw=="}]}}]`))
	f.Add(byte(kv.KeepAlive), answer("200 OK", `{"result":{`+header+`,"ID":"6","TTL":"30"}}`))
	f.Add(byte(kv.Put), answer("503 X", `{"error":"etcdserver: no leader","code":14}`))
	f.Add(byte(kv.Put), answer("200 OK", `{"error":{"grpc_code":-1,"message":"\u00e9"}}`))
	for kind := byte(128); kind < 128+16; kind++ { // the test uses kinds from 128 for recorded calls
		f.Add(kind, ok(`,"ID":"6","TTL":"30","kvs":[{"key":"aw==","mod_revision":"5"}],"responses":[{"response_range":{"kvs":[{"key":"aw=="}]}}]`))
	}
	f.Fuzz(func(t *testing.T, kind byte, in string) {
		op := store.Op{Kind: kv.Kind(kind) % kv.NumKinds, Key: []byte("b"), Range: &store.RangeOp{End: []byte("d"), Keys: &collector{}}}
		if op.Kind == kv.Watch {
			op.Kind = kv.Get
		}
		if kind >= 128 {
			op.Call = &call.Call{Guarded: kind%2 == 0, Parts: []call.Part{{Action: call.Action(kind % 16), Key: []byte("b")}}}
		}
		storetest.CheckEndsOnce(t, newCodec(store.ConnectionInfo{Endpoint: "h:1"}), op, in)
	})
}

// FuzzWatch checks that a watcher is created at most once, and that it reports nothing before
// it was created.
func FuzzWatch(f *testing.F) {
	f.Add(created+"\n"+event("k", "v", 2)+"\n", byte(3))
	f.Add(`{"error":{"code":14}}`+"\n", byte(9))
	f.Fuzz(func(t *testing.T, lines string, step byte) {
		c := newCodec(store.ConnectionInfo{Endpoint: "h:1"})
		c.Submit(&store.Op{Tag: 9, Kind: kv.Watch, Key: []byte("b"), Watch: &store.WatchOp{Watcher: 5}})
		c.Wrote(len(c.Out()))
		in := "HTTP/1.1 200 OK\r\n\r\n" + lines
		done, over := 0, 0
		take := func(events []store.Event) {
			for _, e := range events {
				switch {
				case e.Type == store.OperationDone:
					done++
				case e.Type == store.WatchEnded:
					over++
				case done != 1 || over != 0 || e.Watcher != 5:
					t.Fatalf("unexpected event %+v after %d watchers were created and %d ended", e, done, over)
				}
			}
		}
		var err error
		for at, n := 0, int(step)+1; at < len(in) && err == nil; at += n {
			var events []store.Event
			events, err = c.Feed([]byte(in[at:min(at+n, len(in))]), nil)
			take(events)
		}
		if take(c.Lost(nil)); done != 1 || over > 1 {
			t.Fatalf("%d watchers were created, and %d ended", done, over)
		}
	})
}

func benchmark(b *testing.B, op store.Op, in string) {
	storetest.BenchmarkExchange(b, newCodec(store.ConnectionInfo{Endpoint: "127.0.0.1:2379"}), op, in)
}

var (
	benchKey   = []byte("bench/00012345")
	benchValue = []byte(strings.Repeat("v", 256))
)

func BenchmarkPut(b *testing.B) {
	benchmark(b, store.Op{Kind: kv.Put, Key: benchKey, Value: benchValue}, ok(""))
}

func BenchmarkGet(b *testing.B) {
	benchmark(b, store.Op{Kind: kv.Get, Key: benchKey}, ok(`,"kvs":[{"key":"`+b64("bench/00012345")+`","mod_revision":"5","value":"`+b64(string(benchValue))+`"}]`))
}

func BenchmarkKeepAlive(b *testing.B) {
	benchmark(b, store.Op{Kind: kv.KeepAlive, Lease: 6}, answer("200 OK", `{"result":{`+header+`,"ID":"6","TTL":"30"}}`+"\n"))
}

// TestNothingIsAllocated checks that the codec allocates no memory for common operations and for
// watch events.
func TestNothingIsAllocated(t *testing.T) {
	c := newCodec(store.ConnectionInfo{Endpoint: "h:1"})
	events := make([]store.Event, 0, 8)
	exchange := func(op *store.Op, in []byte) {
		c.Submit(op)
		c.Wrote(len(c.Out()))
		var err error
		if events, err = c.Feed(in, events[:0]); err != nil || events[0].Outcome.Failed() {
			t.Fatal(events, err)
		}
	}
	put, keep := store.Op{Kind: kv.Put, Key: benchKey, Value: benchValue}, store.Op{Kind: kv.KeepAlive, Lease: 6}
	cas := store.Op{Kind: kv.CAS, Key: benchKey, Value: benchValue, Revision: 5}
	written, kept := []byte(ok("")), []byte(answer("200 OK", `{"result":{`+header+`,"ID":"6","TTL":"30"}}`+"\n"))
	swapped := []byte(ok(`,"succeeded":true,"responses":[{"response_put":{}}]`))
	if n := testing.AllocsPerRun(100, func() { exchange(&put, written); exchange(&keep, kept); exchange(&cas, swapped) }); n > 0 {
		t.Errorf("%v allocations for three operations", n)
	}
	w := newCodec(store.ConnectionInfo{Endpoint: "h:1"})
	w.Submit(&store.Op{Kind: kv.Watch, Key: []byte("k"), Watch: &store.WatchOp{}})
	w.Wrote(len(w.Out()))
	if _, err := w.Feed([]byte(stream(created)), nil); err != nil {
		t.Fatal(err)
	}
	_, more, _ := strings.Cut(stream(event("k", "v", 2)), "\r\n\r\n")
	piece := []byte(more)
	if n := testing.AllocsPerRun(100, func() { events, _ = w.Feed(piece, events[:0]) }); n > 0 || len(events) != 2 {
		t.Errorf("%v allocations for two events: %v", n, events)
	}
}

// TestEventTypeDecidesWhetherKeyWasDeleted sends events whose type and version disagree.
func TestEventTypeDecidesWhetherKeyWasDeleted(t *testing.T) {
	for _, tc := range []struct {
		event   string
		version int64
		value   string
	}{
		{`{"kv":{"key":"aw==","mod_revision":"76","value":"dg=="}}`, -1, "v"},
		{`{"type":"PUT","kv":{"key":"aw==","mod_revision":"76","value":"dg==","version":"0"}}`, -1, "v"},
		{`{"kv":{"key":"aw==","mod_revision":"76","value":"dg==","version":"3"},"type":0}`, 3, "v"},
		{`{"type":"DELETE","kv":{"key":"aw==","mod_revision":"76","value":"dg==","version":"3"}}`, 0, ""},
		{`{"kv":{"key":"aw==","mod_revision":"76","value":"dg=="},"type":1}`, 0, ""},
	} {
		c := newCodec(store.ConnectionInfo{Endpoint: "h:1"})
		c.Submit(&store.Op{Tag: 9, Kind: kv.Watch, Key: []byte("k"), Watch: &store.WatchOp{Watcher: 5}})
		c.Wrote(len(c.Out()))
		events, err := c.Feed([]byte(stream(created, `{"result":{`+header+`,"events":[`+tc.event+`]}}`)), nil)
		if err != nil || len(events) != 2 || events[1].Version != tc.version || string(events[1].Value) != tc.value {
			t.Errorf("%s: %+v %v", tc.event, events, err)
		}
	}
}

// TestStandInsLeaveRevisionsOut checks which responses the codec accepts without a revision.
// Servers that imitate etcd omit some revisions.
func TestStandInsLeaveRevisionsOut(t *testing.T) {
	for _, tc := range []struct {
		action call.Action
		body   string
		want   kv.Outcome
	}{
		{call.AskStatus, `{"header":{},"version":"3.6.6","dbSize":"4096"}`, kv.OK},
		{call.Grant, `{"header":{},"ID":"7","TTL":"7"}`, kv.OK},
		{call.Grant, `{"header":{}}`, kv.WrongResponse},
		{call.Write, `{"header":{}}`, kv.WrongResponse},
	} {
		request := call.Call{Parts: []call.Part{{Action: tc.action, Key: []byte("k"), Number: 7}}}
		c, _ := submitted(t, store.Op{Tag: 9, Kind: kv.Put, Call: &request})
		if e, err := c.Feed([]byte(answer("200 OK", tc.body)), nil); err != nil || len(e) != 1 || e[0].Outcome != tc.want {
			t.Errorf("%v %s: %+v %v", tc.action, tc.body, e, err)
		}
	}
}
