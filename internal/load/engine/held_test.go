package engine

import (
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/wire/parts"
)

// hoarder is a codec that buffers all bytes that it reads and never completes a reply.
type hoarder struct {
	*simCodec
	parts *parts.Budget
	kept  []byte
	most  *int // largest number of bytes that the budget has allowed
}

func (c *hoarder) Feed(_ []byte, to []store.Event) (_ []store.Event, err error) {
	c.parts.Recycle()
	c.kept, err = c.parts.Append(c.kept, make([]byte, 50<<10), 0)
	*c.most = max(*c.most, c.parts.LentBytes())
	return to, err
}

func (c *hoarder) Lost(to []store.Event) []store.Event {
	c.parts.Release(c.kept)
	c.kept = nil
	return c.simCodec.Lost(to)
}

// All connections of a loop share one budget for incomplete replies. A connection that would exceed
// the budget is closed.
func TestIncompleteRepliesAreBounded(t *testing.T) {
	const limit = 1 << 20
	b := newBench(3, 3, closed(3*secondNS))
	b.cfg.MaxBuffered = limit
	budgets, most := map[*parts.Budget]int{}, 0
	b.cfg.Codecs = func(d store.ConnectionInfo) store.Codec {
		budgets[d.BufferBudget]++
		return &hoarder{simCodec: newSimCodec(1), parts: d.BufferBudget, most: &most}
	}
	b.serve = func(s *sim, conn int, request []byte) {
		for k := range int64(100) {
			s.reply(conn, k*millisecond, reply(request, kv.OK))
		}
	}
	b.run(t)
	if len(budgets) != 1 {
		t.Errorf("the connections of one loop have %d budgets", len(budgets))
	}
	if text := b.res.ErrorTexts[kv.ConnectionLost]; !strings.Contains(text, "limit of 1048576 bytes") {
		t.Errorf("the connections ended with %q", text)
	}
	if most > limit*5/4 || most < limit/2 {
		t.Errorf("the maximum of the buffered bytes is %d, with a limit of %d", most, limit)
	}
	for budget, conns := range budgets {
		if budget.LentBytes() != 0 || conns < 10 {
			t.Errorf("%d bytes are still lent after the end of %d connections", budget.LentBytes(), conns)
		}
	}
}

// If a server closes every connection before it replies, the loop waits before each redial.
func TestRedialsUnprovenConnectionsAfterAWait(t *testing.T) {
	b := newBench(1, 4, closed(3*secondNS))
	b.cfg.Timeout = secondNS
	from := int64(2_500_000_000)
	dials := 0
	b.dial = func(s *sim, _ int, _ string) error {
		if s.now > from {
			dials++
		}
		return nil
	}
	b.serve = func(s *sim, conn int, request []byte) {
		if s.now <= from {
			s.reply(conn, s.wire+millisecond, reply(request, kv.OK))
			return
		}
		s.reply(conn, s.wire, reply(request, kv.NotSent)) // as after a GOAWAY that rejects the request
	}
	b.setup = func(c *simCodec) { c.left = 4 }
	b.run(t)
	if dials == 0 || dials > 60 {
		t.Errorf("the loop dialled a server that never replies %d times in 2.5 s", dials)
	}
	if b.totals.Outcomes[kv.NotSent] == 0 {
		t.Error("no operation failed as not sent")
	}
}
