package catalog

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/app"
	data "github.com/quorumbench/quorumbench/internal/load/app/catalog"
	"github.com/quorumbench/quorumbench/internal/load/engine"
	"github.com/quorumbench/quorumbench/internal/load/keys"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testing/storetest"
)

// recorded is a load whose history is read.
type recorded struct {
	*Script
	source    *source
	chronicle *chronicle
	to        *storetest.Recording
}

func record(t *testing.T) *recorded {
	d := data.Application{}.Definition()
	set := d.Defaults()
	set["services"], set["instances-per-service"], set["discovery-clients"], set["services-per-client"] = 4, 30, 5, 2
	set["instance-churn"], set["health-changes"] = 4, 4
	r := &recorded{Script: New(app.Setup{Settings: set, Length: 15 * time.Second, Prefix: "qb-", Connections: 3, Seed: 4})}
	r.to = storetest.NewRecording(t)
	r.source, r.chronicle = r.Source().(*source), r.Chronicle(&r.to.Recorder).(*chronicle)
	return r
}

// What there is when the load begins was written before, whole, and is recorded once; no
// reading behind the load records it.
func TestWhatIsThereBeforeIsRecorded(t *testing.T) {
	r := record(t)
	r.chronicle.Read(0, &store.Event{}, &history.Op{Final: true})
	if got := r.to.Since(); len(got) != 1 {
		t.Errorf("a reading begins with %+v", got)
	}
	r.chronicle.begin()
	r.chronicle.begin()
	seen := map[uint64]bool{}
	for i, o := range r.to.Since() {
		if seen[o.Key] || o.Kind != kv.Put || o.Done != 0 || o.Joined != (i > 0) || !r.schedule.Before(uint32(o.Key/keysEach)) || !o.Acknowledged() {
			t.Errorf("the %d. is %+v", i, o)
		}
		seen[o.Key] = true
	}
	if len(seen) != keysEach*r.schedule.There() {
		t.Errorf("%d keys are there", len(seen))
	}
}

// What each call was is in the history as operations that the checker knows.
func TestCallsAreRecordedAsOperations(t *testing.T) {
	r := record(t)
	r.chronicle.begin()
	r.to.Since()
	there := store.Event{Count: 1}
	for name, c := range map[string]struct {
		call data.Call
		ev   store.Event
		want history.Op // its Key and Written follow
	}{
		"registered":         {data.Register, store.Event{Count: -1}, history.Op{Kind: kv.Put}},
		"perhaps registered": {data.Register, store.Event{Outcome: kv.TimedOut}, history.Op{Kind: kv.Put, Outcome: kv.TimedOut}},
		"deregistered":       {data.Deregister, store.Event{Count: -1}, history.Op{Kind: kv.Delete}},
		"critical":           {data.Fail, store.Event{Count: -1}, history.Op{Kind: kv.Delete}},
		"perhaps critical":   {data.Fail, store.Event{Outcome: kv.StoreTimeout}, history.Op{Kind: kv.Delete, Outcome: kv.StoreTimeout}},
		"passing":            {data.Pass, store.Event{Count: -1}, history.Op{Kind: kv.Put}},
		"compared":           {data.Compare, there, history.Op{Kind: kv.Exists, Consistency: kv.Local, Read: history.Unseen}},
		"not there":          {data.Compare, store.Event{}, history.Op{Kind: kv.Exists, Consistency: kv.Local, Outcome: kv.Miss}},
		"not answered":       {data.Compare, store.Event{Outcome: kv.NoLeader}, history.Op{Kind: kv.Exists, Consistency: kv.Local, Outcome: kv.NoLeader}},
	} {
		n := uint64(0)
		for r.schedule.Entries[n].Call != c.call {
			n++
		}
		object := r.schedule.Entries[n].Object
		var op store.Op
		ref := r.source.Fill(measure.Measured, n, 0, &op)
		if c.want.Kind == kv.Put {
			c.want.Written = keys.Identity(n)
		}
		c.want.Key = healthyNumber(object)
		want := []history.Op{c.want}
		switch c.call {
		case data.Register, data.Deregister:
			other := c.want
			other.Key, other.Joined = registeredNumber(object), true
			want = append(want, other)
		case data.Compare:
			want[0].Key = registeredNumber(object)
		}
		o := history.Op{Kind: op.Kind, Consistency: op.Consistency, Outcome: c.ev.Outcome}
		r.chronicle.Ended(&engine.Completion{Phase: measure.Measured, N: n, Ref: ref, Expected: op.Revision, Event: &c.ev, Op: &o})
		if d := cmp.Diff(want, r.to.Since()); d != "" {
			t.Errorf("%s (-want +got): %s", name, d)
		}
	}
}

