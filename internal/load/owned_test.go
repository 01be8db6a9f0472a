package load_test

import (
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/zookeeper"
	"github.com/quorumbench/quorumbench/internal/testing/storetest"
)

// For each key that is bound to a session, the history contains a delete that may have been
// executed. This delete is invoked after all operations of the load. If the end of the session was
// confirmed by a reply, the history also contains the deletion of the key's version. The revision
// of this deletion is later than the revision of the version.
func TestSessionsEndInTheHistory(t *testing.T) {
	t.Parallel()
	l := base(kv.Ephemeral, kv.NoConsistency)
	l.Mix = []scenario.Operation{{Kind: kv.Ephemeral, Weight: 2}, {Kind: kv.Delete, Weight: 1}}
	l.Duration, l.Warmup, l.Total, l.KeySpace, l.ValueSize, l.Connections, l.Clients, l.Threads = 0, 0, 2000, 50, 32, 4, 8, 1
	endpoints := storetest.ServeNull(t, zookeeper.New(), 1, store.NullOptions{Memory: true})
	p := taskOn(zookeeper.New(), endpoints, l)
	h := &recordings{t: t}
	p.Reports.NewRecorder = h.history
	m := run(t, p).Measured
	if m.Due != 2000 || m.Failed() > 0 || m.Outcomes[kv.Conflict] == 0 {
		t.Fatalf("%v %v", m.Outcomes, m.ErrorTexts)
	}
	made, ends, known, lastDone := 0, 0, 0, int64(0)
	by := map[uint64]map[int64]uint32{} // for each key and revision: the session that created the version
	for i := range h.ops {
		switch o := &h.ops[i]; {
		case o.Kind == kv.CAS && o.Expected == 0:
			if lastDone = max(lastDone, o.Done); o.Outcome == kv.OK {
				made++
				if by[o.Key] == nil {
					by[o.Key] = map[int64]uint32{}
				}
				by[o.Key][o.Revision] = o.Session % 4 // the clients use four connections
			}
		case o.Kind == kv.Delete && o.Outcome == kv.ConnectionLost:
			if ends++; o.Invoked < lastDone || !o.Indefinite() || o.Written != history.Absent {
				t.Fatalf("the possible delete of a session's key is recorded as %+v, and the load's last operation ended at %d", o, lastDone)
			}
		case o.Kind == kv.Ephemeral:
			if known++; o.Invoked < lastDone || o.ModRevision == 0 || o.Revision <= o.ModRevision || by[o.Key][o.ModRevision] != o.Session {
				t.Fatalf("the end of a session's key is recorded as %+v, and the sessions that created the key, by revision, are %v", o, by[o.Key])
			}
		case o.Kind == kv.Delete:
			lastDone = max(lastDone, o.Done)
		default:
			t.Fatalf("the history contains an unexpected operation: %+v", o)
		}
	}
	if made == 0 || ends != made || known != made || len(h.ops) != 2000+ends+known {
		t.Errorf("%d keys were created, %d may have ended with their sessions, the ends of %d are confirmed, and %d operations are recorded", made, ends, known, len(h.ops))
	}
}
