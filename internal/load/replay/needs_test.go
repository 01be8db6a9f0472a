package replay

import (
	"slices"
	"testing"

	"github.com/quorumbench/quorumbench/internal/store/call"
)

// For a store whose responses to writes contain no version, the replay derives the order of
// overlapping calls from reads and guards.
func TestOrdersOverlappingCalls(t *testing.T) {
	key := []byte("k")
	read := func(at, took, version int64) *call.Call {
		return &call.Call{At: at, Duration: took, Parts: []call.Part{{Action: call.Read, Key: key, Version: version}}}
	}
	swap := func(at, took, from int64, held bool) *call.Call {
		c := &call.Call{At: at, Duration: took, Guarded: true, GuardsHeld: held, Parts: []call.Part{
			{Action: call.Compare, Target: call.Modified, Number: from, Key: key}, {Action: call.Write, Branch: call.Then, Key: key}}}
		if from == 0 {
			c.Parts[0].Target = call.Created
		}
		return c
	}
	for name, c := range map[string]struct {
		calls []*call.Call
		who   int
		needs []int32
	}{
		"a failed guard waits for the call that succeeded, even if that was sent later": {[]*call.Call{read(0, 10, 5), swap(20, 50, 5, false), swap(30, 10, 5, true)}, 1, []int32{0, 2}},
		"a failed create waits for the call that created the key":                       {[]*call.Call{read(0, 10, 5), swap(20, 50, 0, false), swap(30, 10, 0, true)}, 1, []int32{2}},
		"a change waits for a read that was sent later and saw the earlier version": {
			[]*call.Call{read(0, 10, 5), swap(20, 50, 5, true), read(30, 10, 5), swap(45, 50, 5, false)}, 1, []int32{0, 2}},
		"a read waits for the change that it saw, even if that was sent later": {
			[]*call.Call{read(0, 10, 5), read(20, 50, 7), swap(30, 20, 5, true), swap(80, 10, 7, true)}, 1, []int32{2}},
		"a read that ended before a change waits for no call": {
			[]*call.Call{read(0, 10, 5), read(20, 5, 7), swap(30, 20, 5, true), swap(80, 10, 7, true)}, 1, nil},
	} {
		p := &Plan{calls: c.calls}
		p.findWriters()
		p.findVersions()
		p.findNeeds()
		if got := p.needs.callsFor(uint64(c.who)); !slices.Equal(got, c.needs) {
			t.Errorf("%s: the call waits for the calls %v, want %v", name, got, c.needs)
		}
	}
}
