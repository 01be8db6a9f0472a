package discovery

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

// recorded is a load whose history is recorded.
type recorded struct {
	*script
	model  app.Model
	source *source
	steps  app.KeyRecorder
	to     *storetest.Recording
}

func record(t *testing.T, a Application) *recorded {
	s := setup(a, "services/", 5*time.Second, map[string]float64{servicesKey: 7, instancesKey: 3, clientsKey: 5, usesKey: 2, churnKey: 10})
	if a.Catalog {
		s = setup(a, "qb-", 15*time.Second, map[string]float64{servicesKey: 4, instancesKey: 30, clientsKey: 5, usesKey: 2, churnKey: 4, healthKey: 4})
	}
	r := &recorded{script: newScript(a.Catalog, s), to: storetest.NewRecording(t)}
	r.model, r.source = r.Model(), r.Source().(*source)
	r.steps = r.model.NewKeyRecorder(&r.to.Recorder)
	return r
}

// Calls of membership are recorded as operations that the verifier supports.
func TestRecordsMembershipCalls(t *testing.T) {
	r := record(t, membership)
	read := func() store.Event { return store.Event{StoreRevision: 50, Revision: 1, ModRevision: 40, Count: 1} }
	for name, c := range map[string]struct {
		call  Call
		ev    store.Event
		value func(key []byte) []byte
		want  history.Op // complete except for Key and Written
	}{
		"registered":          {Register, store.Event{StoreRevision: 50, Revision: 1}, nil, history.Op{Kind: kv.CAS, Revision: 50}},
		"existing":            {Register, store.Event{StoreRevision: 50, Revision: -1, Outcome: kv.Conflict}, nil, history.Op{Kind: kv.CAS, Outcome: kv.Conflict, Revision: 50, Read: history.UnknownValue}},
		"possibly registered": {Register, store.Event{Outcome: kv.TimedOut}, nil, history.Op{Kind: kv.CAS, Outcome: kv.TimedOut}},
		"gone":                {Deregister, store.Event{StoreRevision: 50, Count: 1}, nil, history.Op{Kind: kv.Delete, Revision: 50}},
		"already gone":        {Deregister, store.Event{StoreRevision: 50, Outcome: kv.Miss}, nil, history.Op{Kind: kv.Delete, Outcome: kv.Miss, Revision: 50}},
		"possibly gone":       {Deregister, store.Event{Outcome: kv.ConnectionLost}, nil, history.Op{Kind: kv.Delete, Outcome: kv.ConnectionLost}},
		"read":                {Lookup, read(), func(key []byte) []byte { return r.values.Append(nil, key, 0, 5) }, history.Op{Kind: kv.Get, Consistency: kv.Local, Revision: 50, ModRevision: 40, Read: keys.Identity(5)}},
		"a foreign value":     {Lookup, read(), func([]byte) []byte { return []byte("anything") }, history.Op{Kind: kv.Get, Consistency: kv.Local, Revision: 50, ModRevision: 40, Read: keys.NoIdentity}},
		"missing":             {Lookup, store.Event{StoreRevision: 50, Outcome: kv.Miss}, nil, history.Op{Kind: kv.Get, Consistency: kv.Local, Outcome: kv.Miss, Revision: 50}},
	} {
		n, e := r.first(c.call)
		var op store.Op
		ref := r.source.Fill(measure.Measured, n, 0, &op)
		if c.value != nil {
			c.ev.Value = c.value(op.Key)
		}
		if c.want.Key = uint64(e.object); c.call == Register {
			c.want.Written = keys.Identity(n)
		}
		o := history.Op{Kind: op.Kind, Consistency: op.Consistency, Outcome: c.ev.Outcome}
		r.steps.OperationEnded(&engine.Completion{Phase: measure.Measured, N: n, Ref: ref, Expected: op.Revision, Event: &c.ev, Op: &o})
		if d := cmp.Diff([]history.Op{c.want}, r.to.Since()); d != "" {
			t.Errorf("%s (-want +got): %s", name, d)
		}
	}
	n, e := r.first(Register)
	r.steps.KeyMayBeDeleted(n, 2, 30, 60)
	want := history.Op{Kind: kv.Delete, Outcome: kv.ConnectionLost, Session: 2, Key: uint64(e.object), Invoked: 30, Done: 60}
	if got := r.to.Since(); len(got) != 1 || got[0] != want || !got[0].Indefinite() {
		t.Errorf("the end of a session is recorded as %+v", got)
	}
	r.steps.SessionEnded(n, &history.Op{Kind: kv.Ephemeral, Session: 2, Invoked: 30, Done: 60, Revision: 90, ModRevision: 50})
	want = history.Op{Kind: kv.Ephemeral, Session: 2, Key: uint64(e.object), Invoked: 30, Done: 60, Revision: 90, ModRevision: 50, Written: keys.Identity(n)}
	if got := r.to.Since(); len(got) != 1 || got[0] != want {
		t.Errorf("the end of a session with a response is recorded as %+v", got)
	}
}

