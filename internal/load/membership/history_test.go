package membership

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/app"
	data "github.com/quorumbench/quorumbench/internal/load/app/membership"
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
	set["services"], set["instances-per-service"], set["discovery-clients"], set["services-per-client"], set["instance-churn"] = 7, 3, 5, 2, 10
	r := &recorded{Script: New(app.Setup{Settings: set, Length: 5 * time.Second, Prefix: "services/", Connections: 3, Seed: 4})}
	r.to = storetest.NewRecording(t)
	r.source, r.chronicle = r.Source().(*source), r.Chronicle(&r.to.Recorder).(*chronicle)
	return r
}

// first is the first call of a kind.
func (r *recorded) first(call data.Call) (n uint64, e data.Entry) {
	for n, e := range r.schedule.Entries {
		if e.Call == call {
			return uint64(n), e
		}
	}
	return 0, data.Entry{}
}

// What each call was is in the history as an operation that the checker knows.
func TestCallsAreRecordedAsOperations(t *testing.T) {
	r := record(t)
	read := func() store.Event { return store.Event{At: 50, Revision: 1, Mod: 40, Count: 1} }
	for name, c := range map[string]struct {
		call  data.Call
		ev    store.Event
		value func(key []byte) []byte
		want  history.Op // its Key and Written follow
	}{
		"registered":         {data.Register, store.Event{At: 50, Revision: 1}, nil, history.Op{Kind: kv.CAS, At: 50}},
		"there already":      {data.Register, store.Event{At: 50, Revision: -1, Outcome: kv.Conflict}, nil, history.Op{Kind: kv.CAS, Outcome: kv.Conflict, At: 50, Read: history.Unseen}},
		"perhaps registered": {data.Register, store.Event{Outcome: kv.TimedOut}, nil, history.Op{Kind: kv.CAS, Outcome: kv.TimedOut}},
		"gone":               {data.Deregister, store.Event{At: 50, Count: 1}, nil, history.Op{Kind: kv.Delete, At: 50}},
		"was not there":      {data.Deregister, store.Event{At: 50, Outcome: kv.Miss}, nil, history.Op{Kind: kv.Delete, Outcome: kv.Miss, At: 50}},
		"perhaps gone":       {data.Deregister, store.Event{Outcome: kv.ConnectionLost}, nil, history.Op{Kind: kv.Delete, Outcome: kv.ConnectionLost}},
		"read":               {data.Lookup, read(), func(key []byte) []byte { return r.values.Append(nil, key, 0, 5) }, history.Op{Kind: kv.Get, Consistency: kv.Local, At: 50, Mod: 40, Read: keys.Identity(5)}},
		"of no call":         {data.Lookup, read(), func([]byte) []byte { return []byte("anything") }, history.Op{Kind: kv.Get, Consistency: kv.Local, At: 50, Mod: 40, Read: keys.Nobodys}},
		"not there":          {data.Lookup, store.Event{At: 50, Outcome: kv.Miss}, nil, history.Op{Kind: kv.Get, Consistency: kv.Local, Outcome: kv.Miss, At: 50}},
	} {
		n, e := r.first(c.call)
		var op store.Op
		ref := r.source.Fill(measure.Measured, n, 0, &op)
		if c.value != nil {
			c.ev.Value = c.value(op.Key)
		}
		if c.want.Key = uint64(e.Object); c.call == data.Register {
			c.want.Written = keys.Identity(n)
		}
		o := history.Op{Kind: op.Kind, Consistency: op.Consistency, Outcome: c.ev.Outcome}
		r.chronicle.Ended(&engine.Completion{Phase: measure.Measured, N: n, Ref: ref, Expected: op.Revision, Event: &c.ev, Op: &o})
		if d := cmp.Diff([]history.Op{c.want}, r.to.Since()); d != "" {
			t.Errorf("%s (-want +got): %s", name, d)
		}
	}
	n, e := r.first(data.Register)
	r.chronicle.MayEnd(n, 2, 30, 60)
	want := history.Op{Kind: kv.Delete, Outcome: kv.ConnectionLost, Session: 2, Key: uint64(e.Object), Invoked: 30, Done: 60}
	if got := r.to.Since(); len(got) != 1 || got[0] != want || !got[0].Indefinite() {
		t.Errorf("the end of a session is recorded as %+v", got)
	}
	r.chronicle.SessionEnded(n, &history.Op{Kind: kv.Ephemeral, Session: 2, Invoked: 30, Done: 60, At: 90, Mod: 50})
	want = history.Op{Kind: kv.Ephemeral, Session: 2, Key: uint64(e.Object), Invoked: 30, Done: 60, At: 90, Mod: 50, Written: keys.Identity(n)}
	if got := r.to.Since(); len(got) != 1 || got[0] != want {
		t.Errorf("the end of a session that was answered is recorded as %+v", got)
	}
}

