package replay_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/quorumbench/quorumbench/internal/load/engine"
	"github.com/quorumbench/quorumbench/internal/load/replay"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
	"github.com/quorumbench/quorumbench/internal/store/consul"
	"github.com/quorumbench/quorumbench/internal/store/etcd"
	"github.com/quorumbench/quorumbench/internal/store/zookeeper"
)

// For each call in several recordings, the test creates the operation to send, and handles a
// response. The first pass allocates all memory. The second pass must allocate none.
func TestReplayDoesNotAllocate(t *testing.T) {
	for name, one := range map[string]struct {
		st    store.Replayer
		calls []*call.Call
	}{
		"etcd": {etcd.New(), etcdCalls()}, "consul": {consul.New(), consulCalls()}, "zookeeper": {zookeeper.New(), zookeeperCalls()},
	} {
		t.Run(name, func(t *testing.T) {
			plan := planOf(t, one.st, one.calls)
			if int(plan.Calls()) != len(one.calls) {
				t.Fatalf("%d of %d calls are replayed; omitted: %v", plan.Calls(), len(one.calls), plan.Omitted)
			}
			source := plan.Source()
			reactive := source.(engine.Reactive)
			var op store.Op
			var ev store.Event
			answer := []byte("again/registry/lock-0000000007")
			pass := func() {
				for n := range plan.Calls() {
					reactive.Ready(n)
					ref := source.Fill(measure.Measured, n, 0, &op)
					op.Tag = uint32(n)
					ev = store.Event{Tag: op.Tag, Revision: int64(n) + 5, StoreRevision: int64(n) + 9, Count: 1, Key: answer, Value: answer[:20]}
					if op.Range != nil { // as for a response to a list
						op.Range.Keys.Begin(op.Tag)
						op.Range.Keys.Add(op.Tag, answer, nil, 3)
					}
					reactive.OperationSent(n, 7, false)
					source.Check(op.Kind, ref, &ev)
				}
			}
			pass()
			if n := testing.AllocsPerRun(20, pass); n != 0 {
				t.Errorf("%d calls allocate %v times", plan.Calls(), n)
			}
		})
	}
}

// A connection's codec writes calls, and the test immediately consumes the bytes.
func TestWritingACallDoesNotAllocate(t *testing.T) {
	for name, one := range map[string]struct {
		st    store.Replayer
		calls []*call.Call
	}{"consul": {consul.New(), consulCalls()}} {
		t.Run(name, func(t *testing.T) {
			plan := planOf(t, one.st, one.calls)
			source := plan.Source()
			codec := one.st.Codecs(store.Access{})(store.ConnectionInfo{Endpoint: "127.0.0.1:1"})
			var op store.Op
			pass := func() {
				for n := range plan.Calls() {
					source.Fill(measure.Measured, n, 0, &op)
					codec.Submit(&op)
					codec.Wrote(len(codec.Out()))
				}
			}
			pass()
			if n := testing.AllocsPerRun(20, pass); n != 0 {
				t.Errorf("%d calls allocate %v times", plan.Calls(), n)
			}
		})
	}
}