// Watch events, and reads after the load, are recorded with the instances' numbers. If another
// program left an instance below a service, that instance is not recorded. A key outside the
// watched service is a wrong response.
func TestRecordsMembershipWatchEvents(t *testing.T) {
	r := record(t, membership)
	w := r.WatchPlan().Sink.Watchers[4]
	own := w.First + 2
	for name, c := range map[string]struct {
		ev   store.Event
		want history.Op
	}{
		"created":           {store.Event{Type: store.OperationDone, Revision: 20}, history.Op{Key: w.First, Written: w.Keys, Invoked: 5, Done: 9, Watch: history.WatchStarted, Revision: 20}},
		"came":              {store.Event{Type: store.WatchChange, Key: r.model.AppendKey(nil, own), Version: -1, Revision: 30, StoreRevision: 30}, history.Op{Key: own, Read: history.UnknownValue, Invoked: 9, Done: 9, Watch: history.KeyChanged, Revision: 30, ModRevision: 30}},
		"gone":              {store.Event{Type: store.WatchChange, Key: r.model.AppendKey(nil, own), Revision: 30, StoreRevision: 30}, history.Op{Key: own, Invoked: 9, Done: 9, Watch: history.KeyChanged, Revision: 30, ModRevision: 30}},
		"another service's": {store.Event{Type: store.WatchChange, Key: r.model.AppendKey(nil, own+w.Keys), Revision: 30, StoreRevision: 30}, history.Op{Key: own + w.Keys, Invoked: 9, Done: 9, Watch: history.KeyChanged, Revision: 30, ModRevision: 30}},
		"not an instance's": {store.Event{Type: store.WatchChange, Key: []byte("services/x"), Revision: 30, StoreRevision: 30}, history.Op{Key: w.First, Outcome: kv.WrongResponse, Invoked: 9, Done: 9, Watch: history.KeyChanged, Revision: 30, ModRevision: 30}},
		"another program's": {store.Event{Type: store.WatchChange, Key: append(r.schedule.appendService(nil, uint32(w.First)/r.schedule.numbersPerService), "/i999999"...), Revision: 30}, history.Op{}},
		"progress":          {store.Event{Type: store.WatchProgress, Revision: 30}, history.Op{Key: w.First, Invoked: 9, Done: 9, Watch: history.ProgressReached, ModRevision: 30}},
	} {
		r.steps.WatchEvent(4, &c.ev, 5, 0, 9)
		var want []history.Op
		if c.want.Done > 0 {
			c.want.Kind, c.want.Session = kv.Watch, 4
			want = []history.Op{c.want}
		}
		if d := cmp.Diff(want, r.to.Since()); d != "" {
			t.Errorf("%s (-want +got): %s", name, d)
		}
	}
	key := r.model.AppendKey(nil, own)
	r.steps.Read(own, &store.Event{Value: r.values.Append(nil, key, 0, 7), ModRevision: 40}, &history.Op{Kind: kv.Get, Revision: 60, Final: true})
	if got := r.to.Since(); len(got) != 1 || got[0] != (history.Op{Kind: kv.Get, Key: own, Done: 9, Revision: 60, Final: true, Read: keys.Identity(7), ModRevision: 40}) {
		t.Errorf("a read after the load is recorded as %+v", got)
	}
}

