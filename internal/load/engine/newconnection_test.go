package engine

import (
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// brief returns a bench in which each operation has its own connection. The bench adds the number
// of its dials to *dials.
func brief(clients int, dials *int, phases ...Phase) *bench {
	b := newBench(clients, clients, phases...)
	b.cfg.NewConnection = true
	b.dial = func(*sim, int, string) error {
		*dials++
		return nil
	}
	return b
}

// An operation's service time includes the time to connect: 10 µs to connect, 10 µs for a message
// in each direction, and 1 ms in the server.
func TestEachOperationHasItsConnection(t *testing.T) {
	settle.SkipUnderRace(t)
	dials := 0
	b := brief(20, &dials, closed(2*secondNS)).run(t)
	near(t, "mean service time", b.totals.MergedCell().Service.Mean(), 1_030_000, 0.001)
	near(t, "mean response time", b.totals.MergedCell().Response.Mean(), 1_030_000, 0.001)
	if uint64(dials) != b.totals.Due || b.totals.Failed() != 0 || b.totals.Due < 30_000 {
		t.Errorf("%d dials for %d operations, outcomes %v", dials, b.totals.Due, b.totals.Outcomes)
	}
	near(t, "operations in progress", b.res.InFlightArea/float64(2*secondNS), 20, 0.01)
}

func TestEachOperationHasItsConnectionInAnOpenLoop(t *testing.T) {
	dials := 0
	b := brief(20, &dials, warm(open(1000, secondNS)), open(1000, 2*secondNS))
	b.cfg.Clients = nil
	b.run(t)
	near(t, "mean response time", b.totals.MergedCell().Response.Mean(), 1_030_000, 0.001)
	if dials != 3000 || b.totals.Due != 2000 || b.totals.Failed() != 0 {
		t.Errorf("%d dials, %d operations, outcomes %v", dials, b.totals.Due, b.totals.Outcomes)
	}
}

// An open loop with too few places falls behind, and the wait is part of the response times.
func TestOperationsWaitForPlaces(t *testing.T) {
	dials := 0
	b := brief(1, &dials, open(2000, secondNS))
	b.cfg.Clients = nil
	b.run(t)
	if p50 := b.totals.MergedCell().Response.ValueAtQuantile(50); p50 < 200*millisecond {
		t.Errorf("the median response time is %d ns", p50)
	}
	if b.totals.Outcomes[kv.NotSent] == 0 || b.totals.Due != 2000 {
		t.Errorf("due %d, outcomes %v", b.totals.Due, b.totals.Outcomes)
	}
}

func TestEachOperationHasItsConnectionUpToTheTotal(t *testing.T) {
	dials := 0
	b := brief(7, &dials, Phase{Kind: measure.Measured, Total: 1000}).run(t)
	if dials != 1000 || b.totals.Due != 1000 || len(b.source.asked) != 1000 || b.totals.Failed() != 0 {
		t.Errorf("%d dials, %d operations, %d asked, outcomes %v", dials, b.totals.Due, len(b.source.asked), b.totals.Outcomes)
	}
}

// sessionCodec is a simCodec whose session must be closed.
type sessionCodec struct {
	*simCodec
	closed *int
}

const closeTag = 0xff

func (c sessionCodec) Session() int64 { return 0 }

func (c sessionCodec) CheckAlive() error { return nil }

func (c sessionCodec) Close() {
	*c.closed++
	c.out = append(c.out, closeTag, closeTag, closeTag, closeTag, 0)
}

// The loop closes a session and waits for its end before the client's next operation connects. The
// response time includes this wait, because it starts when the client becomes free. The service
// time does not include the wait, because it starts when connecting begins.
func TestSessionsEndBeforeTheNextConnection(t *testing.T) {
	settle.SkipUnderRace(t)
	for name, answers := range map[string]bool{"the server ends it": true, "the server does not": false} {
		t.Run(name, func(t *testing.T) {
			dials, ended := 0, 0
			b := brief(5, &dials, warm(closed(5*secondNS)), closed(20*secondNS))
			b.cfg.Codecs = func(d store.ConnectionInfo) store.Codec {
				if d.Previous != nil {
					t.Error("a connection got the session of the previous one")
				}
				return sessionCodec{newSimCodec(1), &ended}
			}
			serve := b.serve
			b.serve = func(s *sim, conn int, request []byte) {
				if request[0] != closeTag {
					serve(s, conn, request)
				} else if answers {
					gen := s.conns[conn].gen
					s.schedule(4*millisecond, func() {
						if s.conns[conn].gen == gen {
							s.cut(conn)
						}
					})
				}
			}
			b.run(t)
			end := 4_010_000.0
			if !answers {
				end = maxEndWait
			}
			near(t, "mean service time", b.totals.MergedCell().Service.Mean(), 1_030_000, 0.002)
			near(t, "mean response time", b.totals.MergedCell().Response.Mean(), 1_030_000+end, 0.02)
			near(t, "operations in progress", b.res.InFlightArea/float64(20*secondNS), 5, 0.01)
			if b.totals.Failed() != 0 || b.res.Reconnects != 0 || ended < dials-5 {
				t.Errorf("%d dials, %d sessions ended, outcomes %v", dials, ended, b.totals.Outcomes)
			}
		})
	}
}

// If no server listens, an operation waits until its timeout, while the loop redials several times.
// Then the operation fails with a definite error whose text contains the reason.
func TestRefusedConnectionsDoNotSpin(t *testing.T) {
	settle.SkipUnderRace(t)
	dials := 0
	b := brief(10, &dials, closed(6*secondNS))
	b.cfg.Timeout = secondNS
	b.dial = func(s *sim, _ int, _ string) error {
		dials++
		if s.now > 4e9 && s.now < 6e9 {
			return errRefused
		}
		return nil
	}
	b.run(t)
	if n := b.totals.Outcomes[kv.NotSent]; n < 10 || n > 20 {
		t.Errorf("%d operations were not sent, want one or two per client", n)
	}
	if b.totals.Failed() != b.totals.Outcomes[kv.NotSent] || b.res.ErrorTexts[kv.NotSent] != errRefused.Error() {
		t.Errorf("outcomes %v, %v", b.totals.Outcomes, b.res.ErrorTexts)
	}
	if most := int(b.totals.Due) + 10*2*100; dials > most {
		t.Errorf("%d dials for %d operations", dials, b.totals.Due)
	}
}

// If the server accepts a request and then closes the connection, the operation's error is
// indefinite, and the next dial waits a little.
func TestCutConnectionsAreIndefinite(t *testing.T) {
	dials := 0
	b := brief(10, &dials, closed(secondNS))
	b.serve = func(s *sim, conn int, _ []byte) { s.cut(conn) }
	b.run(t)
	if n := b.totals.Outcomes[kv.ConnectionLost]; n != b.totals.Due || n == 0 || n > 10*100 {
		t.Errorf("due %d, outcomes %v", b.totals.Due, b.totals.Outcomes)
	}
}

func TestUnansweredConnectionsTimeOut(t *testing.T) {
	dials := 0
	b := brief(10, &dials, closed(5*secondNS))
	b.cfg.Timeout = secondNS
	b.serve = nil
	b.run(t)
	if n := b.totals.Outcomes[kv.TimedOut]; n != b.totals.Due || n < 40 || uint64(dials) != n {
		t.Errorf("due %d, %d dials, outcomes %v", b.totals.Due, dials, b.totals.Outcomes)
	}
	for _, h := range b.totals.MergedCell().Failed {
		if h != nil && h.TotalCount() > 0 {
			near(t, "the mean time of failed operations", h.Mean(), float64(secondNS), 0.02)
		}
	}
}

// If a handshake never ends, the operation fails with a definite error, because no byte of the
// operation was written.
func TestOperationIsNotSentDuringAnEndlessHandshake(t *testing.T) {
	dials := 0
	b := brief(3, &dials, closed(3*secondNS))
	b.cfg.Timeout = secondNS
	b.room = 0
	b.run(t)
	if n := b.totals.Outcomes[kv.NotSent]; n != b.totals.Due || n < 6 {
		t.Errorf("due %d, outcomes %v", b.totals.Due, b.totals.Outcomes)
	}
	if text := b.res.ErrorTexts[kv.NotSent]; !strings.Contains(text, "the connection to server was not ready") {
		t.Errorf("the reason is %q", text)
	}
}

// After a leader change, new connections go to the new leader, and operations in flight complete on
// their old connections.
func TestNewConnectionsGoToTheNewLeader(t *testing.T) {
	settle.SkipUnderRace(t)
	dials := 0
	b := brief(6, &dials, closed(3*secondNS))
	to := map[string]int{}
	moved := false
	b.dial = func(_ *sim, _ int, endpoint string) error {
		if dials++; moved {
			to[endpoint]++
		}
		return nil
	}
	collector := measure.NewCollector(1)
	b.cfg.Deliver = func(s *measure.Second) { collector.Add(0, s) }
	loop := New(b.cfg, b.sim)
	b.at = func(s *sim) {
		if s.now > 3e9 && !moved {
			moved = true
			loop.Retarget([]string{"new", "new", "new", "new", "new", "new"})
		}
	}
	b.res = loop.Run(b.now+secondNS, func(error) { loop.Start(2e9) })
	collector.End(0)
	b.totals, _ = collector.Close(3)
	b.account(t)
	if b.totals.Failed() != 0 || to["new"] < 10_000 || to["server"] > 6 {
		t.Errorf("outcomes %v, dialled after the move %v", b.totals.Outcomes, to)
	}
}
