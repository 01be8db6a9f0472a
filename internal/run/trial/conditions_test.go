package trial

import (
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

func TestWeakerReadsCoverOnlyTheLoadsLevels(t *testing.T) {
	s := kv.Capabilities{WeakerReads: map[kv.Consistency]string{kv.Linearizable: "a sync and a read"}}
	put, get := scenario.Operation{Kind: kv.Put}, scenario.Operation{Kind: kv.Get, Consistency: kv.Linearizable}
	local := scenario.Operation{Kind: kv.Get, Consistency: kv.Local}
	if got := weakerReads(s, []scenario.Operation{put, get, local}); len(got) != 1 || got["linearizable"] != "a sync and a read" {
		t.Errorf("%v", got)
	}
	for _, mix := range [][]scenario.Operation{nil, {put}, {put, local}} {
		if got := weakerReads(s, mix); got != nil {
			t.Errorf("the weaker reads of %v are %v, want none", mix, got)
		}
	}
}
