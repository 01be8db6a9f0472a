package consul

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
)

// watchedReply feeds the same response twice, for the first two queries of a watcher. The watcher
// must be created or refused exactly once, and must report only keys that it watches.
func watchedReply(t *testing.T, kind byte, in string) {
	t.Helper()
	c := newCodec(store.ConnectionInfo{Endpoint: "h:1"}, "", New().dialect())
	op := store.Op{Tag: 9, Kind: kv.Watch, Key: []byte("b"), Watch: &store.WatchOp{Watcher: 3, Start: int64(kind & 64)}}
	if op.Watch.Service = kind >= 128; kind&4 != 0 && !op.Watch.Service {
		op.Watch.End = []byte("d")
	}
	op.Watch.WatchesLock = kind&32 != 0 && len(op.Watch.End) == 0 && !op.Watch.Service
	c.Submit(&op)
	done := 0
	for range 2 {
		c.Wrote(len(c.Out()))
		events, err := c.Feed([]byte(in), nil)
		if err != nil {
			return
		}
		for _, e := range events {
			if done += btoi(e.Type == store.OperationDone); e.Watcher != 3 || e.Type == store.OperationDone && e.Tag != 9 {
				t.Fatalf("%+v", e)
			}
			if e.Type == store.WatchChange && (e.Revision <= 0 || string(e.Key) < "b" && !op.Watch.Service || string(e.Key) >= "d" && len(op.Watch.End) > 0) {
				t.Fatalf("%+v", e)
			}
		}
	}
	if done > 1 {
		t.Fatalf("the watcher was created %d times", done)
	}
	if e := c.Lost(nil); len(e) > 0 && done > 0 && e[0].Type == store.OperationDone {
		t.Fatalf("%+v", e)
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// indexed returns a response with the given index.
func indexed(index int, status, body string) string {
	return fmt.Sprintf("HTTP/1.1 %s\r\nX-Consul-Index: %d\r\nContent-Length: %d\r\n\r\n%s", status, index, len(body), body)
}

func watching(t *testing.T, previous store.Codec, op store.WatchOp, end string) scripted {
	t.Helper()
	s := newScripted(t)
	s.Codec = newCodec(store.ConnectionInfo{Endpoint: "h:1", Previous: previous}, "secret", New().dialect())
	op.End = []byte(end)
	s.Ask(store.Op{Tag: 5, Kind: kv.Watch, Key: []byte("b"), Watch: &op})
	return s
}

// nextQuery removes the codec's output and returns the request line of its query.
func nextQuery(s scripted) string {
	line, _, _ := strings.Cut(string(s.Codec.Out()), "\r\n")
	s.Codec.Wrote(len(s.Codec.Out()))
	return line
}

// TestWatch checks the events from a key's watcher, and the index in each next query.
func TestWatch(t *testing.T) {
	s := watching(t, nil, store.WatchOp{Watcher: 2}, "")
	for i, step := range []struct{ answer, events, asks string }{
		{indexed(7, "200 OK", "old"), "created 7", "index=7"},
		{indexed(9, "200 OK", "v"), "b=v at 9", "index=9"},
		{indexed(9, "200 OK", "v"), "", "index=9"}, // the query's wait has ended
		{indexed(12, "404 Not Found", ""), "b gone at 12", "index=12"},
		{indexed(15, "404 Not Found", ""), "", "index=15"}, // another key was written
		{indexed(16, "200 OK", ""), "b= at 16", "index=16"},
		{indexed(3, "200 OK", "w"), "b=w at 3", ""}, // a snapshot was restored
		{indexed(3, "200 OK", "w"), "", "index=3"},
		{"HTTP/1.1 500 X\r\nContent-Length: 17\r\n\r\nNo cluster leader", "ended no_leader", "none"},
	} {
		if got := eventsText(s.Feed(step.answer)); got != step.events {
			t.Errorf("step %d: got %q, want %q", i, got, step.events)
		}
		want := "GET /v1/kv/b?raw HTTP/1.1"
		if step.asks == "none" {
			want = ""
		} else if step.asks != "" {
			want = "GET /v1/kv/b?raw&" + step.asks + " HTTP/1.1"
		}
		if got := nextQuery(s); got != want {
			t.Errorf("step %d: the codec sent %q, want %q", i, got, want)
		}
	}
	// The next connection continues from the known state.
	s = watching(t, s.Codec, store.WatchOp{Watcher: 2, Start: 4}, "")
	if got := eventsText(s.Feed(indexed(8, "404 Not Found", ""))); got != "created 8, b gone at 8" {
		t.Errorf("after a lost connection, the watcher received %q", got)
	}
	// A new watcher with a start index must report only states with this index or a higher one.
	s = watching(t, nil, store.WatchOp{Watcher: 2, Start: 4}, "")
	if got := eventsText(s.Feed(indexed(4, "200 OK", "v"))); got != "created 4, b=v at 4" {
		t.Errorf("a watcher with a start index received %q", got)
	}
	// A new leader may not yet know the latest state that was reported. The watcher must not report
	// a state twice. First test a watcher that has reported this state. Since then, any number of
	// its queries may have failed.
	noLeader := "HTTP/1.1 500 X\r\nContent-Length: 17\r\n\r\nNo cluster leader"
	s = watching(t, nil, store.WatchOp{Watcher: 2}, "")
	again := func(answers ...string) (events []string) {
		for _, a := range answers {
			events = append(events, eventsText(s.Feed(a)))
			if nextQuery(s) == "" {
				s.Ask(store.Op{Tag: 5, Kind: kv.Watch, Key: []byte("b"), Watch: &store.WatchOp{Watcher: 2, Start: 10}})
			}
		}
		return events
	}
	got := again(indexed(7, "200 OK", "old"), indexed(9, "200 OK", "v"), noLeader, noLeader, noLeader, indexed(9, "200 OK", "v"), indexed(11, "200 OK", "w"))
	if want := []string{"created 7", "b=v at 9", "ended no_leader", "refused no_leader", "refused no_leader", "created 9", "b=w at 11"}; !slices.Equal(got, want) {
		t.Errorf("after failed queries, the watcher received %q, want %q", got, want)
	}
	// Then test a new watcher that has a start index and has reported no state.
	for first, events := range map[string]string{indexed(7, "200 OK", "old"): "created 7", indexed(8, "404 Not Found", ""): "created 8"} {
		s = watching(t, nil, store.WatchOp{Watcher: 2, Start: 10}, "")
		got = again(first, indexed(9, "200 OK", "v"), indexed(8, "404 Not Found", ""), indexed(9, "200 OK", "v"), indexed(11, "200 OK", "w"), indexed(12, "404 Not Found", ""), indexed(9, "200 OK", "v"))
		if want := []string{events, "", "", "", "b=w at 11", "b gone at 12", "b=v at 9"}; !slices.Equal(got, want) {
			t.Errorf("a watcher with a start index received %q, want %q", got, want)
		}
	}
	for in, want := range map[string]string{
		indexed(0, "200 OK", "v"):                "refused wrong_response",
		answer("403 X", "Permission denied: no"): "refused denied",
		answer("404 X", "404 page not found"):    "refused bad_request",
	} {
		s = watching(t, nil, store.WatchOp{Watcher: 2}, "")
		if got := eventsText(s.Feed(in)); got != want || len(s.Codec.Out()) > 0 {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func eventsText(events []store.Event) string {
	var all []string
	for _, e := range events {
		switch {
		case e.Watcher != 2:
			all = append(all, fmt.Sprintf("%+v", e))
		case e.Type == store.OperationDone && e.Outcome != kv.OK:
			all = append(all, "refused "+e.Outcome.String())
		case e.Type == store.OperationDone && e.Tag == 5:
			all = append(all, fmt.Sprintf("created %d", e.Revision))
		case e.Type == store.WatchEnded:
			all = append(all, "ended "+e.Outcome.String())
		case e.Type == store.WatchChange && e.Version == 0:
			all = append(all, fmt.Sprintf("%s gone at %d", e.Key, e.Revision))
		case e.Type == store.WatchChange:
			all = append(all, fmt.Sprintf("%s=%s at %d", e.Key, e.Value, e.Revision))
		}
	}
	return strings.Join(all, ", ")
}

// list returns a response for a prefix. The arguments are the keys, each followed by its index.
func list(index int, keys ...any) string {
	var all []string
	for i := 0; i < len(keys); i += 2 {
		all = append(all, fmt.Sprintf(`{"Key":%q,"Value":"dg==","ModifyIndex":%d}`, keys[i], keys[i+1]))
	}
	return indexed(index, "200 OK", "["+strings.Join(all, ",")+"]")
}

// TestWatchOfAnInterval checks that a watcher for an interval reports the changes since the
// previous response.
func TestWatchOfAnInterval(t *testing.T) {
	s := watching(t, nil, store.WatchOp{Watcher: 2}, "d")
	for i, step := range []struct{ answer, events string }{
		{list(7, "a", 7, "b", 3, "c", 4), "created 7"},
		{list(8, "a", 8, "b", 3, "c", 4), ""}, // a change of a key outside the interval
		{list(10, "b", 3, "c", 10), "c=v at 10"},
		{list(12, "b", 11, "b/x", 12, "c", 10), "b=v at 11, b/x=v at 12"},
		{list(13, "b/x", 12, "c", 10, "z", 13), "b gone at 13"},
		{list(15, "b", 14, "c", 15), "b=v at 14, b/x gone at 15, c=v at 15"},
		{list(16, "b", 14), "c gone at 16"},
		{indexed(17, "404 Not Found", ""), "b gone at 17"},
		{list(18, "c", 18, "b", 18), "ended wrong_response"},
	} {
		if got := eventsText(s.Feed(step.answer)); got != step.events {
			t.Errorf("step %d: got %q, want %q", i, got, step.events)
		}
		nextQuery(s)
	}
}

// TestOverdueQuery checks that the connection ends if the response to a query is overdue.
func TestOverdueQuery(t *testing.T) {
	s := watching(t, nil, store.WatchOp{Watcher: 2}, "")
	next := s.Codec.Tick(1)
	if want := int64(defaultWait + defaultWait/16 + 10*time.Second); next != 1+want {
		t.Errorf("the next Tick is due after %v, want %v", time.Duration(next-1), time.Duration(want))
	}
	s.Feed(indexed(7, "200 OK", "v"))
	nextQuery(s)
	next = s.Codec.Tick(next)
	if s.Codec.Draining() {
		t.Error("the codec is draining although only a newer query is open")
	}
	if s.Codec.Tick(next); !s.Codec.Draining() {
		t.Error("an overdue query did not end its connection")
	}
}

// TestFirstTickBeforeAWatcher checks that a connection is found dead soon after the end of the
// query's wait, although the first Tick comes before the watcher.
func TestFirstTickBeforeAWatcher(t *testing.T) {
	s := newScripted(t)
	const wait = 20 * time.Second
	next, detected := s.Codec.Tick(1), int64(0)
	s.Ask(store.Op{Tag: 5, Kind: kv.Watch, Key: []byte("b"), Watch: &store.WatchOp{Watcher: 2, QueryWait: wait}})
	for ticks := 0; !s.Codec.Draining(); ticks++ {
		if ticks == 10 {
			t.Fatal("10 calls of Tick did not end a connection whose query is overdue")
		}
		detected = next
		next = s.Codec.Tick(next)
	}
	limit := wait + wait/16 + 20*time.Second
	if got := time.Duration(detected); got > limit {
		t.Errorf("Tick found the query overdue after %v, want at most %v, because the query waits %v", got, limit, wait)
	}
}

// TestWaitOfAQuery checks that a query waits as long as the watcher requests, and that this wait
// determines when a response is overdue.
func TestWaitOfAQuery(t *testing.T) {
	s := watching(t, nil, store.WatchOp{Watcher: 2, QueryWait: 9697 * time.Millisecond}, "")
	nextQuery(s)
	s.Feed(indexed(7, "200 OK", "v"))
	if got := nextQuery(s); got != "GET /v1/kv/b?raw&index=7&wait=9697ms HTTP/1.1" {
		t.Errorf("the codec sent %q", got)
	}
	wait := 9697 * time.Millisecond
	if got, want := s.Codec.Tick(1)-1, int64(wait+wait/16+10*time.Second); got != want {
		t.Errorf("the next Tick is due after %v, want %v", time.Duration(got), time.Duration(want))
	}
}

// service is the body of a response with the healthy instances of a service.
const service = `[{"Node":{"Node":"n","ModifyIndex":5},"Service":{"ID":"b","Service":"web","ModifyIndex":5},"Checks":[{"CheckID":"c","ModifyIndex":7}]},
{"Node":{"Node":"m","ModifyIndex":5},"Service":{"ID":"a","Service":"web","ModifyIndex":6},"Checks":[]}]`

// TestWatchOfAService checks that a watcher for a service reports the instances that exist and
// those that are added.
func TestWatchOfAService(t *testing.T) {
	s := newScripted(t)
	s.Ask(store.Op{Tag: 5, Kind: kv.Watch, Key: []byte("web"), Watch: &store.WatchOp{Watcher: 2, Service: true}})
	for i, step := range []struct{ answer, events string }{
		{indexed(4, "200 OK", "[]"), "created 4"},
		{indexed(7, "200 OK", service), "a= at 6, b= at 7"},
		{indexed(8, "200 OK", strings.Replace(service, `"c","ModifyIndex":7`, `"c","ModifyIndex":8`, 1)), "b= at 8"},
		{indexed(9, "200 OK", "[]"), "a gone at 9, b gone at 9"},
		{indexed(10, "200 OK", `[{"Service":{"ID":"a"}}]`), "ended wrong_response"},
	} {
		if got := eventsText(s.Feed(step.answer)); got != step.events {
			t.Errorf("step %d: got %q, want %q", i, got, step.events)
		}
		want := "GET /v1/health/service/web?passing&index="
		if got := nextQuery(s); step.events != "ended wrong_response" && !strings.HasPrefix(got, want) {
			t.Errorf("step %d: the codec sent %q", i, got)
		}
	}
}
