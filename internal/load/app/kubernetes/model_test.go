package kubernetes

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/app"
	"github.com/quorumbench/quorumbench/internal/load/engine"
	"github.com/quorumbench/quorumbench/internal/load/keys"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testing/storetest"
)

// recorded is a load together with the history that it records.
type recorded struct {
	*Script
	source    engine.Source
	chronicle app.KeyRecorder
	to        *storetest.Recording
	t         *testing.T
}

func record(t *testing.T) *recorded {
	r := &recorded{t: t}
	r.Script = NewWithConfig(Config{Nodes: 2, PodsPerNode: 30, Churn: 2, Seed: 7, ListInterval: 2 * time.Second}, app.Setup{Length: 20 * time.Second, Prefix: "/registry/"})
	r.to = storetest.NewRecording(t)
	c := r.NewKeyRecorder(&r.to.Recorder)
	c.(*chronicle).entryExpiryRecorded = true // for the value false, see TestEarlierLeaseMayExpire
	r.source, r.chronicle = r.Source(), c
	return r
}

// first returns the number of the first call of a given kind.
func (r *recorded) first(call Call) uint64 {
	for n, e := range r.schedule.Entries {
		if e.Call == call {
			return uint64(n)
		}
	}
	r.t.Fatalf("the load has no %s", call)
	return 0
}

// ended makes call n end with the given event. It returns the operations that were recorded for the
// call. If the call is a listing, the response contains the keys in `found`.
func (r *recorded) ended(n uint64, known int64, ev store.Event, found ...uint64) []history.Op {
	e := r.schedule.Entries[n]
	if writes(e.Call) {
		r.versions[e.Object] = known
	}
	var op store.Op
	ref := r.source.Fill(measure.Measured, n, 0, &op)
	if (op.Range != nil) != (op.Kind == kv.Range && e.Call != Count && (e.Call != ListPods || e.Object == 0)) {
		r.t.Errorf("the keys of %s are passed on: %v", e.Call, op.Range != nil)
	}
	if op.Range != nil {
		op.Range.Keys.Begin(ev.Tag)
		for _, number := range found {
			key := r.AppendKey(nil, number)
			of, _ := r.keys.Resource(uint32(number))
			op.Range.Keys.Add(ev.Tag, key, r.values[of].Append(nil, key, 0, 5), 30)
		}
	}
	o := history.Op{Kind: op.Kind, Consistency: op.Consistency, Outcome: ev.Outcome}
	r.chronicle.OperationEnded(&engine.Completion{Phase: measure.Measured, N: n, Ref: ref, Expected: op.Revision, Event: &ev, Op: &o})
	return r.to.Since()
}

