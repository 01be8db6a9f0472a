package engine

import (
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/store"
)

// laborious is a Source that needs time to fill an operation.
type laborious struct {
	*puts
	sim  *sim
	cost int64
}

func (l *laborious) Fill(phase measure.Phase, n uint64, client uint32, op *store.Op) uint64 {
	l.sim.now += l.cost
	return l.puts.Fill(phase, n, client, op)
}

// If several replies arrive together, the loop records the times of all of them before it processes
// any of them. So the time of an operation does not include the time for processing a hundred other
// replies.
func TestRepliesAreStampedBeforeTheyAreProcessed(t *testing.T) {
	const every = 10 * millisecond
	b := newBench(100, 100, closed(secondNS))
	b.cfg.Source = &laborious{puts: &b.source, sim: b.sim, cost: 10_000}
	b.together = true
	var took, answers int64
	var sent [100]int64
	b.written = func(s *sim, conn int) { sent[conn] = s.now }
	b.serve = func(s *sim, conn int, request []byte) {
		wait := every - s.now%every
		s.reply(conn, wait, reply(request, kv.OK))
		took += s.now + wait - sent[conn]
		answers++
	}
	b.run(t)
	service := b.totals.MergedCell().Service
	near(t, "operations", float64(service.TotalCount()), float64(answers), 0.001)
	near(t, "the mean service time", service.Mean(), float64(took)/float64(answers), 0.001)
}
