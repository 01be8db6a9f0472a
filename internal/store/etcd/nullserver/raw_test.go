package nullserver

import (
	"fmt"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
	"github.com/quorumbench/quorumbench/internal/wire/h2"
)

func TestPipelining(t *testing.T) {
	address := start(t, 1, store.NullOptions{Memory: true}, nil)[0]
	c := dial(t, address)
	const n = 1000
	for i := range n {
		c.put(fmt.Sprint("key", i), fmt.Sprint("value", i))
	}
	c.flush()
	for _, r := range c.finish(n) {
		r.ok(t)
	}
	keys := map[uint32]int{}
	for i := range n {
		keys[c.get(fmt.Sprint("key", i))] = i
	}
	c.flush()
	for id, r := range c.finish(n) {
		r.ok(t)
		got := r.decode(t)
		if i := keys[id]; got.Count != 1 || string(got.Kvs[0].Key) != fmt.Sprint("key", i) || string(got.Kvs[0].Value) != fmt.Sprint("value", i) {
			t.Fatalf("the get of key%d returned %v", i, got)
		}
	}
}

// TestNoResponseIsSentDuringAStall uses a clock that the test controls. It checks that the server
// sends no response during a stall, and that it sends all responses at the stall's end.
func TestNoResponseIsSentDuringAStall(t *testing.T) {
	clock := settle.NewClock()
	address := start(t, 1, options("stall=1s@1s"), clock)[0]
	c := dial(t, address)
	first := c.get("a")
	if got := c.sync(); got[first] == nil {
		t.Fatal("the first operation did not get an immediate response")
	}
	const n = 500
	clock.Advance(int64(time.Second))
	for i := range n {
		c.put(fmt.Sprint(i), "v")
	}
	if got := c.sync(); len(got) != 0 {
		t.Fatalf("the server sent %d responses during the stall", len(got))
	}
	clock.Advance(int64(time.Second) - 1)
	c.get("late")
	if got := c.sync(); len(got) != 0 {
		t.Fatalf("the server sent %d responses in the last nanosecond of the stall", len(got))
	}
	clock.Advance(1)
	for _, r := range c.finish(n + 1) {
		r.ok(t)
	}
}

// TestStallInRealTime checks that a stall that starts with the first operation also delays the
// operations that follow.
func TestStallInRealTime(t *testing.T) {
	const stall = 150 * time.Millisecond
	c := dial(t, start(t, 1, options("stall=150ms@0s"), nil)[0])
	begin := time.Now()
	for range 100 {
		c.get("k")
	}
	c.flush()
	c.finish(1)
	if waited := time.Since(begin); waited < stall {
		t.Errorf("the first reply arrived after %s, during the stall", waited)
	}
	c.finish(99)
}

func TestDelay(t *testing.T) {
	clock := settle.NewClock()
	c := dial(t, start(t, 1, options("delay=2ms; delay=5ms every 3"), clock)[0])
	ids := []uint32{c.get("a"), c.get("b"), c.get("c"), c.get("d")}
	if got := c.sync(); len(got) != 0 {
		t.Fatalf("%d responses arrived before the delay was over", len(got))
	}
	clock.Advance(int64(2 * time.Millisecond))
	if got := c.finish(3); got[ids[2]] != nil {
		t.Error("the third response was not delayed longer than the others")
	}
	clock.Advance(int64(3 * time.Millisecond))
	c.finish(1)[ids[2]].ok(t)
}

func TestNeverLeavesTheStreamOpen(t *testing.T) {
	c := dial(t, start(t, 1, options("never every 50"), nil)[0])
	ids := map[uint32]int{}
	for i := 1; i <= 200; i++ {
		ids[c.get("k")] = i
	}
	got := c.sync()
	for id, i := range ids {
		if answered := got[id] != nil; answered == (i%50 == 0) {
			t.Errorf("operation %d: answered %t", i, answered)
		}
	}
	// The client may cancel requests that are never answered.
	for id, i := range ids {
		if i%50 == 0 {
			c.out = h2.AppendRSTStream(c.out, id, h2.ErrCodeCancel)
		}
	}
	again := c.get("k")
	c.sync()[again].ok(t)
}

func TestCancelledWhileDelayed(t *testing.T) {
	clock := settle.NewClock()
	c := dial(t, start(t, 1, options("delay=1ms"), clock)[0])
	a, b, d := c.get("a"), c.get("b"), c.get("d")
	c.out = h2.AppendRSTStream(c.out, b, h2.ErrCodeCancel)
	c.sync()
	clock.Advance(int64(time.Millisecond))
	got := c.finish(2)
	got[a].ok(t)
	got[d].ok(t)
	if got[b] != nil || len(c.sync()) != 0 {
		t.Error("a cancelled request got a reply")
	}
}

