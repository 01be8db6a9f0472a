package engine

import (
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// crowd returns a closed loop whose clients share one connection, which accepts `room` operations
// at a time. The server takes `each` nanoseconds for an operation.
func crowd(clients, room int, each int64, length int64) *bench {
	b := newBench(1, clients, closed(length))
	b.room = room
	b.serve = func(s *sim, conn int, request []byte) { s.reply(conn, each, reply(request, kv.OK)) }
	return b
}

// An operation that is still waiting for a connection when the window closes is not an error. For
// the other operations, the wait is part of the response time.
func TestFullConnectionCausesNoErrors(t *testing.T) {
	settle.SkipUnderRace(t)
	b := crowd(1000, 100, 6*millisecond, 2*secondNS).run(t)
	if b.totals.Failed() != 0 || b.totals.Succeeded() == 0 {
		t.Errorf("%d of %d operations failed: %v", b.totals.Failed(), b.totals.Due, b.totals.Outcomes)
	}
	all := b.totals.MergedCell()
	near(t, "the mean service time", all.Service.Mean(), 6.02e6, 0.02)
	near(t, "the mean response time", all.Response.Mean(), 60.2e6, 0.05)
}

// An operation's timeout begins when the operation is written, however long the operation waits for
// other operations on its connection.
func TestWaitingForOthersDoesNotTimeOut(t *testing.T) {
	settle.SkipUnderRace(t)
	for _, room := range []int{1, 3} { // as in HTTP/1.1, and with a few streams
		b := crowd(50, room, 100*millisecond, 6*secondNS)
		b.cfg.Timeout = 150 * millisecond
		b.run(t)
		if b.totals.Failed() != 0 || b.totals.Succeeded() < 50*uint64(room) {
			t.Errorf("room %d: %d of %d operations failed: %v", room, b.totals.Failed(), b.totals.Due, b.totals.Outcomes)
		}
	}
}

// The server lowers its limit of concurrent operations (even to 0 for a while), stalls, or cuts the
// connection. Only operations that the server had received may fail because of this. An operation
// fails as not_sent only if its connection was down, or accepted nothing, for a whole timeout.
func TestUnwrittenOperationsDoNotFail(t *testing.T) {
	settle.SkipUnderRace(t)
	const timeout = secondNS
	for _, c := range []struct {
		name    string
		fault   func(b *bench)       // applied at 3 s, one second into the window
		refused int64                // dials fail until this time
		lost    uint64               // number of operations that are lost with the connection
		notSent func(n uint64) bool  // reports whether n errors not_sent are plausible for 100 clients
		heal    func(b *bench) int64 // applied half a second after the fault
	}{
		{name: "the limit is lowered", fault: func(b *bench) { b.codecs[0].room = 2 }},
		{name: "nothing is taken for half a timeout", fault: func(b *bench) { b.codecs[0].room = 0 },
			heal: func(b *bench) int64 { b.codecs[0].room = 10; return 3_500_000_000 }},
		{name: "nothing is taken any more", fault: func(b *bench) { b.codecs[0].room = 0 },
			notSent: func(n uint64) bool { return n >= 100 && n <= 300 }},
		{name: "cut", fault: func(b *bench) { b.cut(0) }, lost: 10},
		{name: "cut and refused for half a timeout", fault: func(b *bench) { b.cut(0) }, lost: 10, refused: 3_500_000_000},
		{name: "cut and refused for two timeouts", fault: func(b *bench) { b.cut(0) }, lost: 10, refused: 5_500_000_000,
			notSent: func(n uint64) bool { return n >= 100 && n <= 200 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := crowd(100, 10, 20*millisecond, 4*secondNS)
			b.cfg.Timeout = timeout
			b.dial = func(s *sim, _ int, _ string) error {
				if s.now < c.refused && s.now >= 3e9 {
					return errRefused
				}
				return nil
			}
			done, healed := false, false
			b.at = func(s *sim) {
				if s.now >= 3e9 && !done {
					done = true
					c.fault(b)
					if c.heal != nil {
						s.schedule(500*millisecond, func() {
							healed = true
							c.heal(b)
							// A reply that matches no request; it makes the loop check the codec's
							// room.
							s.reply(0, s.wire, reply(make([]byte, requestLen), kv.OK))
						})
					}
				}
			}
			b.run(t)
			if c.heal != nil && !healed {
				t.Error("the fault was not healed")
			}
			if lost := b.totals.Outcomes[kv.ConnectionLost]; lost != c.lost {
				t.Errorf("%d operations were lost with the connection, want %d", lost, c.lost)
			}
			notSent := b.totals.Outcomes[kv.NotSent]
			if c.notSent == nil && notSent != 0 || c.notSent != nil && !c.notSent(notSent) {
				t.Errorf("%d operations were not sent", notSent)
			}
			if others := b.totals.Failed() - notSent - b.totals.Outcomes[kv.ConnectionLost]; others != 0 {
				t.Errorf("%d operations failed for other reasons: %v", others, b.totals.Outcomes)
			}
		})
	}
}

// If a connection closes before any byte of an encoded operation is written, the operation moves to
// the next connection.
func TestUnwrittenOperationsGoToTheNextConnection(t *testing.T) {
	b := newBench(1, 20, closed(3*secondNS))
	cut := false
	b.written = func(s *sim, conn int) {
		if s.now >= 3e9 && !cut {
			cut = true
			s.conns[conn].open = false // makes this write fail
		}
	}
	b.run(t)
	if !cut || b.totals.Failed() > 20 || b.totals.Outcomes[kv.NotSent] != 0 {
		t.Errorf("cut %v: the outcomes are %v", cut, b.totals.Outcomes)
	}
	if b.totals.Succeeded() < 1000 {
		t.Errorf("%d succeeded: the clients did not continue", b.totals.Succeeded())
	}
}

// If a server closes each connection before it replies, the waiting operations time out.
func TestUnprovenConnectionsTimeOut(t *testing.T) {
	b := crowd(100, 10, 20*millisecond, 6*secondNS)
	b.cfg.Timeout = secondNS
	b.serve = func(s *sim, conn int, request []byte) {
		if s.now >= 3e9 {
			s.cut(conn)
			return
		}
		s.reply(conn, 20*millisecond, reply(request, kv.OK))
	}
	b.run(t)
	if b.totals.Outcomes[kv.NotSent] == 0 || b.totals.Outcomes[kv.ConnectionLost] == 0 {
		t.Errorf("the outcomes are %v, want both lost operations and operations that were not sent", b.totals.Outcomes)
	}
}
