package watch

import (
	"math/rand/v2"
	"testing"
)

type event struct{ version, revision int64 }

// writeEvents returns the events of n writes to a key. If deletions is set, some of the writes are
// deletes.
func writeEvents(r *rand.Rand, n int, deletions bool) (events []event) {
	version, revision := int64(r.IntN(3)*40), int64(100)
	for range n {
		revision += 1 + int64(r.IntN(3))
		if version++; deletions && version > 1 && r.IntN(8) == 0 {
			version = 0
		}
		events = append(events, event{version, revision})
	}
	return events
}

// disturb drops, duplicates and delays events. It delays an event by less than `within` positions.
func disturb(r *rand.Rand, events []event, within int) (out []event) {
	type placed struct {
		event
		at int
	}
	var all []placed
	for i, e := range events {
		switch r.IntN(10) {
		case 0:
			continue
		case 1:
			all = append(all, placed{e, i + r.IntN(within)})
		case 2:
			all = append(all, placed{e, i}, placed{e, i + r.IntN(within)})
			continue
		}
		all = append(all, placed{e, i})
	}
	// This is a stable sort by position. Duplicate events have two positions.
	for at := 0; at < len(events)+within; at++ {
		for _, p := range all {
			if p.at == at {
				out = append(out, p.event)
			}
		}
	}
	return out
}

// A track counts the same numbers as a model with unlimited memory, no matter which events are
// lost, duplicated or late, as long as no event is so late that it is outside the window.
func TestTrackAgreesWithAModel(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for round := range 500 {
		events := writeEvents(r, 1+r.IntN(300), false)
		within := 1 + r.IntN(40)
		var tr track
		seen, highest, lowest := map[int64]bool{}, int64(0), int64(1<<62)
		var got, doubled, reordered [2]int
		for _, e := range disturb(r, events, within) {
			v := tr.receive(e.version, e.revision)
			switch {
			case seen[e.version]:
				doubled[1]++
			case e.version < highest:
				reordered[1]++
				got[1]++
			default:
				got[1]++
			}
			seen[e.version], highest, lowest = true, max(highest, e.version), min(lowest, e.version)
			switch v {
			case duplicate:
				doubled[0]++
			case outOfOrder:
				reordered[0]++
				got[0]++
			default:
				got[0]++
			}
		}
		if got[0] != got[1] || doubled[0] != doubled[1] || reordered[0] != reordered[1] || int(tr.received) != got[1] {
			t.Fatalf("round %d: %d new, %d duplicate and %d reordered events, want %d, %d and %d", round, got[0], doubled[0], reordered[0], got[1], doubled[1], reordered[1])
		}
		between := uint32(0)
		if len(seen) > 0 {
			between = uint32(highest-lowest+1) - uint32(len(seen))
		}
		if tr.missing != between {
			t.Fatalf("round %d: %d events are missing, want %d", round, tr.missing, between)
		}
		// Only the number of writes shows the events that were lost before the first or after the
		// last received event.
		if lost, want := tr.lost(uint32(len(events))), uint32(len(events)-len(seen)); lost != want {
			t.Fatalf("round %d: %d events are lost, want %d", round, lost, want)
		}
	}
}

// After a deletion, versions start again at 1. Events that arrive in order count neither as lost
// nor as duplicates, and omitted events count as lost.
func TestTrackFollowsDeletions(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		events := writeEvents(r, 100, true)
		var whole track
		for _, e := range events {
			if whole.receive(e.version, e.revision) != inOrder {
				t.Fatalf("event %+v is not in order", e)
			}
		}
		if whole.lost(100) != 0 || whole.received != 100 {
			t.Fatalf("%d events are lost and %d received, want 0 and 100", whole.lost(100), whole.received)
		}
		var part track
		left := uint32(0)
		for i, e := range events {
			if i > 0 && i < 99 && r.IntN(10) == 0 {
				left++
				continue
			}
			if part.receive(e.version, e.revision) != inOrder || part.receive(e.version, e.revision) != duplicate {
				t.Fatalf("event %+v is not first in order and then a duplicate", e)
			}
		}
		// If all events from a creation to a deletion of the key were omitted, only the number of
		// writes shows this.
		if part.missing+part.missingBeforeDeletion > left || part.lost(100) != left {
			t.Fatalf("%d events are lost, want %d", part.lost(100), left)
		}
	}
}

