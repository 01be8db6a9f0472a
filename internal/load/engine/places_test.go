package engine

import (
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/store"
)

// placedSource requires operation n to use the connection with index n modulo conns, and checks in
// Fill that it does.
type placedSource struct {
	Source
	ReactiveBase
	conns uint64
	wrong int
}

func (s *placedSource) ConnectionIndex(n uint64) int { return int(n % s.conns) }

func (s *placedSource) Fill(phase measure.Phase, n uint64, client uint32, op *store.Op) uint64 {
	if uint64(client) != n%s.conns {
		s.wrong++
	}
	return s.Source.Fill(phase, n, client, op)
}

// An operation is sent on its own connection and waits only for that connection. So a slow
// connection does not delay the operations of other connections.
func TestPlacedOperationsKeepTheirConnection(t *testing.T) {
	b := newBench(4, 0, open(1000, 2*secondNS))
	b.room = 1
	src := &placedSource{Source: b.cfg.Source, conns: 4}
	b.cfg.Source = src
	b.serve = func(s *sim, conn int, request []byte) {
		took := int64(millisecond)
		if conn == 1 { // receives 250 operations per second, and can do 200
			took = 5 * millisecond
		}
		s.reply(conn, took, reply(request, kv.OK))
	}
	b.run(t)
	if src.wrong > 0 {
		t.Errorf("%d operations were filled for another connection", src.wrong)
	}
	// On the slow connection, all operations except the first must wait. Operations that still wait
	// when the window closes are sent afterwards.
	near(t, "operations that waited", float64(b.res.WaitedForConnection), 499, 0.002)
	if b.totals.Succeeded() != b.totals.Due || b.totals.Due != 2000 {
		t.Errorf("%d operations were due and %d succeeded, want 2000 of each", b.totals.Due, b.totals.Succeeded())
	}
	if own := b.totals.Disturbance.OwnDelay.Max(); own > 100_000 {
		t.Errorf("the generator itself was late by %d ns", own)
	}
	if p74 := b.totals.MergedCell().Response.ValueAtQuantile(74); p74 > 2*millisecond {
		t.Errorf("p74 of all response times is %d ns: other operations were delayed", p74)
	}
}

// An operation whose connection is lost waits for the next connection of its place.
func TestPlacedOperationsWaitForTheirConnection(t *testing.T) {
	b := newBench(3, 0, open(300, 3*secondNS))
	src := &placedSource{Source: b.cfg.Source, conns: 3}
	b.cfg.Source = src
	cut := false
	b.at = func(s *sim) {
		if s.now > 3_000_000_000 && !cut {
			cut = true
			s.cut(2)
		}
	}
	b.run(t)
	if src.wrong > 0 || b.totals.Succeeded() < 890 {
		t.Errorf("%d operations were filled for another connection, %d succeeded", src.wrong, b.totals.Succeeded())
	}
}