// The keys that exist at the start of the load are recorded once, as acknowledged writes. They are
// not recorded in a history that contains only reads after the load.
func TestRecordsInitialInstances(t *testing.T) {
	r := record(t, catalog)
	r.steps.Read(0, &store.Event{}, &history.Op{Final: true})
	if got := r.to.Since(); len(got) != 1 {
		t.Errorf("a read after the load is recorded as %+v", got)
	}
	r.steps.(*catalogRecorder).recordInitial()
	r.steps.(*catalogRecorder).recordInitial()
	seen := map[uint64]bool{}
	for i, o := range r.to.Since() {
		if seen[o.Key] || o.Kind != kv.Put || o.Done != 0 || o.ContinuesPrevious != (i > 0) || !r.schedule.existsAtStart(uint32(o.Key/catalogKeys)) || !o.Acknowledged() {
			t.Errorf("initial key %d is recorded as %+v", i, o)
		}
		seen[o.Key] = true
	}
	if len(seen) != catalogKeys*r.schedule.initial() {
		t.Errorf("%d initial keys are recorded", len(seen))
	}
}

// Calls to a catalog are recorded as operations that the verifier supports.
func TestRecordsCatalogCalls(t *testing.T) {
	r := record(t, catalog)
	r.steps.(*catalogRecorder).recordInitial()
	r.to.Since()
	there := store.Event{Count: 1}
	for name, c := range map[string]struct {
		call Call
		ev   store.Event
		want history.Op // complete except for Key and Written
	}{
		"registered":          {Register, store.Event{Count: -1}, history.Op{Kind: kv.Put}},
		"possibly registered": {Register, store.Event{Outcome: kv.TimedOut}, history.Op{Kind: kv.Put, Outcome: kv.TimedOut}},
		"deregistered":        {Deregister, store.Event{Count: -1}, history.Op{Kind: kv.Delete}},
		"critical":            {Fail, store.Event{Count: -1}, history.Op{Kind: kv.Delete}},
		"possibly critical":   {Fail, store.Event{Outcome: kv.StoreTimeout}, history.Op{Kind: kv.Delete, Outcome: kv.StoreTimeout}},
		"passing":             {Pass, store.Event{Count: -1}, history.Op{Kind: kv.Put}},
		"compared":            {Compare, there, history.Op{Kind: kv.Exists, Consistency: kv.Local, Read: history.UnknownValue}},
		"missing":             {Compare, store.Event{}, history.Op{Kind: kv.Exists, Consistency: kv.Local, Outcome: kv.Miss}},
		"without a response":  {Compare, store.Event{Outcome: kv.NoLeader}, history.Op{Kind: kv.Exists, Consistency: kv.Local, Outcome: kv.NoLeader}},
	} {
		n := uint64(0)
		for r.schedule.entries[n].call != c.call {
			n++
		}
		object := r.schedule.entries[n].object
		var op store.Op
		ref := r.source.Fill(measure.Measured, n, 0, &op)
		if c.want.Kind == kv.Put {
			c.want.Written = keys.Identity(n)
		}
		c.want.Key = healthyNumber(object)
		want := []history.Op{c.want}
		switch c.call {
		case Register, Deregister:
			other := c.want
			other.Key, other.ContinuesPrevious = registeredNumber(object), true
			want = append(want, other)
		case Compare:
			want[0].Key = registeredNumber(object)
		}
		o := history.Op{Kind: op.Kind, Consistency: op.Consistency, Outcome: c.ev.Outcome}
		r.steps.OperationEnded(&engine.Completion{Phase: measure.Measured, N: n, Ref: ref, Expected: op.Revision, Event: &c.ev, Op: &o})
		if d := cmp.Diff(want, r.to.Since()); d != "" {
			t.Errorf("%s (-want +got): %s", name, d)
		}
	}
}

