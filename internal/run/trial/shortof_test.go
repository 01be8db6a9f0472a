package trial

import (
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/store"
)

func TestShortOfIsOfTheLevelsRead(t *testing.T) {
	s := store.Semantics{ShortOf: map[kv.Consistency]string{kv.Linearizable: "a sync and a read"}}
	put, get := record.Share{Operation: "put"}, record.Share{Operation: "get", Consistency: "linearizable"}
	local := record.Share{Operation: "get", Consistency: "local"}
	if got := shortOf(s, []record.Share{put, get, local}); len(got) != 1 || got["linearizable"] != "a sync and a read" {
		t.Errorf("%v", got)
	}
	for _, mix := range [][]record.Share{nil, {put}, {put, local}} {
		if got := shortOf(s, mix); got != nil {
			t.Errorf("of %v: %v", mix, got)
		}
	}
}
