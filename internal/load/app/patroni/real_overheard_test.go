package patroni_test

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	data "github.com/quorumbench/quorumbench/internal/load/app/patroni"
	"github.com/quorumbench/quorumbench/internal/run/passive"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
	"github.com/quorumbench/quorumbench/internal/store/consul"
	"github.com/quorumbench/quorumbench/internal/store/zookeeper"
	"github.com/quorumbench/quorumbench/internal/testing/servers"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// overheard stores the calls that pass through a relay, in the form in which the passive decoder
// decodes them.
type overheard struct {
	*calls
	who   string // name of the sender; if empty, the connection identifies the sender
	t     testing.TB
	began time.Time
}

// listen runs a relay to a member until the test ends. It returns the relay's HOST:PORT.
func (o *overheard) listen(t *testing.T, to string, tapped store.TapProvider) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o.t, o.began = t, time.Now()
	r := passive.NewRelay(passive.RelayConfig{
		MemberAddress: to, Tap: passive.TapConfig{Provider: tapped, Redactor: &call.Redactor{}, Sink: o},
		// Notify ignores the reports about the connections of clients that die.
		Now: func() int64 { return int64(time.Since(o.began)) }, Notify: func(string) {},
	})
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan struct{})
	go func() {
		_ = r.Serve(ctx, l)
		close(served)
	}()
	t.Cleanup(func() {
		cancel()
		<-served
	})
	return l.Addr().String()
}

// Gap implements relay.Sink.
func (o *overheard) Gap(g call.Gap) { o.t.Errorf("the passive decoder has a gap: %+v", g) }

// Call implements relay.Sink.
func (o *overheard) Call(c *call.Call) {
	if c.Pushed || len(c.Parts) == 0 {
		return
	}
	p, guard := c.Parts[0], ""
	if c.Guarded {
		p, guard = c.Parts[len(c.Parts)-1], fmt.Sprintf(" if %d of key is %d", c.Parts[0].Target, c.Parts[0].Number)
	}
	what := strings.Split(strings.TrimSuffix(string(p.Key), "/"), "/")
	name := what[len(what)-1]
	switch {
	case len(what) > 3:
		name = "member"
	case p.Scope == call.Prefix && len(what) < 3:
		name = "cluster"
	}
	h := observed{at: o.began.Add(time.Duration(c.At)), who: cmp.Or(o.who, fmt.Sprint(c.Conn)), form: fmt.Sprintf("%s, scope %d, flags %b", c.Method, p.Scope, p.Flags) + guard}
	h.sets = p.Action == call.Read && c.Parts[len(c.Parts)-1].Action == call.Watch
	switch p.Action {
	case call.KeepAlive:
		h.call = "renew"
	case call.Write:
		h.call, h.form = "put "+name, h.form+formOf(p.Value.Text)
	default:
		h.call = fmt.Sprint(p.Action, " ", name)
	}
	o.add(h)
}

// TestCallsPerLoopOnConsulAreThoseOfARealPatroni is like TestCallsPerLoopAreThoseOfARealPatroni,
// but uses Consul.
func TestCallsPerLoopOnConsulAreThoseOfARealPatroni(t *testing.T) {
	settle.LongOnly(t, "the comparison with one store")
	if testing.Short() {
		t.Skip("-short: no real Consul is started")
	}
	const loopWait = 3 * time.Second
	c := data.Config{Way: data.Locks, Clusters: 1, Members: 2, WrittenClusters: 1, LoopWait: loopWait, TTL: 20 * time.Second, RetryTimeout: 3 * time.Second, Seed: 3}
	theirs, ours := overheard{calls: new(calls)}, overheard{calls: new(calls)}
	st, endpoint := consul.New(), startConsul(t)
	compareLoops(t, &c, st, servers.PatroniConfig{Consul: []string{theirs.listen(t, endpoint, st)}}, ours.listen(t, endpoint, st), theirs.calls, ours.calls)
}

// TestCallsPerLoopOnZooKeeperAreThoseOfARealPatroni is like TestCallsPerLoopAreThoseOfARealPatroni,
// but uses ZooKeeper. A loop of 6 s always contains three pings.
func TestCallsPerLoopOnZooKeeperAreThoseOfARealPatroni(t *testing.T) {
	settle.LongOnly(t, "the comparison with one store")
	if testing.Short() {
		t.Skip("-short: no real ZooKeeper is started")
	}
	const loopWait = 6 * time.Second
	c := data.Config{Way: data.Nodes, Clusters: 1, Members: 2, WrittenClusters: 1, LoopWait: loopWait, TTL: 20 * time.Second, RetryTimeout: 3 * time.Second, Seed: 3}
	theirs, ours := overheard{calls: new(calls)}, overheard{calls: new(calls)}
	st, endpoint := zookeeper.New(), startZooKeeper(t)
	compareLoops(t, &c, st, servers.PatroniConfig{ZooKeeper: []string{theirs.listen(t, endpoint, st)}}, ours.listen(t, endpoint, st), theirs.calls, ours.calls)
}