// Each kind of call is recorded as operations that the verifier supports.
func TestRecordsCalls(t *testing.T) {
	r := record(t)
	value := func(number uint64) []byte {
		key := r.AppendKey(nil, number)
		of, _ := r.keys.Resource(uint32(number))
		return r.values[of].Append(nil, key, 0, 5)
	}
	wrote := keys.Identity(5)
	for name, c := range map[string]struct {
		call  Call
		known int64
		ev    store.Event
		want  history.Op // Key and Written are set below
		more  int
	}{
		"created":                  {CreatePod, 0, store.Event{StoreRevision: 50, Revision: 50}, history.Op{Kind: kv.CAS, Revision: 50}, 0},
		"existing":                 {CreatePod, 0, store.Event{StoreRevision: 50, Outcome: kv.Conflict}, history.Op{Kind: kv.CAS, Outcome: kv.Conflict, Revision: 50, Read: history.UnknownValue}, 0},
		"updated":                  {UpdatePod, 40, store.Event{StoreRevision: 50, Revision: 50}, history.Op{Kind: kv.CAS, Revision: 50, Expected: 40}, 0},
		"update refused":           {UpdatePod, 40, store.Event{StoreRevision: 50, Outcome: kv.Conflict, ModRevision: 45}, history.Op{Kind: kv.CAS, Outcome: kv.Conflict, Revision: 50, Expected: 40, ModRevision: 45, Read: wrote}, 0},
		"nothing to update":        {UpdatePod, 40, store.Event{StoreRevision: 50, Outcome: kv.Conflict}, history.Op{Kind: kv.CAS, Outcome: kv.Conflict, Revision: 50, Expected: 40}, 0},
		"deleted":                  {DeletePod, 40, store.Event{StoreRevision: 50, Revision: 50}, history.Op{Kind: kv.Delete, Revision: 50, Expected: 40}, 0},
		"deletion refused":         {DeletePod, 40, store.Event{StoreRevision: 50, Outcome: kv.Conflict, ModRevision: 45}, history.Op{Kind: kv.Delete, Outcome: kv.Conflict, Revision: 50, Expected: 40, ModRevision: 45, Read: wrote}, 0},
		"nothing to delete":        {DeletePod, 0, store.Event{StoreRevision: 50, Revision: 50}, history.Op{Kind: kv.Get, Consistency: kv.Linearizable, Revision: 50}, 0},
		"possibly deleted":         {DeletePod, 40, store.Event{Outcome: kv.TimedOut}, history.Op{Kind: kv.Delete, Outcome: kv.TimedOut, Expected: 40}, 0},
		"read":                     {GetPod, 0, store.Event{StoreRevision: 50, Revision: 40, Count: 1}, history.Op{Kind: kv.Get, Consistency: kv.Linearizable, Revision: 50, ModRevision: 40, Read: wrote}, 0},
		"missing":                  {GetPod, 0, store.Event{StoreRevision: 50, Outcome: kv.Miss}, history.Op{Kind: kv.Get, Consistency: kv.Linearizable, Outcome: kv.Miss, Revision: 50}, 0},
		"an entry that may expire": {UpdateMasterLease, 40, store.Event{StoreRevision: 50, Revision: 50}, history.Op{Kind: kv.CAS, Revision: 50, Expected: 40}, 1},
		"healthy":                  {Health, 0, store.Event{StoreRevision: 50}, history.Op{Kind: kv.Get, Consistency: kv.Linearizable, Revision: 50}, 0},
		"a count":                  {Count, 0, store.Event{StoreRevision: 50, Count: 7}, history.Op{Kind: kv.Range, Consistency: kv.Linearizable, Revision: 50, Read: history.UnknownValue}, 0},
	} {
		n := r.first(c.call)
		if c.want.Key = uint64(r.schedule.Entries[n].Object); c.call == Health {
			c.want.Key = r.healthNumber()
		}
		if c.call == Count {
			c.want.Key = 0
		} else if c.ev.Revision > 0 || c.ev.ModRevision > 0 {
			c.ev.Value = value(c.want.Key)
		}
		if c.want.Kind == kv.CAS {
			c.want.Written = keys.Identity(n)
		}
		got := r.ended(n, c.known, c.ev)
		if len(got) != 1+c.more {
			t.Errorf("%s: %d operations are recorded", name, len(got))
			continue
		}
		if d := cmp.Diff(c.want, got[0]); d != "" {
			t.Errorf("%s (-want +got): %s", name, d)
		}
		if c.more > 0 && (got[1].Kind != kv.Delete || !got[1].Indefinite() || got[1].Key != c.want.Key) {
			t.Errorf("%s: the next operation is %+v", name, got[1])
		}
	}
	for _, call := range []Call{GrantMasterLease, GrantLease} {
		if got := r.ended(r.first(call), 0, store.Event{Count: 7}); len(got) > 0 {
			t.Errorf("%s is recorded as %+v", call, got)
		}
	}
}

// A listing is recorded as one part for each key that it covers, including keys that do not exist.
func TestRecordsListsKeyByKey(t *testing.T) {
	r := record(t)
	pods, events := uint64(r.keys.First[Pods]), uint64(r.keys.First[Events])
	for name, c := range map[string]struct {
		call   Call
		found  []uint64
		behind uint64 // end of the covered range
	}{
		"all pods":            {ListPods, []uint64{pods + 1, pods + 4}, events},
		"all keys":            {ListKeys, []uint64{pods, pods + 4}, events},
		"the first":           {ListOne, []uint64{pods + 3}, pods + 4},
		"an empty list":       {ListOne, nil, events},
		"entries of servers":  {ListMasterLeases, []uint64{uint64(r.keys.First[MasterLeases])}, pods},
		"no entry of servers": {ListMasterLeases, nil, pods},
	} {
		first := uint64(r.keys.First[c.call.Resource()])
		got := r.ended(r.first(c.call), 0, store.Event{StoreRevision: 50, Tag: 3, Count: int64(len(c.found))}, c.found...)
		if uint64(len(got)) != c.behind-first {
			t.Errorf("%s: %d parts are recorded, want one for each of %d keys", name, len(got), c.behind-first)
			continue
		}
		there := map[uint64]bool{}
		for _, number := range c.found {
			there[number] = true
		}
		for i, o := range got {
			want := history.Op{Kind: kv.Range, Consistency: kv.Linearizable, Revision: 50, Key: first + uint64(i), ContinuesPrevious: i > 0}
			if there[want.Key] {
				want.ModRevision, want.Read = 30, keys.Identity(5)
			}
			if d := cmp.Diff(want, o); d != "" {
				t.Errorf("%s (-want +got): %s", name, d)
			}
		}
	}
	// If the codec does not pass the keys to lists, no key of the listing is recorded.
	n := r.first(ListKeys)
	o := history.Op{Kind: kv.Range, Consistency: kv.Linearizable}
	r.chronicle.OperationEnded(&engine.Completion{Phase: measure.Measured, N: n, Ref: n, Event: &store.Event{StoreRevision: 50, Tag: 3}, Op: &o})
	if ops := r.to.Since(); len(ops) != 1 || ops[0].Read != history.UnknownValue {
		t.Errorf("a listing without keys is recorded as %+v", ops)
	}
}

