package engine

import (
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// After a partial write, an operation counts as sent only if the connection accepted its bytes. The
// service time of each other operation begins when its bytes are accepted.
func TestPartialWriteSendsWhatItWrote(t *testing.T) {
	b := newBench(1, 10, closed(secondNS))
	b.most = 5 * requestLen
	b.run(t)
	service := b.totals.MergedCell().Service
	near(t, "the shortest service time", float64(service.Min()), 1.02e6, 0.001)
	near(t, "the longest service time", float64(service.Max()), 1.02e6, 0.001)
	if response := b.totals.MergedCell().Response; response.Max() < 1_900_000 {
		t.Errorf("the longest response time is %d ns, so no operation waited", response.Max())
	}
}

// gets is a Source of gets with local consistency.
type gets struct{ puts }

func (g *gets) Fill(phase measure.Phase, n uint64, client uint32, op *store.Op) uint64 {
	g.puts.Fill(phase, n, client, op)
	op.Kind, op.Consistency = kv.Get, kv.Local
	return n
}

func (g *gets) Kind(measure.Phase, uint64) (kv.Kind, kv.Consistency) { return kv.Get, kv.Local }

func (g *gets) Shares(measure.Phase) []Share {
	return []Share{{Kind: kv.Get, Consistency: kv.Local, Fraction: 1}}
}

// In closed and open loops, an operation that was never written is counted under the kind that it
// would have had.
func TestNotSentHasItsKind(t *testing.T) {
	settle.SkipUnderRace(t)
	for name, phase := range map[string]Phase{"closed": closed(6 * secondNS), "open": open(100, 6*secondNS)} {
		for _, brief := range []bool{false, true} {
			b := newBench(2, 4, phase)
			if name == "open" {
				b.cfg.Clients = nil
			}
			b.cfg.NewConnection = brief
			b.cfg.Source = &gets{}
			b.cfg.Timeout = secondNS
			b.dial = func(s *sim, _ int, _ string) error {
				if s.now > 3e9 {
					return errRefused
				}
				return nil
			}
			cut := false
			b.at = func(s *sim) {
				if s.now >= 3e9 && !cut && !brief {
					cut = true
					s.cut(0)
					s.cut(1)
				}
			}
			b.run(t)
			if b.totals.Outcomes[kv.NotSent] == 0 {
				t.Errorf("%s, brief %v: outcomes %v, want some operations that were not sent", name, brief, b.totals.Outcomes)
			}
			for _, c := range b.totals.Cells {
				if c.Kind != kv.Get || c.Consistency != kv.Local {
					t.Errorf("%s, brief %v: the results contain operations of kind %q %q, want only local gets", name, brief, c.Kind, c.Consistency)
				}
			}
		}
	}
}
