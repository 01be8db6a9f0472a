package engine

import (
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// movingBench is a bench whose load moves from "server" to "new" at moveAt. "server" stops replying
// at muteAt.
type movingBench struct {
	*bench
	moveAt, muteAt int64
	epochAt        int64
	to             map[int]string // by connection: the endpoint that was dialed
	loop           *Loop
}

func newMovingBench(conns, clients int, phases ...Phase) *movingBench {
	m := &movingBench{bench: newBench(conns, clients, phases...), moveAt: never, muteAt: never, epochAt: never, to: map[int]string{}}
	m.cfg.MemberAt = func(endpoint string) uint64 { return map[string]uint64{"server": 1, "new": 2}[endpoint] }
	m.dial = func(_ *sim, conn int, endpoint string) error {
		m.to[conn] = endpoint
		return nil
	}
	answer := m.serve
	m.serve = func(s *sim, conn int, request []byte) {
		if m.to[conn] == "new" || s.now < m.muteAt {
			answer(s, conn, request)
		}
	}
	m.at = func(s *sim) {
		if s.now >= m.epochAt {
			m.epochAt = never
			m.loop.Epoch(2)
		}
		if s.now >= m.moveAt {
			m.moveAt = never
			m.loop.Retarget(toNew(len(m.cfg.Endpoints)))
		}
	}
	return m
}

func toNew(n int) (endpoints []string) {
	for range n {
		endpoints = append(endpoints, "new")
	}
	return endpoints
}

func (m *movingBench) run(t *testing.T) *movingBench {
	t.Helper()
	collector := measure.NewCollector(1)
	collector.OnSecond = func(s *measure.Second) { m.each = append(m.each, *s) }
	m.cfg.Deliver = func(s *measure.Second) { collector.Add(0, s) }
	m.loop = New(m.cfg, m.sim)
	m.res = m.loop.Run(m.now+secondNS, func(err error) {
		if err != nil {
			t.Fatal(err)
		}
		m.loop.Start(2e9)
	})
	collector.End(0)
	m.totals, _ = collector.Close(float64(m.res.WindowEnd-m.res.WindowStart) / 1e9)
	m.account(t)
	return m
}

func TestRetargetMovesConnections(t *testing.T) {
	settle.SkipUnderRace(t)
	m := newMovingBench(3, 9, closed(3*secondNS))
	m.moveAt = 3e9
	m.run(t)
	if m.totals.Failed() != 0 {
		t.Errorf("%d operations failed during the move, want none", m.totals.Failed())
	}
	for _, i := range m.loop.conns.places {
		if m.to[i] != "new" {
			t.Errorf("connection %d is at %q", i, m.to[i])
		}
	}
	if len(m.loop.conns.spare) != 3 {
		t.Errorf("%d of the 3 old connections have ended", len(m.loop.conns.spare))
	}
	if m.res.Stranded != 9 || m.res.LongestStranded > 2*millisecond {
		t.Errorf("%d clients were held, the longest for %d ns", m.res.Stranded, m.res.LongestStranded)
	}
}

// When a place moves, nothing keeps the session of the old connection alive after that connection
// has closed. So the keys that were created in this session may expire.
func TestKeysOfAMovedConnectionMayEnd(t *testing.T) {
	m, h := newMovingBench(1, 1, closed(3*secondNS)), &ends{}
	m.cfg.Source, m.cfg.History, m.moveAt = &nodes{}, h, 3e9
	m.run(t)
	if len(m.loop.conns.spare) != 1 || h.may == 0 || h.may >= int(m.totals.Due) {
		t.Errorf("%d operations were due, %d keys may be gone, and %d connections have ended", m.totals.Due, h.may, len(m.loop.conns.spare))
	}
}

// A member that hangs delays only the operations that it has already received. Operations that are
// due after the move complete at once, whatever the timeout is.
func TestMoveFromAMuteMemberRestoresService(t *testing.T) {
	settle.SkipUnderRace(t)
	m := newMovingBench(3, 0, open(1000, 20*secondNS))
	m.muteAt, m.moveAt = 3e9, 3.5e9
	m.run(t)
	near(t, "the longest gap", m.totals.LongestGap, 0.5, 0.01)
	near(t, "timeouts", float64(m.totals.Outcomes[kv.TimedOut]), 500, 0.01)
	if got := m.totals.Outcomes[kv.OK]; got+m.totals.Outcomes[kv.TimedOut] != 20_000 {
		t.Errorf("outcomes %v", m.totals.Outcomes)
	}
	for _, c := range m.totals.Cells {
		if n := c.Failed[measure.ErrorIndex(kv.TimedOut)]; n != nil && n.TotalCount() > 0 && c.Member != 7 {
			t.Errorf("%d timeouts are charged to member %d", n.TotalCount(), c.Member)
		}
	}
}

// Operations at a mute member do not block the load on the next member, even if they have used up
// the limit of operations in flight.
func TestOperationsAtAMuteMemberDoNotBlockTheNextMember(t *testing.T) {
	m := newMovingBench(3, 0, open(1000, 8*secondNS))
	m.cfg.MaxInFlight = 50
	m.muteAt, m.moveAt = 3e9, 3.5e9
	m.run(t)
	if gap := m.totals.LongestGap; gap < 0.4 || gap > 0.55 {
		t.Errorf("the longest gap is %v s, want about 0.5 s, the time until the load moved", gap)
	}
	if failed := m.totals.Failed(); failed != 50 {
		t.Errorf("%d operations failed, want the 50 that were in flight at the mute member", failed)
	}
}

// A mute member blocks clients of a closed loop. The load counts these clients, and records the
// longest time for which a client was blocked.
func TestMuteMemberHoldsClients(t *testing.T) {
	settle.SkipUnderRace(t)
	m := newMovingBench(3, 9, closed(20*secondNS))
	m.muteAt, m.moveAt = 3e9, 3.5e9
	m.run(t)
	if m.res.Stranded != 9 {
		t.Errorf("%d clients were held, want all 9", m.res.Stranded)
	}
	near(t, "the longest time that a client was held", float64(m.res.LongestStranded), 9.5e9, 0.01)
	if m.totals.Outcomes[kv.TimedOut] != 9 || m.totals.Outcomes[kv.NotSent] != 0 {
		t.Errorf("outcomes %v", m.totals.Outcomes)
	}
}

// A move cancels a dial that hangs. The next dial does not wait for the backoff of the last dial.
func TestMoveCancelsAHangingDial(t *testing.T) {
	settle.SkipUnderRace(t)
	m := newMovingBench(1, 0, open(1000, 10*secondNS))
	m.moveAt = 6e9
	cut := false
	at := m.at
	m.at = func(s *sim) {
		if s.now >= 3e9 && !cut {
			cut = true
			s.cut(0)
		}
		at(s)
	}
	m.dial = func(s *sim, conn int, endpoint string) error {
		m.to[conn] = endpoint
		if endpoint == "server" && s.now > 3e9 {
			return errHangs
		}
		return nil
	}
	m.run(t)
	near(t, "the longest gap", m.totals.LongestGap, 3, 0.01)
	if got := m.totals.Outcomes[kv.OK]; got < 9_990 {
		t.Errorf("outcomes %v", m.totals.Outcomes)
	}
}

// An operation whose reply contains no term, or that has no reply, is counted in the term in which
// it was sent.
func TestTimeoutsBelongToTheTermInWhichTheyWereSent(t *testing.T) {
	m := newMovingBench(1, 0, open(100, 5*secondNS))
	m.cfg.Timeout = 3 * secondNS
	m.muteAt, m.epochAt = 3e9, 4e9
	m.run(t)
	got := map[uint64]int64{}
	for _, c := range m.totals.Cells {
		if h := c.Failed[measure.ErrorIndex(kv.TimedOut)]; h != nil {
			got[c.Term] += h.TotalCount()
		}
	}
	if got[1] < 99 || got[1] > 101 || got[2] < 299 || got[2] > 301 {
		t.Errorf("timeouts by term %v, want 100 in term 1 and 300 in term 2", got)
	}
}

// Watchers move with their place: each watcher is created once more, and no event arrives twice.
func TestWatchersMoveWithTheirPlace(t *testing.T) {
	settle.SkipUnderRace(t)
	w := newWatchBench(t, 1, 3, open(1000, 2*secondNS))
	collector := measure.NewCollector(1)
	w.cfg.Deliver = func(s *measure.Second) { collector.Add(0, s) }
	loop := New(w.cfg, w.sim)
	moved := false
	w.at = func(s *sim) {
		if s.now > 3e9+500_000 && !moved {
			moved = true
			loop.Retarget([]string{"new"})
		}
	}
	w.res = loop.Run(w.now+secondNS, func(error) { loop.Start(2e9) })
	collector.End(0)
	got := w.allEvents(t)
	if got.Resubscribed != 3 || got.Duplicated+got.Reordered+got.Wrong != 0 || got.Acknowledged != 2000 {
		t.Errorf("%+v", got)
	}
	if len(loop.conns.spare) != 1 {
		t.Errorf("the old connection did not end")
	}
}

// The changes in the number of connections are recorded by endpoint, for connections that were lost
// and for connections that moved.
func TestLinkChangesAreRecorded(t *testing.T) {
	settle.SkipUnderRace(t)
	m := newMovingBench(3, 9, closed(5*secondNS))
	m.moveAt = 5e9
	cut := false
	at := m.at
	m.at = func(s *sim) {
		if s.now >= 3e9 && !cut {
			cut = true
			s.cut(0)
		}
		at(s)
	}
	m.run(t)
	if m.res.Links["server"] != 3 || len(m.res.Links) != 1 {
		t.Errorf("the links when the window opened are %v", m.res.Links)
	}
	sum, lost := map[string]int{}, 0
	for _, c := range m.res.LinkChanges {
		sum[c.Endpoint] += c.Delta
		lost += countTrue(c.Lost)
	}
	if sum["server"] != -3 || sum["new"] != 3 || lost != 1 {
		t.Errorf("%+v", m.res.LinkChanges)
	}
}