func planOf(t *testing.T, st store.Replayer, calls []*call.Call) *replay.Plan {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.qbrec")
	w, err := call.CreateRecording(path, &call.Header{Store: st.Name()})
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range calls {
		c.At, c.Duration, c.Conn = int64(i)*1000, 500, uint32(1+i%3)
		w.Call(c)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	plan, err := replay.Read(path, st, replay.Options{Speed: 1, Prefix: "again/"})
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

func text(i int) []byte { return fmt.Appendf(nil, "registry/k%d", i%20) }

func value(i int) call.Value {
	return call.Value{Size: 100 + i%50, Hash: uint64(i) + 1}
}

func etcdCalls() (all []*call.Call) {
	for i := range 300 {
		rev := int64(100 + i)
		switch i % 5 {
		case 0:
			all = append(all, &call.Call{Method: "KV/Put", Revision: rev, KeyCount: 1, Parts: []call.Part{{Action: call.Write, Key: text(i), Value: value(i)}}})
		case 1:
			all = append(all, &call.Call{Method: "KV/Txn", Guarded: true, GuardsHeld: true, Revision: rev, KeyCount: 1, Parts: []call.Part{
				{Action: call.Compare, Target: call.Modified, Key: text(i - 1), Number: rev - 1},
				{Action: call.Write, Branch: call.Then, Key: text(i - 1), Value: value(i)},
				{Action: call.Read, Branch: call.Else, Key: text(i - 1)}}})
		case 2:
			all = append(all, &call.Call{Method: "KV/Range", Revision: rev, KeyCount: 1, Parts: []call.Part{{Action: call.Read, Key: text(i), Number: rev - 1}}})
		case 3:
			all = append(all, &call.Call{Method: "Lease/LeaseGrant", Lease: int64(i), Parts: []call.Part{{Action: call.Grant, Number: 60}}})
		default:
			all = append(all, &call.Call{Method: "KV/Put", Revision: rev, KeyCount: 1, Parts: []call.Part{{Action: call.Write, Key: text(i), Value: value(i), Lease: int64(i - 1)}}})
		}
	}
	return all
}

func consulCalls() (all []*call.Call) {
	for i := range 300 {
		index := int64(100 + i)
		switch i % 5 {
		case 0:
			all = append(all, &call.Call{Method: "GET kv", KeyCount: 1, Parts: []call.Part{{Action: call.Read, Key: text(i), Version: index}}})
		case 1:
			all = append(all, &call.Call{Method: "PUT kv", Guarded: true, GuardsHeld: true, KeyCount: 1, Parts: []call.Part{
				{Action: call.Compare, Target: call.Modified, Key: text(i - 1), Number: index - 1},
				{Action: call.Write, Branch: call.Then, Key: text(i - 1), Value: value(i)}}})
		case 2:
			all = append(all, &call.Call{Method: "GET kv", KeyCount: 1, Parts: []call.Part{
				{Action: call.Read, Scope: call.Prefix, Key: []byte("registry/")}, {Action: call.ListedKey, Key: text(i), Version: index}}})
		case 3:
			all = append(all, &call.Call{Method: "PUT txn", Guarded: true, GuardsHeld: true, KeyCount: 1, Parts: []call.Part{
				{Action: call.Compare, Target: call.Modified, Key: text(i - 1), Number: index - 1},
				{Action: call.Write, Branch: call.Then, Key: text(i - 1), Value: value(i), Version: index}}})
		default:
			all = append(all, &call.Call{Method: "PUT session/create", Lease: int64(i), Parts: []call.Part{{Action: call.Grant, Number: 60}}})
		}
	}
	return all
}

func zookeeperCalls() (all []*call.Call) {
	for i := range 300 {
		zxid := int64(100 + i)
		switch i % 4 {
		case 0:
			all = append(all, &call.Call{Method: "getData", Revision: zxid, KeyCount: 1, Parts: []call.Part{{Action: call.Read, Flags: call.Local, Key: text(i), Version: int64(i + 1)}}})
		case 1:
			all = append(all, &call.Call{Method: "setData", Guarded: true, GuardsHeld: true, Revision: zxid, KeyCount: 1, Parts: []call.Part{
				{Action: call.Compare, Target: call.Version, Key: text(i - 1), Number: int64(i)},
				{Action: call.Write, Branch: call.Then, Flags: call.MustExist, Key: text(i - 1), Value: value(i), Version: int64(i + 1)}}})
		case 2:
			all = append(all, &call.Call{Method: "create", Revision: zxid, KeyCount: 1, Parts: []call.Part{
				{Action: call.Write, Flags: call.Sequential | call.Ephemeral, Key: []byte("registry/lock-"), End: fmt.Appendf(nil, "registry/lock-%010d", i), Value: value(i)}}})
		default:
			all = append(all, &call.Call{Method: "delete", Revision: zxid, KeyCount: 1, Parts: []call.Part{{Action: call.Remove, Key: fmt.Appendf(nil, "registry/lock-%010d", i-1)}}})
		}
	}
	return all
}
