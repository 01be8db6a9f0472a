package consul

import (
	"fmt"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
)

// TestWatchOfLockHolder checks a watcher for a lock's holder. The watcher's events must contain the
// session and the LockIndex. A watcher with a start index must report the current holder at once. A
// response about another key must be reported as a wrong response.
func TestWatchOfLockHolder(t *testing.T) {
	s := watching(t, nil, store.WatchOp{Start: 1, WatchesLock: true}, "")
	if asked := nextQuery(s); strings.Contains(asked, "raw") {
		t.Errorf("the codec requested %q", asked)
	}
	entry := func(index, locked int, key, session string) string {
		return indexed(index, "200 OK", fmt.Sprintf(`[{"LockIndex":%d,"Key":"%s","Flags":0,"Value":"dg==","Session":"%s","CreateIndex":3,"ModifyIndex":%d}]`, locked, key, session, index))
	}
	var got []string
	for _, in := range []string{entry(5, 1, "b", "s-1"), entry(5, 1, "b", "s-1"), entry(8, 1, "b", ""), entry(9, 2, "b", "s-2"), entry(10, 2, "c", "s-2")} {
		s.Codec.Wrote(len(s.Codec.Out()))
		events, err := s.Codec.Feed([]byte(in), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			switch e.Type {
			case store.WatchChange:
				got = append(got, fmt.Sprintf("%d %s %q %d", e.Revision, e.Value, e.PreviousValue, e.PreviousRevision))
			case store.WatchEnded:
				got = append(got, e.Outcome.String())
			}
		}
	}
	want := []string{`5 v "s-1" 1`, `8 v "" 1`, `9 v "s-2" 2`, kv.WrongResponse.String()}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("it got %q, want %q", got, want)
	}
}
