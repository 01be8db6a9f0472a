package zookeeper

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
	"github.com/quorumbench/quorumbench/internal/wire/jute"
)

// bareRead returns an application's read that sets a watch.
func bareRead(name string, watcher uint32, flags call.Flags) store.Op {
	return store.Op{
		Kind: kv.Get, Watch: &store.WatchOp{Watcher: watcher},
		Call: &call.Call{Parts: []call.Part{{Key: key(name), Flags: call.Local | flags}, {Action: call.Watch, Key: key(name)}}},
	}
}

// TestAnApplicationsWatchFiresOnce checks that an application's watch fires once and reports the
// kind of change. An exists request must set the watch even if the node does not exist, but a
// getData request must not. The end of the connection must end all watches.
func TestAnApplicationsWatchFiresOnce(t *testing.T) {
	s := granted(t)
	s.submit(bareRead("a", 1, call.KeysOnly), bareRead("b", 2, 0), bareRead("c", 3, 0), bareRead("a", 1, call.KeysOnly), bareRead("d", 4, call.KeysOnly))
	s.written()
	s.answer(jute.NoNode)
	s.answer(jute.NoNode)
	s.answer(jute.OK, valueRecord()...)
	s.answer(jute.NoNode)
	s.answer(jute.NoNode)
	if events := s.events(); len(events) != 5 {
		t.Fatalf("got %d events, want 5: %+v", len(events), events)
	}
	s.event(jute.NodeCreated, "/a", 11)
	s.event(jute.NodeDeleted, "/b", 12)
	s.event(jute.NodeDeleted, "/c", 13)
	s.event(jute.NodeDeleted, "/a", 14)
	var reported []string
	for _, e := range s.events() {
		reported = append(reported, fmt.Sprintf("%d %s %d %d", e.Watcher, e.Key, e.Version, e.Revision))
	}
	if want := []string{"1 /a -1 11", "3 /c 0 13"}; !slices.Equal(reported, want) {
		t.Errorf("the watchers received %q, want %q", reported, want)
	}
	lost := s.c.Lost(nil)
	if len(lost) != 1 || lost[0].Type != store.WatchEnded || lost[0].Watcher != 4 {
		t.Errorf("the end of the connection ended the operations or watchers %+v", lost)
	}
}

// TestAbandonedWatchIsSilent checks that a watch reports nothing if its read was canceled.
func TestAbandonedWatchIsSilent(t *testing.T) {
	s := granted(t)
	s.submit(bareRead("a", 1, call.KeysOnly))
	s.written()
	s.c.Cancel(1)
	s.answer(jute.NoNode)
	s.event(jute.NodeCreated, "/a", 11)
	for _, e := range s.events() {
		if e.Type != store.LateResponse {
			t.Errorf("%+v", e)
		}
	}
	if lost := s.c.Lost(nil); len(lost) > 0 {
		t.Errorf("the end of the connection ended the operations or watchers %+v", lost)
	}
}

// heardNames is a store.Keys that stores the names it receives.
type heardNames struct{ names []string }

func (h *heardNames) Begin(uint32) bool { return false }
func (h *heardNames) Add(_ uint32, name, _ []byte, _ int64) {
	h.names = append(h.names, string(name))
}

// TestNamesOfChildrenAreHandedOut checks that the codec passes the names in a list to the
// operation's store.Keys.
func TestNamesOfChildrenAreHandedOut(t *testing.T) {
	s, h := granted(t), &heardNames{}
	s.submit(store.Op{Kind: kv.Range, Range: &store.RangeOp{Keys: h, KeysOnly: true}, Call: &call.Call{Parts: []call.Part{{Scope: call.Prefix, Key: key("a/"), Flags: call.Local}}}})
	s.written()
	names := binary.BigEndian.AppendUint32(nil, 2)
	s.answer(jute.OK, jute.AppendBuffer(jute.AppendBuffer(names, "latch-0000000002"), "latch-0000000001")...)
	events := s.events()
	if len(events) != 1 || events[0].Count != 2 || !slices.Equal(h.names, []string{"latch-0000000002", "latch-0000000001"}) {
		t.Errorf("the events are %+v, and the recorded names are %q", events, h.names)
	}
}
