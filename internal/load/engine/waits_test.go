package engine

import (
	"slices"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/pace"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// placed is a Source in which every tenth operation depends on the previous one, and every third
// operation must use its own connection.
type placed struct {
	puts
	ReactiveBase
	done, waited int
	failed       uint64
}

func (p *placed) Fill(_ measure.Phase, n uint64, _ uint32, op *store.Op) uint64 {
	*op = store.Op{Kind: kv.Put, Lease: int64(n)}
	return n
}

func (p *placed) Check(_ kv.Kind, _ uint64, ev *store.Event) kv.Outcome {
	p.done++
	return ev.Outcome
}

func (p *placed) Ready(n uint64) bool    { return n%10 != 9 || p.done >= int(n)-1 }
func (p *placed) OperationFailed(uint64) { p.failed++ }

func (p *placed) OperationSent(_ uint64, _ int64, waited bool) {
	if waited {
		p.waited++
	}
}

func (p *placed) ConnectionIndex(n uint64) int {
	if n%3 > 0 {
		return -1
	}
	return int(n/3) % 2
}

// Each connection carries only one operation at a time. The recording requires five times as many
// operations per second as its connections can carry. All operations wait for a connection, and all
// of them are sent.
func TestEachOperationOfARecordingIsSent(t *testing.T) {
	settle.SkipUnderRace(t)
	const operations = 5000
	var at []int64
	for n := range operations {
		at = append(at, int64(n)*millisecond/10)
	}
	pacer := pace.NewRecorded(at, 1)
	b := newBench(2, 0, Phase{Kind: measure.Measured, Pacer: pacer, Duration: pacer.Due(operations), Total: operations})
	source := &placed{}
	b.cfg.Source, b.room = source, 1
	var order []int64
	b.setup = func(c *simCodec) {
		conn := len(b.codecs)
		c.submitted = func(op *store.Op) {
			order = append(order, op.Lease)
			if place := source.ConnectionIndex(uint64(op.Lease)); place >= 0 && place != conn {
				t.Errorf("operation %d used connection %d, want %d", op.Lease, conn, place)
			}
		}
	}
	b.run(t)
	if b.totals.Due != operations || b.totals.Succeeded() != operations || source.failed > 0 {
		t.Errorf("%d operations are planned, %d were due and %d succeeded", operations, b.totals.Due, b.totals.Succeeded())
	}
	if source.waited < operations/2 || b.res.WaitedForConnection == 0 {
		t.Errorf("%d operations waited, %d of them for a connection", source.waited, b.res.WaitedForConnection)
	}
	slices.Sort(order)
	if len(order) != operations || len(slices.Compact(order)) != operations {
		t.Errorf("%d operations were sent, want each operation exactly once", len(order))
	}
}

// chained is a Source in which each operation depends on the previous one.
type chained struct {
	puts
	ReactiveBase
	t    *testing.T
	over []bool
}

func (c *chained) Fill(_ measure.Phase, n uint64, _ uint32, op *store.Op) uint64 {
	if n > 0 && !c.over[n-1] {
		c.t.Errorf("operation %d was filled before %d had ended", n, n-1)
	}
	*op = store.Op{Kind: kv.Put}
	return n
}

func (c *chained) Check(_ kv.Kind, n uint64, ev *store.Event) kv.Outcome {
	c.over[n] = true
	return ev.Outcome
}

func (c *chained) Ready(n uint64) bool      { return n == 0 || c.over[n-1] }
func (c *chained) OperationFailed(n uint64) { c.over[n] = true }

// Each operation becomes due before the operation on which it depends has received its reply. Some
// of the operations fail.
func TestDependentOperationsWait(t *testing.T) {
	const operations = 1000
	b := newBench(3, 0, open(1000, secondNS))
	source := &chained{t: t, over: make([]bool, operations)}
	b.cfg.Source = source
	sent := 0
	b.serve = func(s *sim, conn int, request []byte) {
		outcome := kv.OK
		if sent++; sent%7 == 0 {
			outcome = kv.StoreTimeout
		}
		s.reply(conn, 1_200_000, reply(request, outcome))
	}
	b.run(t)
	if b.totals.Due != operations || b.totals.Outcomes[kv.StoreTimeout] != operations/7 || b.totals.Outcomes[kv.OK] != operations-operations/7 {
		t.Errorf("%d operations were due, %d succeeded, and the outcomes are %v", b.totals.Due, b.totals.Succeeded(), b.totals.Outcomes)
	}
	if own := b.totals.Disturbance.OwnDelay.Max(); own > 100_000 {
		t.Errorf("the generator itself was late by %d ns", own)
	}
}

// sessions is a Source whose operations belong to connections. Every tenth operation depends on the
// previous one.
type sessions struct {
	chained
	ended []int
}

func (s *sessions) Ready(n uint64) bool                               { return n%10 != 9 || s.chained.Ready(n) }
func (s *sessions) ConnectionIndex(n uint64) int                      { return int(n % 3) }
func (s *sessions) OperationFailed(n uint64)                          { s.over[n] = true }
func (s *sessions) OperationEnded(n uint64, _ kv.Outcome, _, _ int64) { s.ended[n]++ }
func (s *sessions) Fill(_ measure.Phase, n uint64, client uint32, op *store.Op) uint64 {
	if uint64(client) != n%3 || !s.Ready(n) {
		s.t.Errorf("operation %d was filled too early, or for the wrong connection %d", n, client)
	}
	*op = store.Op{Kind: kv.Put}
	return n
}

// One of three connections is lost. For longer than the timeout, the dials that would replace it
// are refused.
func TestOperationsEndOnceWhileAConnectionIsDown(t *testing.T) {
	const operations = 3000
	b := newBench(3, 0, open(1000, 3*secondNS))
	b.cfg.Timeout = secondNS / 2
	source := &sessions{chained: chained{t: t, over: make([]bool, operations)}, ended: make([]int, operations)}
	b.cfg.Source = source
	begin := int64(0)
	down := func(s *sim) bool { return begin > 0 && s.now >= begin+secondNS && s.now < begin+2*secondNS }
	b.dial = func(s *sim, conn int, _ string) error {
		if conn == 2 && down(s) {
			return errRefused
		}
		return nil
	}
	cut := false
	b.at = func(s *sim) {
		if begin == 0 {
			begin = s.now
		}
		if !cut && down(s) {
			cut = true
			s.cut(2)
		}
	}
	b.run(t)
	for n, times := range source.ended {
		if times != 1 {
			t.Fatalf("operation %d ended %d times", n, times)
		}
	}
	sum := uint64(0)
	for _, n := range b.totals.Outcomes {
		sum += n
	}
	if b.totals.Due != operations || sum != operations {
		t.Errorf("%d operations were due, and %d ended", b.totals.Due, sum)
	}
	// The connection was down for 1 s, and its operations that became due in the first half of this
	// time have timed out.
	if n := b.totals.Outcomes[kv.NotSent]; n < 140 || n > 240 {
		t.Errorf("%d operations were not sent: %v", n, b.totals.Outcomes)
	}
	if own := b.totals.Disturbance.OwnDelay.Max(); own > 100_000 {
		t.Errorf("the generator itself was late by %d ns", own)
	}
}
