package kubernetes

import (
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/app"
	"github.com/quorumbench/quorumbench/internal/load/engine"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// No memory is allocated to create a call, to process its response, to find the write that caused a
// watch event, or to record any of these for verification.
func TestCallsDoNotAllocate(t *testing.T) {
	settle.SkipUnderRace(t)
	c := Config{Nodes: 50, PodsPerNode: 30, Churn: 50, Seed: 7, CompactInterval: time.Second, ListInterval: 5 * time.Second}
	s := NewWithConfig(c, app.Setup{Length: 12 * time.Second, Prefix: "/registry/"})
	src := s.Source().(*source)
	_, of := WatchedPaths()
	watched := map[Resource]uint32{}
	for i, r := range of {
		watched[r] = uint32(i)
	}
	block := history.NewBlock()
	chronicle := s.NewKeyRecorder(&history.Recorder{Take: func() *history.Block { return block }, Deliver: (*history.Block).Reset})
	var was history.Op
	var done engine.Completion
	eventNames := &eventIdentifier{script: s, resources: of, compaction: ^uint32(0)}
	var op store.Op
	var ev store.Event
	var key, value []byte
	revision, wrong, events := int64(0), 0, 0
	var seen [NumCalls]int
	all := func() {
		for n, e := range s.schedule.Entries {
			seen[e.Call]++
			if !src.Ready(uint64(n)) {
				wrong++
			}
			ref := src.Fill(measure.Measured, uint64(n), 0, &op)
			revision++
			ev = store.Event{Outcome: kv.OK, Revision: revision, StoreRevision: revision, Count: 1}
			if e.Call == GetPod || e.Call == GetMasterLease {
				key = s.keys.Append(key[:0], e.Object)
				value = s.values[e.Call.Resource()].Append(value[:0], key, 0, uint64(n))
				ev.Key, ev.Value = key, value
			}
			if src.Check(op.Kind, ref, &ev) != kv.OK {
				wrong++
			}
			src.OperationEnded(uint64(n), kv.OK, 1_000_000, 900_000)
			was = history.Op{Kind: op.Kind, Consistency: op.Consistency}
			done = engine.Completion{Phase: measure.Measured, N: uint64(n), Ref: ref, Expected: op.Revision, Event: &ev, Op: &was}
			chronicle.OperationEnded(&done)
			watcher, ok := watched[e.Call.Resource()]
			if !ok || !writes(e.Call) {
				continue
			}
			events++
			ev = store.Event{Watcher: watcher, Key: src.key, Value: src.value, Version: 1}
			if e.Call == DeletePod {
				ev.Value = nil
			}
			ev.Type, ev.Revision = store.WatchChange, revision
			chronicle.WatchEvent(watcher, &ev, 0, 0, revision)
			number, found := eventNames.Number(watcher, ev.Key)
			by, ours := eventNames.WriteNumber(&ev)
			if !found || !ours || number != uint64(e.Object) || by != uint64(n) {
				wrong++
			}
		}
	}
	if got := testing.AllocsPerRun(2, all); got != 0 {
		t.Errorf("%v allocations in %d calls", got, len(s.schedule.Entries))
	}
	if wrong > 0 || events == 0 {
		t.Errorf("%d wrong results of %d calls and %d events", wrong, len(s.schedule.Entries), events)
	}
	for call, n := range seen {
		if n == 0 && Call(call) != Status {
			t.Errorf("the load has no %s", Call(call))
		}
	}
}

// A pod is read only after its creation has a response. While a pod is being read, it is not
// written or removed, because a client that writes or removes a pod must know that it exists.
func TestAnObjectHasOneCallAtATime(t *testing.T) {
	c := Config{Nodes: 5, PodsPerNode: 30, Churn: 10, Seed: 7}
	s := NewWithConfig(c, app.Setup{Length: 10 * time.Second, Prefix: "/registry/"})
	src := s.Source().(*source)
	life := map[uint32][]uint64{} // by pod: its calls in order
	var op store.Op
	for n, e := range s.schedule.Entries {
		if e.Call.Resource() == Pods && hasObject(e.Call) {
			life[e.Object] = append(life[e.Object], uint64(n))
		}
	}
	seen := map[Call]bool{}
	for _, calls := range life {
		for i, n := range calls {
			if !src.Ready(n) {
				t.Fatalf("%s is not ready, and no call is in flight", s.schedule.Entries[n].Call)
			}
			src.Fill(measure.Measured, n, 0, &op)
			if i+1 == len(calls) {
				continue
			}
			after := s.schedule.Entries[calls[i+1]].Call
			if seen[after] = true; src.Ready(calls[i+1]) {
				t.Errorf("%s does not wait for %s", after, s.schedule.Entries[n].Call)
			}
			if i%2 == 0 {
				src.OperationFailed(n)
			} else {
				src.Check(op.Kind, n, &store.Event{Outcome: kv.OK, Revision: 1})
			}
		}
	}
	if !seen[GetPod] || !seen[UpdatePod] || !seen[DeletePod] {
		t.Errorf("only %v followed another call", seen)
	}
}