func TestErrors(t *testing.T) {
	c := dial(t, start(t, 1, options("error=no_leader every 3; reset=refused every 4"), nil)[0])
	var ids []uint32
	for range 6 {
		ids = append(ids, c.put("k", "v"))
	}
	got := c.sync()
	if r := got[ids[2]]; r.grpc != "14" || r.message != "etcdserver: no leader" || r.status != "200" || len(r.body) != 0 {
		t.Errorf("the third response is %+v", r)
	}
	if r := got[ids[3]]; !r.reset || r.code != h2.ErrCodeRefusedStream {
		t.Errorf("the fourth response is %+v", r)
	}
	for _, i := range []int{0, 1, 4} {
		got[ids[i]].ok(t)
	}
	// The operations with the error and the reset must not have written anything.
	if revision := c.read1(c.get("k")).Kvs[0].Version; revision != 3 {
		t.Errorf("the key was written %d times, want 3", revision)
	}
}

func TestEveryErrorHasAName(t *testing.T) {
	for _, name := range errorNames() {
		c := dial(t, start(t, 1, options("error="+name+" every 1"), nil)[0])
		id := c.get("k")
		if r := c.sync()[id]; r.grpc == "" || r.grpc == "0" || r.message == "" {
			t.Errorf("the response to %s is %+v", name, r)
		}
	}
}

func TestWrongAnswers(t *testing.T) {
	c := dial(t, start(t, 1, options("wrong=value every 2; wrong=key every 3"), nil)[0])
	c.put("key", "value") // the first operation
	c.sync()
	if got := c.read1(c.get("key")).Kvs[0]; string(got.Key) != "key" || string(got.Value) == "value" || len(got.Value) != 5 {
		t.Errorf("with a wrong value, the server returned %v", got)
	}
	if got := c.read1(c.get("key")).Kvs[0]; string(got.Key) == "key" || string(got.Value) != "value" {
		t.Errorf("with a wrong key, the server returned %v", got)
	}
}

// TestEmptyTable checks replies to a client that does not allow a dynamic HPACK table.
func TestEmptyTable(t *testing.T) {
	c := dial(t, start(t, 1, options("error=unavailable every 2"), nil)[0],
		h2.Setting{ID: h2.SettingHeaderTableSize, Value: 0})
	c.decoder.SetAllowedMaxDynamicTableSize(0)
	a, b, d := c.get("a"), c.get("a"), c.get("a")
	got := c.sync()
	got[a].ok(t)
	got[d].ok(t)
	if got[b].grpc != "14" {
		t.Errorf("the error is %+v", got[b])
	}
}

// TestSplitRequest sends a request in many parts: a header block in three frames, with padding
// and priority, and a message in pieces, with other requests between them.
func TestSplitRequest(t *testing.T) {
	c := dial(t, start(t, 1, store.NullOptions{Memory: true}, nil)[0])
	c.put("key", "value")
	head, id := block(pathRange), c.next
	c.next += 2
	c.out = h2.AppendFrameHeader(c.out, 1+5+10+3, h2.FrameHeaders, h2.FlagPadded|h2.FlagPriority, id)
	c.out = append(c.out, 3, 0, 0, 0, 0, 16)
	c.out = append(c.out, head[:10]...)
	c.out = append(c.out, 0, 0, 0)
	c.out = h2.AppendFrameHeader(c.out, 20, h2.FrameContinuation, 0, id)
	c.out = append(c.out, head[10:30]...)
	c.out = h2.AppendFrameHeader(c.out, len(head)-30, h2.FrameContinuation, h2.FlagEndHeaders, id)
	c.out = append(c.out, head[30:]...)
	body := []byte{0, 0, 0, 0, 5, 10, 3, 'k', 'e', 'y'}
	for i, b := range body {
		c.out = h2.AppendFrameHeader(c.out, 1+1+2, h2.FrameData, h2.FlagPadded, id)
		c.out = append(c.out, 2, b, 0, 0)
		if i == 4 {
			c.get("another")
		}
	}
	c.out = h2.AppendFrameHeader(c.out, 0, h2.FrameData, h2.FlagEndStream, id)
	r := c.sync()[id]
	r.ok(t)
	if got := r.decode(t); string(got.Kvs[0].Value) != "value" {
		t.Errorf("the get returned %v", got)
	}
}

// read1 returns the decoded reply on one stream.
func (c *rawClient) read1(id uint32) *pb.RangeResponse {
	c.t.Helper()
	r := c.sync()[id]
	r.ok(c.t)
	return r.decode(c.t)
}