// What clients are told, and what their members have after the load, is of the instances by
// their numbers; what others left below a service says nothing, and what stands elsewhere
// is of another key.
func TestWhatClientsAreToldIsRecorded(t *testing.T) {
	r := record(t)
	w := r.Watching().Sink.Watchers[4]
	own := w.First + 2
	for name, c := range map[string]struct {
		ev   store.Event
		want history.Op
	}{
		"created":        {store.Event{What: store.Done, Revision: 20}, history.Op{Key: w.First, Written: w.Keys, Invoked: 5, Done: 9, Watch: history.Began, At: 20}},
		"came":           {store.Event{What: store.Notify, Key: r.AppendKey(nil, own), Version: -1, Revision: 30, At: 30}, history.Op{Key: own, Read: history.Unseen, Invoked: 9, Done: 9, Watch: history.Happened, At: 30, Mod: 30}},
		"gone":           {store.Event{What: store.Notify, Key: r.AppendKey(nil, own), Revision: 30, At: 30}, history.Op{Key: own, Invoked: 9, Done: 9, Watch: history.Happened, At: 30, Mod: 30}},
		"of another":     {store.Event{What: store.Notify, Key: r.AppendKey(nil, own+w.Keys), Revision: 30, At: 30}, history.Op{Key: own + w.Keys, Invoked: 9, Done: 9, Watch: history.Happened, At: 30, Mod: 30}},
		"of no instance": {store.Event{What: store.Notify, Key: []byte("services/x"), Revision: 30, At: 30}, history.Op{Key: w.First, Outcome: kv.WrongAnswer, Invoked: 9, Done: 9, Watch: history.Happened, At: 30, Mod: 30}},
		"of others":      {store.Event{What: store.Notify, Key: append(r.schedule.AppendService(nil, "services/", uint32(w.First)/r.schedule.Room), "i999999"...), Revision: 30}, history.Op{}},
		"all up to":      {store.Event{What: store.Seen, Revision: 30}, history.Op{Key: w.First, Invoked: 9, Done: 9, Watch: history.Reached, Mod: 30}},
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
	key := r.AppendKey(nil, own)
	r.chronicle.Read(own, &store.Event{Value: r.values.Append(nil, key, 0, 7), Mod: 40}, &history.Op{Kind: kv.Get, At: 60, Final: true})
	if got := r.to.Since(); len(got) != 1 || got[0] != (history.Op{Kind: kv.Get, Key: own, Done: 9, At: 60, Final: true, Read: keys.Identity(7), Mod: 40}) {
		t.Errorf("a read after the load is recorded as %+v", got)
	}
}

// What is recorded allocates nothing.
func TestRecordingDoesNotAllocate(t *testing.T) {
	r := record(t)
	r.to.Hand = (*history.Block).Reset
	block := history.NewBlock()
	r.to.Take = func() *history.Block { return block }
	var op store.Op
	var ev store.Event
	var o history.Op
	all := func() {
		for n, e := range r.schedule.Entries {
			ref := r.source.Fill(measure.Measured, uint64(n), 0, &op)
			ev = store.Event{At: 50, Mod: 50, Value: r.source.value, Count: 1}
			o = history.Op{Kind: op.Kind, Consistency: op.Consistency}
			r.chronicle.Ended(&engine.Completion{Phase: measure.Measured, N: uint64(n), Ref: ref, Event: &ev, Op: &o})
			r.chronicle.MayEnd(0, 1, 2, 3)
			ev = store.Event{What: store.Notify, Key: op.Key, Version: -1, Revision: 50, At: 50}
			r.chronicle.Told(e.Object%4, &ev, 0, 0, 5)
		}
	}
	if got := testing.AllocsPerRun(2, all); got != 0 {
		t.Errorf("%v allocations in %d calls", got, len(r.schedule.Entries))
	}
}
