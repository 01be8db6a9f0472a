package storetest

import (
	"context"
	"errors"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
)

// CheckCapabilities fails the test if a store's declared capabilities are incomplete or contradict
// the interfaces that it implements.
func CheckCapabilities(t *testing.T, st store.Store) {
	t.Helper()
	can := st.Capabilities()
	admin, err := st.Admin(store.Access{Endpoints: []string{"127.0.0.1:1"}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = admin.Close() }() // nothing can be lost, because admin sent no requests
	for f := range kv.NumFeatures {
		if can.Has(f) && can.NoFeatures[f] != "" {
			t.Errorf("the store has the feature %s, but also a reason why it is missing", f)
		}
		if has, known := implements(st, admin, f); known && has != can.Has(f) {
			t.Errorf("%s: the capabilities report %v, but the implementation provides %v", f, can.Has(f), has)
		}
	}
	source, err := st.Server("")
	if err != nil {
		t.Fatal(err)
	}
	if _, embedded := st.(store.Embedded); embedded != (source.Kind == store.BuiltIn) {
		t.Errorf("the store implements store.Embedded: %v, but the kind of its server is %d", embedded, source.Kind)
	}
	if can.Operations[kv.Put] == "" || can.Operations[kv.Get] == "" || len(can.Reads) == 0 || can.Durability == "" {
		t.Errorf("the capabilities lack put, get, reads or durability: %+v", can)
	}
	for k := range can.Operations {
		if can.NoOperations[k] != "" {
			t.Errorf("the store has the operation %s, but also a reason why it is missing", k)
		}
	}
	for level := range can.Reads {
		if can.NoReads[level] != "" {
			t.Errorf("the store has %s reads, but also a reason why they are missing", level)
		}
	}
	for level, text := range can.WeakerReads {
		if can.Reads[level] == "" || text == "" || text[len(text)-1] == '.' {
			t.Errorf("the note on weaker %v reads is invalid, or the store has no such reads: %q", level, text)
		}
	}
	if w := can.Watches; (can.Operations[kv.Watch] != "") != (w.Modes[w.Default] != "") || w.Default == kv.AnyWatch && len(w.Modes) > 0 {
		t.Errorf("the watch capabilities are inconsistent: %+v", w)
	}
	if can.Operations[kv.KeepAlive] != "" && !can.Has(kv.Leases) && !can.SessionPerConnection {
		t.Error("the store can keep leases alive, but cannot grant any")
	}
}

// implements reports whether a store and its Admin implement a feature's optional interfaces. ok is
// false if the feature has no optional interface.
func implements(s store.Store, a store.Admin, f kv.Feature) (has, ok bool) {
	operator, operates := a.(store.Operator)
	_, cleans := a.(store.Cleaner)
	// A request whose context has already ended reaches no server.
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	supported := func(err error) bool { return !errors.Is(err, errors.ErrUnsupported) }
	switch f {
	case kv.RoleQuery, kv.Metrics, kv.LogSignals, kv.WriteOrder: // every store has these features
		has = true
	case kv.LeaderTransfer:
		has = operates
	case kv.Compaction:
		if has = operates; has {
			_, err := operator.Compact(ctx)
			has = supported(err)
		}
	case kv.Defragmentation:
		has = operates && supported(operator.Defragment(ctx))
	case kv.Learners:
		has = operates && supported(operator.RemoveMember(ctx, kv.MemberPlace{}))
	case kv.Hashes:
		if has = operates; has {
			_, err := operator.Hash(ctx)
			has = supported(err)
		}
	case kv.PrefixDelete:
		has = cleans
	case kv.Certificates:
		_, has = s.(store.Embedded)
	case kv.Leases:
		_, has = a.(store.Leaser)
	case kv.NullServer:
		_, has = s.(store.NullServerProvider)
	default:
		return false, false
	}
	return has, true
}