// Watch events are recorded with the numbers of the healthy instances. Instances that another
// program left behind are not recorded. After the load, both keys of each instance are read from
// the catalog.
func TestRecordsCatalogWatchEvents(t *testing.T) {
	r := record(t, catalog)
	r.steps.(*catalogRecorder).recordInitial()
	r.to.Since()
	w := r.WatchPlan().Sink.Watchers[4]
	object := uint32(w.First) + 2
	id, own := r.schedule.appendKey(nil, object), healthyNumber(object)
	for name, c := range map[string]struct {
		ev   store.Event
		want history.Op
	}{
		"created":           {store.Event{Type: store.OperationDone, Revision: 20}, history.Op{Key: 2 * w.First, Written: 2 * w.Keys, Invoked: 5, Done: 9, Watch: history.WatchStarted, Revision: 20}},
		"came":              {store.Event{Type: store.WatchChange, Key: id, Version: 1, Revision: 30}, history.Op{Key: own, Read: history.UnknownValue, Invoked: 9, Done: 9, Watch: history.KeyChanged, ModRevision: 30}},
		"gone":              {store.Event{Type: store.WatchChange, Key: id, Revision: 30}, history.Op{Key: own, Invoked: 9, Done: 9, Watch: history.KeyChanged, ModRevision: 30}},
		"not an instance's": {store.Event{Type: store.WatchChange, Key: []byte("web"), Revision: 30}, history.Op{Key: 2 * w.First, Outcome: kv.WrongResponse, Invoked: 9, Done: 9, Watch: history.KeyChanged, ModRevision: 30}},
		"another program's": {store.Event{Type: store.WatchChange, Key: append(r.schedule.appendService(nil, object/r.schedule.numbersPerService), "-i999999"...), Revision: 30}, history.Op{}},
	} {
		r.steps.WatchEvent(4, &c.ev, 5, 0, 9)
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
		op := store.Op{Kind: kv.Get, Consistency: kv.Local, Key: r.model.AppendKey(nil, number)}
		if r.model.MakeRead(number, &op); op.Kind != kv.Range || op.Consistency != kv.Local || string(op.Key) != string(id) || op.Service.Passing != (number == own) {
			t.Errorf("key %d is read by %+v", number, op)
		}
	}
	r.steps.Read(own, &store.Event{Count: 1}, &history.Op{Kind: kv.Range, Consistency: kv.Local, Final: true})
	if d := cmp.Diff([]history.Op{{Kind: kv.Exists, Consistency: kv.Local, Key: own, Done: 9, Final: true, Read: history.UnknownValue}}, r.to.Since()); d != "" {
		t.Errorf("the read after the load (-want +got): %s", d)
	}
}

// Recording allocates no memory.
func TestRecordingDoesNotAllocate(t *testing.T) {
	for _, a := range []Application{membership, catalog} {
		r := record(t, a)
		block := history.NewBlock()
		r.to.Deliver, r.to.Take = (*history.Block).Reset, func() *history.Block { return block }
		var op store.Op
		var ev store.Event
		var o history.Op
		var done engine.Completion
		all := func() {
			for n, e := range r.schedule.entries {
				ref := r.source.Fill(measure.Measured, uint64(n), 0, &op)
				ev = store.Event{StoreRevision: 50, ModRevision: 50, Value: r.source.value, Count: 1}
				o = history.Op{Kind: op.Kind, Consistency: op.Consistency}
				done = engine.Completion{Phase: measure.Measured, N: uint64(n), Ref: ref, Event: &ev, Op: &o}
				r.steps.OperationEnded(&done)
				r.steps.KeyMayBeDeleted(0, 1, 2, 3)
				ev = store.Event{Type: store.WatchChange, Key: op.Key, Version: -1, Revision: 50, StoreRevision: 50}
				r.steps.WatchEvent(e.object%4, &ev, 0, 0, 5)
				r.model.MakeRead(uint64(n), &op)
			}
		}
		if got := testing.AllocsPerRun(2, all); got != 0 {
			t.Errorf("%v: %v allocations in %d calls", a, got, len(r.schedule.entries))
		}
	}
}
