package patroni

import (
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/app"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/consul"
	"github.com/quorumbench/quorumbench/internal/store/etcdgateway"
	"github.com/quorumbench/quorumbench/internal/store/zookeeper"
)

const aSession = "c099dfbf-37d7-fbb8-ace6-0fc4dbceb01c"

// For each way, a load with failovers makes all its calls, the store's codec encodes them, and the
// responses and watch events are handled. None of this allocates memory.
func TestCallsDoNotAllocate(t *testing.T) {
	for way, st := range []store.Store{Leases: etcdgateway.New(), Locks: consul.New(), Nodes: zookeeper.New()} {
		t.Run(st.Name(), func(t *testing.T) {
			c := Config{Way: Way(way), Clusters: 10, Members: 3, WrittenClusters: 8, LeaderFailures: 4, LoopWait: 5 * time.Second, TTL: 20 * time.Second, RetryTimeout: 2 * time.Second}
			s := NewWithConfig(c, app.Setup{Length: time.Minute, Prefix: "/service/"})
			for all := range c.MemberCount() {
				if wrong := s.way.handleRenewal(all, &store.Event{Count: 7, Value: []byte(aSession)}); wrong != nil {
					t.Fatalf("%s", wrong)
				}
			}
			src, codec, names := &source{Script: s}, st.Codecs(store.Access{})(store.ConnectionInfo{Endpoint: "127.0.0.1:1"}), &eventIdentifier{s}
			var op store.Op
			var ev store.Event
			var key []byte
			kinds, wrong := map[Call]int{}, 0
			for _, e := range s.schedule.Entries {
				kinds[e.Call]++
			}
			all := func() {
				for i := range c.Clusters {
					s.leaderKeyDeleted[i], s.leaders[i] = false, 0
				}
				for n, e := range s.schedule.Entries {
					if e.CallerFixed && e.AfterFailover {
						key = AppendKey(key[:0], s.prefix, int(e.Cluster), Leader)
						ev = store.Event{Key: key}
						names.WriteNumber(&ev)
					}
					if src.ConnectionIndex(uint64(n)) >= c.MemberCount() || !src.Ready(uint64(n)) {
						wrong++
					}
					ref := src.Fill(measure.Measured, uint64(n), 0, &op)
					if c.Way == Locks { // its codec can write only one request at a time
						codec.Submit(&op)
						codec.Wrote(len(codec.Out()))
					}
					ev = store.Event{Outcome: kv.OK, Revision: int64(n) + 1, Count: 1}
					if src.Check(op.Kind, ref, &ev) != kv.OK {
						wrong++
					}
					src.OperationEnded(uint64(n), kv.OK, 1_000_000, 900_000)
				}
			}
			all()
			if got := testing.AllocsPerRun(2, all); got != 0 {
				t.Errorf("%v allocations in %d calls", got, len(s.schedule.Entries))
			}
			if wrong > 0 || kinds[Race] == 0 || kinds[PutHistory] == 0 {
				t.Errorf("%d wrong calls or responses; the calls by kind are %v", wrong, kinds)
			}
		})
	}
}

// A session's name is preserved when it is saved as two numbers and restored.
func TestSessionNamesRoundTrip(t *testing.T) {
	c := Config{Way: Locks, Clusters: 1, Members: 2, LoopWait: 10 * time.Second, TTL: 30 * time.Second}
	setup := app.Setup{Length: time.Second, Prefix: "/service/"}
	s := NewWithConfig(c, setup)
	for _, name := range []string{"", "c099dfbf", aSession[:35] + "g", "c099dfbf-37d7-fbb8-ace6_0fc4dbceb01c"} {
		if s.way.handleRenewal(0, &store.Event{Value: []byte(name)}) == nil {
			t.Errorf("%q is accepted as a UUID", name)
		}
	}
	if s.way.handleRenewal(1, &store.Event{Value: []byte(aSession)}) != nil {
		t.Errorf("%s is refused", aSession)
	}
	setup.PreloadResults = s.PreloadResults()
	w := NewWithConfig(c, setup).way.(*locks)
	if w.hasSession[0] || !w.hasSession[1] || string(w.sessions[1][:]) != aSession {
		t.Errorf("the script saved %v, and restored %v, %s", setup.PreloadResults, w.hasSession, w.sessions[1])
	}
	w.dropLease(1)
	if w.hasSession[1] {
		t.Error("dropLease did not remove the session")
	}
}