// A version before the window is classified as late while any version before the window is missing,
// and after that as a duplicate.
func TestTrackBeyondItsWindow(t *testing.T) {
	var tr track
	for v := int64(1); v <= 200; v++ {
		if v == 5 || v == 7 || v == 190 {
			continue
		}
		tr.receive(v, v)
	}
	for i, want := range []arrivalOrder{outOfOrder, outOfOrder, duplicate} {
		if got := tr.receive(5, 5); got != want {
			t.Errorf("old event %d: %d, want %d", i, got, want)
		}
	}
	if tr.missing != 1 || tr.receive(190, 190) != outOfOrder || tr.missing != 0 {
		t.Errorf("%d events are missing, want 1 before version 190 arrives and 0 after it", tr.missing)
	}
}

// If a watcher receives only the latest version, skipped versions do not count as lost. Versions
// after the last event count as lost.
func TestCountsSkippedVersions(t *testing.T) {
	tr := track{}
	tr.begin(5, 100)
	tr.begin(5, 90) // this is already known
	for _, e := range []struct{ version, revision int64 }{{6, 110}, {9, 120}} {
		if v := tr.receive(e.version, e.revision); v != inOrder {
			t.Fatalf("event %+v is classified as %v", e, v)
		}
	}
	if lost, passed := tr.countMissing(4); lost != 0 || passed != 2 || tr.received != 2 {
		t.Errorf("%d lost, %d skipped, %d received; want 0, 2 and 2", lost, passed, tr.received)
	}
	if lost, _ := tr.countMissing(6); lost != 2 {
		t.Errorf("%d events are lost, want the 2 after the last event", lost)
	}
	if v := tr.receive(9, 120); v != duplicate {
		t.Errorf("the repeated event is classified as %v", v)
	}
	tr.begin(12, 150) // the watcher is created again; three versions were skipped
	if lost, passed := tr.countMissing(7); lost != 0 || passed != 5 {
		t.Errorf("after the watcher was created again: %d lost, %d skipped; want 0 and 5", lost, passed)
	}
	tr.begin(12, 150) // nothing has changed
	if _, passed := tr.countMissing(0); passed != 5 {
		t.Errorf("after a creation without a change: %d skipped, want 5", passed)
	}
	tr.begin(0, 155)
	tr.receive(12, 160)
	tr.begin(12, 165) // the key was deleted and created again, and has the same version as before
	if _, passed := tr.countMissing(0); passed < 7 {
		t.Errorf("the same version after a deletion: %d skipped, want at least 7", passed)
	}
	tr = track{}
	tr.begin(9, 120)
	tr.receive(2, 170) // the key was deleted and created again, and only the last version was reported
	if _, passed := tr.countMissing(0); passed != 2 {
		t.Errorf("a lower version after a deletion: %d skipped, want 2", passed)
	}
}

// If events have no versions, revisions show which events are new.
func TestEventsWithoutVersions(t *testing.T) {
	tr := track{}
	for _, e := range []struct {
		revision int64
		want     arrivalOrder
	}{{10, inOrder}, {12, inOrder}, {12, duplicate}, {11, outOfOrder}, {20, inOrder}} {
		if v := tr.receive(-1, e.revision); v != e.want {
			t.Errorf("revision %d is %v, want %v", e.revision, v, e.want)
		}
	}
	if tr.receive(0, 30) != inOrder || tr.received != 5 || tr.lost(7) != 2 {
		t.Errorf("%+v", tr)
	}
}