// A value that no call wrote is recorded as keys.NoIdentity, regardless of its revision.
func TestForeignValuesBelongToNoWrite(t *testing.T) {
	r := record(t)
	n := r.first(UpdatePod)
	object := r.schedule.Entries[n].Object
	of, _ := r.keys.Resource(object)
	key := r.AppendKey(nil, uint64(object))
	right := r.values[of].Append(nil, key, 0, 5)
	damaged, other := append([]byte(nil), right...), r.AppendKey(nil, uint64(object)+1)
	damaged[len(damaged)-1] ^= 1
	for name, c := range map[string]struct {
		value []byte
		want  uint64
	}{
		"right":            {right, keys.Identity(5)},
		"none":             {nil, history.UnknownValue}, // the read did not request the value
		"damaged":          {damaged, keys.NoIdentity},
		"another object's": {r.values[of].Append(nil, other, 0, 5), keys.NoIdentity},
		"shorter":          {right[:len(right)-1], keys.NoIdentity},
		"much shorter":     {right[:3], keys.NoIdentity},
		"no load's":        {[]byte("k8s\x00"), keys.NoIdentity},
	} {
		if got := r.ended(n, 40, store.Event{StoreRevision: 50, Outcome: kv.Conflict, ModRevision: 45, Value: c.value}); len(got) != 1 || got[0].Read != c.want {
			t.Errorf("%s: recorded as %+v, want read %d", name, got, c.want)
		}
		r.chronicle.Read(uint64(object), &store.Event{StoreRevision: 50, Revision: 45, Value: c.value}, &history.Op{Kind: kv.Get, Final: true})
		if ops := r.to.Since(); len(ops) != 1 || ops[0].Read != c.want {
			t.Errorf("%s: the read after the load is recorded as %+v, want read %d", name, ops, c.want)
		}
	}
	for _, n := range []uint64{0, uint64(len(r.schedule.Entries)), app.PreloadMark, app.PreloadMark | 7} {
		if keys.Identity(n) == keys.NoIdentity {
			t.Errorf("call %d writes a value with the identity keys.NoIdentity", n)
		}
	}
}

// The API server's entry from an earlier load may expire with its lease before this load writes the
// entry. This is recorded once.
func TestEarlierLeaseMayExpire(t *testing.T) {
	for _, call := range []Call{GetMasterLease, ListMasterLeases} {
		r := record(t)
		r.chronicle.(*chronicle).entryExpiryRecorded = false
		n := r.first(call)
		entry := uint64(r.keys.First[MasterLeases])
		got := r.ended(n, 0, store.Event{StoreRevision: 50, Outcome: kv.Miss, Tag: 3})
		if len(got) != 2 || got[0].Kind != kv.Delete || !got[0].Indefinite() || got[0].Key != entry || got[1].Key != entry || !got[1].Kind.Reads() {
			t.Errorf("%s is recorded as %+v", call, got)
		}
		if got := r.ended(n, 0, store.Event{StoreRevision: 60, Outcome: kv.Miss, Tag: 3}); len(got) != 1 || !got[0].Kind.Reads() {
			t.Errorf("%s is recorded as %+v the second time", call, got)
		}
	}
}

// The delete of an object that is not known to exist has no effect. So it cannot explain why a key
// is missing.
func TestIgnoresDeletesOfMissingObjects(t *testing.T) {
	r := record(t)
	if got := r.ended(r.first(DeletePod), 0, store.Event{Outcome: kv.TimedOut}); len(got) != 0 {
		t.Errorf("the delete of a missing object is recorded as %+v", got)
	}
}

// The memory for the keys in a listing is reused for the next response, even if that response has a
// different tag.
func TestListsReuseMemory(t *testing.T) {
	r := record(t)
	pods := uint64(r.keys.First[Pods])
	for tag := range uint32(9) {
		if got := r.ended(r.first(ListKeys), 0, store.Event{StoreRevision: 50, Tag: tag, Count: 2}, pods, pods+4); got[4].ModRevision != 30 {
			t.Errorf("the list of tag %d is recorded as %+v", tag, got)
		}
	}
	for tag, a := range r.lists.responses {
		if a.found != nil {
			t.Errorf("tag %d still has memory for %d keys", tag, cap(a.found))
		}
	}
	if cap(r.lists.spare) == 0 {
		t.Error("no memory is kept for the next list")
	}
}