// What clients are told is of the healthy instances by their numbers; what others left of
// a service says nothing. Behind the load both keys of an instance are read from the
// catalog.
func TestWhatClientsAreToldIsRecorded(t *testing.T) {
	r := record(t)
	r.chronicle.begin()
	r.to.Since()
	w := r.Watching().Sink.Watchers[4]
	object := uint32(w.First) + 2
	id, own := r.schedule.AppendID(nil, "qb-", object), healthyNumber(object)
	for name, c := range map[string]struct {
		ev   store.Event
		want history.Op
	}{
		"created":         {store.Event{What: store.Done, Revision: 20}, history.Op{Key: 2 * w.First, Written: 2 * w.Keys, Invoked: 5, Done: 9, Watch: history.Began, At: 20}},
		"came":            {store.Event{What: store.Notify, Key: id, Version: 1, Revision: 30}, history.Op{Key: own, Read: history.Unseen, Invoked: 9, Done: 9, Watch: history.Happened, Mod: 30}},
		"gone":            {store.Event{What: store.Notify, Key: id, Revision: 30}, history.Op{Key: own, Invoked: 9, Done: 9, Watch: history.Happened, Mod: 30}},
		"of no instance":  {store.Event{What: store.Notify, Key: []byte("web"), Revision: 30}, history.Op{Key: 2 * w.First, Outcome: kv.WrongAnswer, Invoked: 9, Done: 9, Watch: history.Happened, Mod: 30}},
		"left by another": {store.Event{What: store.Notify, Key: append(r.schedule.AppendService(nil, "qb-", object/r.schedule.Room), "-i999999"...), Revision: 30}, history.Op{}},
	} {
		r.chronicle.Told(4, &c.ev, 5, 0, 9)
		var want []history.Op
		if c.want.Done > 0 {
			c.want.Kind, c.want.Session = kv.Watch, 4
			want = []history.Op{c.want}
		}
		if d := cmp.Diff(want, r.to.Since()); d != "" {
			t.Errorf("%s (-want +got): %s", name, d)
		}
	}
	for _, number := range []uint64{registeredNumber(object), own} {
		var op store.Op
		if r.FillRead(number, kv.Local, &op); op.Kind != kv.Range || op.Consistency != kv.Local || string(op.Key) != string(id) || op.Service.Passing != (number == own) {
			t.Errorf("key %d is read by %+v", number, op)
		}
	}
	r.chronicle.Read(own, &store.Event{Count: 1}, &history.Op{Kind: kv.Range, Consistency: kv.Local, Final: true})
	if d := cmp.Diff([]history.Op{{Kind: kv.Exists, Consistency: kv.Local, Key: own, Done: 9, Final: true, Read: history.Unseen}}, r.to.Since()); d != "" {
		t.Errorf("it is recorded so (-want +got): %s", d)
	}
}

// What is recorded allocates nothing.
func TestRecordingDoesNotAllocate(t *testing.T) {
	r := record(t)
	block := history.NewBlock()
	r.to.Hand, r.to.Take = (*history.Block).Reset, func() *history.Block { return block }
	var op store.Op
	var ev store.Event
	var o history.Op
	all := func() {
		for n := range r.schedule.Entries {
			ref := r.source.Fill(measure.Measured, uint64(n), 0, &op)
			ev = store.Event{Count: 1}
			o = history.Op{Kind: op.Kind, Consistency: op.Consistency}
			r.chronicle.Ended(&engine.Completion{Phase: measure.Measured, N: uint64(n), Ref: ref, Event: &ev, Op: &o})
			ev = store.Event{What: store.Notify, Key: op.Key, Version: 1, Revision: 50}
			r.chronicle.Told(uint32(n)%4, &ev, 0, 0, 5)
			r.FillRead(uint64(n), kv.Local, &op)
		}
	}
	if got := testing.AllocsPerRun(2, all); got != 0 {
		t.Errorf("%v allocations in %d calls", got, len(r.schedule.Entries))
	}
}
